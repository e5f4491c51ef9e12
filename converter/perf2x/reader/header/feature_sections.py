"""Decodes HEADER_* feature sections to plain values.

Source of truth: the process_* functions in tools/perf/util/header.c and perf.data-file-format.txt.
"""

from collections.abc import Callable
from typing import Any

from perf2x.base.abi.perffile import Feature
from perf2x.reader.header import hardware_features
from perf2x.reader.header.section_reader import SectionReader


def _string(section: SectionReader) -> str:
    return section.string()


def _cpu_counts(section: SectionReader) -> dict[str, int]:
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
        section.take(attr_size)  # the header has it, too
        nr_ids = section.count(0)
        name = section.string()
        events.append({"name": name, "ids": list(section.numbers(f"{section.fitting(nr_ids, 8)}Q"))})
    return events


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


def _compression(section: SectionReader) -> dict[str, int]:
    """struct { u32 version, type, level, ratio, mmap_len; }."""
    return dict(zip(("version", "type", "level", "ratio", "mmap_len"), section.numbers("5I"), strict=True))


def _clock_data(section: SectionReader) -> dict[str, int]:
    """u32 version, clockid; u64 wall_clock_ns, clockid_time_ns."""
    version, clockid, wall, clock = section.numbers("IiQQ")
    return {"version": version, "clockid": clockid, "wall_clock_ns": wall, "clockid_time_ns": clock}


def _auxtrace(section: SectionReader) -> dict[str, int]:
    """u64 nr; { u64 offset, size; } [nr]: extents of trace data."""
    return {"areas": section.u64()}


DECODERS: dict[int, Callable[[SectionReader], Any]] = {
    Feature.HOSTNAME: _string,
    Feature.OSRELEASE: _string,
    Feature.VERSION: _string,
    Feature.ARCH: _string,
    Feature.NRCPUS: _cpu_counts,
    Feature.CPUDESC: _string,
    Feature.CPUID: _string,
    Feature.TOTAL_MEM: _u64,
    Feature.CMDLINE: SectionReader.strings,
    Feature.EVENT_DESC: _event_desc,
    Feature.CPU_TOPOLOGY: hardware_features.cpu_topology,
    Feature.NUMA_TOPOLOGY: hardware_features.numa_topology,
    Feature.BRANCH_STACK: _empty,
    Feature.PMU_MAPPINGS: hardware_features.pmu_mappings,
    Feature.GROUP_DESC: _group_desc,
    Feature.AUXTRACE: _auxtrace,
    Feature.STAT: _empty,
    Feature.CACHE: hardware_features.cache,
    Feature.SAMPLE_TIME: _sample_time,
    Feature.MEM_TOPOLOGY: hardware_features.mem_topology,
    Feature.CLOCKID: _u64,
    Feature.DIR_FORMAT: _u64,
    Feature.BPF_PROG_INFO: hardware_features.bpf_prog_info,
    Feature.BPF_BTF: hardware_features.bpf_btf,
    Feature.COMPRESSED: _compression,
    Feature.CPU_PMU_CAPS: hardware_features.cpu_pmu_caps,
    Feature.CLOCK_DATA: _clock_data,
    Feature.HYBRID_TOPOLOGY: hardware_features.hybrid_topology,
    Feature.PMU_CAPS: hardware_features.pmu_caps,
    Feature.CPU_DOMAIN_INFO: hardware_features.cpu_domain_info,
    Feature.E_MACHINE: hardware_features.e_machine,
    Feature.CLN_SIZE: SectionReader.u32,
    Feature.SIMPLEPERF_META_INFO: hardware_features.simpleperf_meta_info,
}
