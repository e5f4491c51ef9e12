"""Decodes HEADER_* feature sections to plain values.

Source of truth: the write_* and process_* functions in tools/perf/util/header.c and perf.data-file-format.txt.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perf2x.base.abi import HeaderFeature
from perf2x.base.columnar import I64, arange, as_int64
from perf2x.reader.header.section_reader import SectionReader, text
from perf2x.reader.header.symbol_sections import debug_unwind_files


def cpu_topology(section: SectionReader) -> dict[str, Any]:
    """Decode core and thread sibling lists; {u32 core, socket} by CPU; from perf 5.3 on die lists and {u32 die} by CPU.

    ::

        {core, socket} [cpus]   |   u32 dies, {u32 length, text} [dies]   |   {die} [cpus]

    The number of CPUs is in another section, so it is derived from the sizes.
    """
    cores, threads = section.strings(), section.strings()
    numbers = section.numbers(f"{section.left // 4}I") if section.left % 4 == 0 else ()
    topology: dict[str, Any] = {"core_siblings": cores, "thread_siblings": threads}
    cpus = _cpus_before_dies(as_int64(numbers))
    if not cpus:
        return topology | {"cpus": _cores_and_sockets(numbers)}
    section.at -= 4 * (len(numbers) - 2 * cpus)
    dies = section.strings()
    return topology | {
        "cpus": _cores_and_sockets(numbers[: 2 * cpus]),
        "die_siblings": dies,
        "dies": list(section.numbers(f"{cpus}I")),
    }


def _cpus_before_dies(words: I64) -> int:
    """Return the least number of CPUs for which a list of strings exactly fills the gap before the dies; 0 for none.

    All numbers of CPUs are tried at once: each step doubles the number of strings that ``following`` skips, so that a
    crafted section takes n log n time, not as many reads as its counts suggest. do_write_string pads strings to whole
    words.
    """
    end = len(words)
    cpus = arange(1, (end + 1) // 2)
    strings = words[2 * cpus]
    possible = (strings > 0) & (strings < end - 3 * cpus)  # a string takes at least a word
    cpus, strings = cpus[possible], strings[possible]
    after = arange(1, end + 1) + words // 4
    following = np.append(np.where((words % 4 == 0) & (after < end), after, end), end)  # ``end`` points to itself
    at = 2 * cpus + 1
    for bit in range(int(strings.max(initial=0)).bit_length()):
        at = np.where(strings >> bit & 1, following[at], at)
        following = following[following]
    fitting = cpus[at == end - cpus]
    return int(fitting[0]) if len(fitting) else 0


def _cores_and_sockets(numbers: tuple[int, ...]) -> list[dict[str, int]]:
    return [{"core": core, "socket": socket} for core, socket in zip(numbers[::2], numbers[1::2], strict=False)]


def _numa_topology(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr; { u32 node; u64 total_kb, free_kb; string cpus; } [nr]."""
    return section.rows(24, lambda at: at.named("IQQ", "node", "total_kb", "free_kb") | {"cpus": at.string()})


def _cache(section: SectionReader) -> list[dict[str, Any]]:
    """u32 version, nr; { u32 level, line_size, sets, ways; string type, size, cpus; } [nr]."""
    section.u32()
    return section.rows(
        28,
        lambda at: {
            **at.named("4I", "level", "line_size", "sets", "ways"),
            **{name: at.string() for name in ("type", "size", "cpus")},
        },
    )


