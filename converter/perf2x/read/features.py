"""HEADER_* feature sections → plain values.

Source of truth: the process_* functions in tools/perf/util/header.c and perf.data-file-format.txt.
"""

from collections.abc import Callable
from typing import Any

from perf2x.abi.perffile import Feature
from perf2x.read.sections import SectionReader


def _string(section: SectionReader) -> str:
    return section.string()


def _cpus(section: SectionReader) -> dict[str, int]:
    available, online = section.numbers("II")
    return {"available": available, "online": online}


def _u64(section: SectionReader) -> int:
    return section.u64()


def _empty(section: SectionReader) -> bool:
    return True


def _event_desc(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr, attr_size; { attr; u32 nr_ids; string name; u64 ids[nr_ids]; } [nr]."""
    count, attr_size = section.numbers("II")
    events = []
    for _ in range(count):
        attr = section.take(attr_size)
        nr_ids = section.count(0)
        name = section.string()
        events.append({"name": name, "ids": list(section.numbers(f"{_fits(section, nr_ids, 8)}Q")), "attr": attr})
    return events


def _fits(section: SectionReader, count: int, size: int) -> int:
    section_left = section.left
    return count if count * size <= section_left else section_left // size


def _pmu_mappings(section: SectionReader) -> dict[str, int]:
    """u32 nr; { u32 type; string name; } [nr]."""
    pairs = [(section.u32(), section.string()) for _ in range(section.count(8))]
    return {name: number for number, name in pairs}


def _group_desc(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr; { string name; u32 leader; u32 members; } [nr]."""
    groups = []
    for _ in range(section.count(12)):
        name = section.string()
        leader, members = section.numbers("II")
        groups.append({"name": name, "leader": leader, "members": members})
    return groups


def _sample_time(section: SectionReader) -> dict[str, int]:
    first, last = section.numbers("QQ")
    return {"first": first, "last": last}


def _compressed(section: SectionReader) -> dict[str, int]:
    """struct { u32 version, type, level, ratio, mmap_len; }."""
    return dict(zip(("version", "type", "level", "ratio", "mmap_len"), section.numbers("5I"), strict=True))


def _clock_data(section: SectionReader) -> dict[str, int]:
    """u32 version, clockid; u64 wall_clock_ns, clockid_time_ns."""
    version, clockid, wall, clock = section.numbers("IiQQ")
    return {"version": version, "clockid": clockid, "wall_clock_ns": wall, "clockid_time_ns": clock}


DECODERS: dict[int, Callable[[SectionReader], Any]] = {
    Feature.HOSTNAME: _string,
    Feature.OSRELEASE: _string,
    Feature.VERSION: _string,
    Feature.ARCH: _string,
    Feature.NRCPUS: _cpus,
    Feature.CPUDESC: _string,
    Feature.CPUID: _string,
    Feature.TOTAL_MEM: _u64,
    Feature.CMDLINE: SectionReader.strings,
    Feature.EVENT_DESC: _event_desc,
    Feature.BRANCH_STACK: _empty,
    Feature.PMU_MAPPINGS: _pmu_mappings,
    Feature.GROUP_DESC: _group_desc,
    Feature.STAT: _empty,
    Feature.SAMPLE_TIME: _sample_time,
    Feature.CLOCKID: _u64,
    Feature.DIR_FORMAT: _u64,
    Feature.COMPRESSED: _compressed,
    Feature.CLOCK_DATA: _clock_data,
}