def _mem_topology(section: SectionReader) -> dict[str, Any]:
    """u64 version, block_size, nr; { u64 node, size; u64 bits; u64 words[]; } [nr]: memory blocks of each node."""
    _, block_size, count = section.numbers("QQQ")
    nodes = []
    for _ in range(min(count, section.left // 24)):
        node, _, bits = section.numbers("QQQ")
        words = section.numbers(f"{section.fitting((bits + 63) // 64, 8)}Q")
        nodes.append({"node": node, "blocks": sum(word.bit_count() for word in words)})
    return {"block_size": block_size, "nodes": nodes}


def _pmu_mappings(section: SectionReader) -> dict[str, int]:
    """u32 nr; { u32 type; string name; } [nr]."""
    pairs = section.rows(8, lambda at: (at.u32(), at.string()))
    return {name: number for number, name in pairs}


def _text_pairs(section: SectionReader) -> dict[str, str]:
    """u32 nr; { string name, value; } [nr]: capabilities of a PMU; or CPUs of each PMU."""
    return dict(section.rows(8, lambda at: (at.string(), at.string())))


def _pmu_caps(section: SectionReader) -> dict[str, dict[str, str]]:
    """u32 nr; { u32 nr_caps; { string name, value; } [nr_caps]; string pmu; } [nr]."""
    pairs = section.rows(8, lambda at: (_text_pairs(at), at.string()))
    return {name: capabilities for capabilities, name in pairs}


def _cpu_domain_info(section: SectionReader) -> dict[str, Any]:
    """u32 version, max_domains; { u32 cpu, nr; { u32 domain; string name, mask, list; } [nr]; } for each CPU."""
    version, deepest = section.numbers("II")
    cpus: dict[str, Any] = {}
    while section.left >= 8:
        cpu, count = section.u32(), section.count(8)
        cpus[str(cpu)] = [_domain(section, version) for _ in range(count)]
    return {"version": version, "max_domains": deepest, "cpus": cpus}


def _domain(section: SectionReader, version: int) -> dict[str, Any]:
    """Domains are named from schedstat version 17 on."""
    number = section.u32()
    name = section.string() if version >= _NAMED_DOMAINS else ""
    section.string()
    return {"domain": number, "name": name, "cpus": section.string()}


_NAMED_DOMAINS = 17


def _bpf_prog_info(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr; { u32 info_len, data_len; u64 arrays; struct bpf_prog_info; u8 data[data_len]; } [nr]."""
    programs = []
    for _ in range(section.count(16)):
        info_length, data_length, _ = section.numbers("IIQ")
        info = SectionReader(section.take(info_length), section.order)
        section.take(data_length)
        kind, number, tag = info.numbers("II8s")
        info.take(48)
        programs.append(
            {"type": kind, "id": number, "tag": bytes(tag).hex(), "name": text(info.take(min(16, info.left)))}
        )
    return programs


def _bpf_btf(section: SectionReader) -> list[dict[str, int]]:
    """u32 nr; { u32 id, size; u8 data[size]; } [nr]."""

    def program(at: SectionReader) -> dict[str, int]:
        found = at.named("II", "id", "size")
        at.take(found["size"])
        return found

    return section.rows(8, program)


def _simpleperf_meta_info(section: SectionReader) -> dict[str, str]:
    """simpleperf: key NUL value NUL …."""
    words = [word.decode("utf-8", "surrogateescape") for word in section.take(section.left).split(b"\0")]
    return dict(zip(words[::2], words[1::2], strict=False))


def _named(codes: str, *names: str) -> Callable[[SectionReader], dict[str, Any]]:
    """Return a decoder of a section that has a few numbers, by struct codes."""
    return lambda section: section.named(codes, *names)


def _empty(section: SectionReader) -> bool:
    return True


def _event_desc(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr, attr_size; { attr; u32 nr_ids; string name; u64 ids[nr_ids]; } [nr]."""
    count, attr_size = section.numbers("II")
    events = []
    for _ in range(count):
        section.take(attr_size)  # the same as in the header
        nr_ids = section.count(0)
        name = section.string()
        events.append({"name": name, "ids": list(section.numbers(f"{section.fitting(nr_ids, 8)}Q"))})
    return events


def _group_desc(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr; { string name; u32 leader; u32 members; } [nr]."""
    return section.rows(12, lambda at: {"name": at.string(), **at.named("II", "leader", "members")})


def _size(section: SectionReader) -> dict[str, int]:
    return {"size": section.left}


DECODERS: dict[int, Callable[[SectionReader], Any]] = {
    HeaderFeature.HOSTNAME: SectionReader.string,
    HeaderFeature.OSRELEASE: SectionReader.string,
    HeaderFeature.VERSION: SectionReader.string,
    HeaderFeature.ARCH: SectionReader.string,
    HeaderFeature.NRCPUS: _named("II", "available", "online"),
    HeaderFeature.CPUDESC: SectionReader.string,
    HeaderFeature.CPUID: SectionReader.string,
    HeaderFeature.TOTAL_MEM: SectionReader.u64,
    HeaderFeature.CMDLINE: SectionReader.strings,
    HeaderFeature.EVENT_DESC: _event_desc,
    HeaderFeature.CPU_TOPOLOGY: cpu_topology,
    HeaderFeature.NUMA_TOPOLOGY: _numa_topology,
    HeaderFeature.BRANCH_STACK: _empty,
    HeaderFeature.PMU_MAPPINGS: _pmu_mappings,
    HeaderFeature.GROUP_DESC: _group_desc,
    HeaderFeature.AUXTRACE: _named("Q", "areas"),  # u64 nr; { u64 offset, size; } [nr]: extents of trace data
    HeaderFeature.STAT: _empty,
    HeaderFeature.CACHE: _cache,
    HeaderFeature.SAMPLE_TIME: _named("QQ", "first", "last"),
    HeaderFeature.MEM_TOPOLOGY: _mem_topology,
    HeaderFeature.CLOCKID: SectionReader.u64,
    HeaderFeature.DIR_FORMAT: SectionReader.u64,
    HeaderFeature.BPF_PROG_INFO: _bpf_prog_info,
    HeaderFeature.BPF_BTF: _bpf_btf,
    HeaderFeature.COMPRESSED: _named("5I", "version", "type", "level", "ratio", "mmap_len"),
    HeaderFeature.CPU_PMU_CAPS: _text_pairs,
    HeaderFeature.CLOCK_DATA: _named("IiQQ", "version", "clockid", "wall_clock_ns", "clockid_time_ns"),
    HeaderFeature.HYBRID_TOPOLOGY: _text_pairs,
    HeaderFeature.PMU_CAPS: _pmu_caps,
    HeaderFeature.CPU_DOMAIN_INFO: _cpu_domain_info,
    HeaderFeature.E_MACHINE: _named("II", "e_machine", "e_flags"),
    HeaderFeature.CLN_SIZE: SectionReader.u32,
    HeaderFeature.SIMPLEPERF_META_INFO: _simpleperf_meta_info,
    HeaderFeature.SIMPLEPERF_DEBUG_UNWIND: debug_unwind_files,
    HeaderFeature.SIMPLEPERF_DEBUG_UNWIND_FILE: _size,
    HeaderFeature.SIMPLEPERF_ETM_BRANCH_LIST: _size,
    HeaderFeature.SIMPLEPERF_INIT_MAP: _size,
}
