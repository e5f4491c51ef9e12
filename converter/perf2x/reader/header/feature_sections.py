"""Decodes HEADER_* feature sections to JSON-like values.

A decoder takes a reader at the start of its section. Its docstring is the section's layout, where "string" is a struct
perf_header_string. Source of truth: the write_* and process_* functions in tools/perf/util/header.c and
perf.data-file-format.txt.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perf2x.base.abi import HeaderFeature
from perf2x.base.columnar import I64, arange, as_int64
from perf2x.reader.header.section_reader import SectionReader, decode_string
from perf2x.reader.header.symbol_sections import debug_unwind_files


def cpu_topology(section: SectionReader) -> dict[str, Any]:
    """Decode lists of sibling cores and threads, the core and socket of each CPU and, from perf 5.3 on, lists of dies.

    ::

        string list cores, threads; { u32 core, socket; } [cpus]; string list dies; { u32 die; } [cpus];

    The number of CPUs is derived from the section's size, because the section that has it may be missing.
    """
    cores, threads = section.strings(), section.strings()
    numbers = section.numbers(f"{section.bytes_left // 4}I") if section.bytes_left % 4 == 0 else ()
    topology: dict[str, Any] = {"core_siblings": cores, "thread_siblings": threads}
    cpus = _cpus_before_dies(as_int64(numbers))
    if not cpus:
        return topology | {"cpus": _cores_and_sockets(numbers)}
    section.offset -= 4 * (len(numbers) - 2 * cpus)
    dies = section.strings()
    return topology | {
        "cpus": _cores_and_sockets(numbers[: 2 * cpus]),
        "die_siblings": dies,
        "dies": list(section.numbers(f"{cpus}I")),
    }


def _cpus_before_dies(words: I64) -> int:
    """The least number of CPUs with which the list of dies fits exactly between the other arrays; 0 for none.

    ``words`` (n,) are the u32 after the sibling lists. With c CPUs, they are 2c words; a list of dies, which is a count
    and that many strings; and c words. A string is a length, then bytes that perf's do_write_string pads to whole
    words.

    All c are tried at once by pointer doubling: ``following`` leads from the word where a string starts to the word
    after 1, 2, 4 … strings. So a crafted section takes n log n time.
    """
    end = len(words)
    cpus = arange(1, (end + 1) // 2)
    string_counts = words[2 * cpus]
    is_possible = (string_counts > 0) & (string_counts < end - 3 * cpus)  # a string takes at least a word
    cpus, string_counts = cpus[is_possible], string_counts[is_possible]
    after_string = arange(1, end + 1) + words // 4
    is_string = (words % 4 == 0) & (after_string < end)
    following = np.append(np.where(is_string, after_string, end), end)  # ``end`` points to itself
    word = 2 * cpus + 1
    for bit in range(int(string_counts.max(initial=0)).bit_length()):
        word = np.where(string_counts >> bit & 1, following[word], word)
        following = following[following]
    fitting_cpus = cpus[word == end - cpus]
    return int(fitting_cpus[0]) if len(fitting_cpus) else 0


def _cores_and_sockets(numbers: tuple[int, ...]) -> list[dict[str, int]]:
    """{ u32 core, socket; } [cpus]."""
    return [{"core": core, "socket": socket} for core, socket in zip(numbers[::2], numbers[1::2], strict=False)]


def _numa_topology(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr; { u32 node; u64 total_kb, free_kb; string cpus; } [nr]."""
    return section.entries(
        24, lambda entry: entry.named_numbers("IQQ", "node", "total_kb", "free_kb") | {"cpus": entry.string()}
    )


def _cache(section: SectionReader) -> list[dict[str, Any]]:
    """u32 version, nr; { u32 level, line_size, sets, ways; string type, size, cpus; } [nr]."""
    section.u32()
    return section.entries(
        28,
        lambda entry: {
            **entry.named_numbers("4I", "level", "line_size", "sets", "ways"),
            **{name: entry.string() for name in ("type", "size", "cpus")},
        },
    )


def _mem_topology(section: SectionReader) -> dict[str, Any]:
    """u64 version, block_size, nr; { u64 node, size; u64 nr_bits; u64 bitmap[]; } [nr]: memory blocks of each node."""
    _, block_size, count = section.numbers("QQQ")
    nodes = []
    for _ in range(min(count, section.bytes_left // 24)):
        node, _, bits = section.numbers("QQQ")
        words = section.numbers(f"{section.checked_count((bits + 63) // 64, 8)}Q")
        nodes.append({"node": node, "blocks": sum(word.bit_count() for word in words)})
    return {"block_size": block_size, "nodes": nodes}


def _pmu_mappings(section: SectionReader) -> dict[str, int]:
    """u32 nr; { u32 type; string name; } [nr]."""
    pairs = section.entries(8, lambda entry: (entry.u32(), entry.string()))
    return {name: number for number, name in pairs}


def _string_pairs(section: SectionReader) -> dict[str, str]:
    """u32 nr; { string name, value; } [nr]: the capabilities of a PMU, or the names of PMUs and their CPUs."""
    return dict(section.entries(8, lambda entry: (entry.string(), entry.string())))


def _pmu_caps(section: SectionReader) -> dict[str, dict[str, str]]:
    """u32 nr; { u32 nr_caps; { string name, value; } [nr_caps]; string pmu; } [nr]."""
    pairs = section.entries(8, lambda entry: (_string_pairs(entry), entry.string()))
    return {name: capabilities for capabilities, name in pairs}


def _cpu_domain_info(section: SectionReader) -> dict[str, Any]:
    """u32 schedstat_version, max_domains; { u32 cpu, nr; { u32 domain; string name, mask, list; } [nr]; } [cpus]."""
    version, max_domains = section.numbers("II")
    cpus: dict[str, Any] = {}
    while section.bytes_left >= 8:
        cpu, count = section.u32(), section.count(8)
        cpus[str(cpu)] = [_domain(section, version) for _ in range(count)]
    return {"version": version, "max_domains": max_domains, "cpus": cpus}


def _domain(section: SectionReader, version: int) -> dict[str, Any]:
    """u32 domain; string name, mask, list: the name is missing before schedstat version 17."""
    number = section.u32()
    name = section.string() if version >= _SCHEDSTAT_WITH_NAMES else ""
    section.string()  # the CPUs as a mask
    return {"domain": number, "name": name, "cpus": section.string()}


# The first version of /proc/schedstat with names of domains.
_SCHEDSTAT_WITH_NAMES = 17


def _bpf_prog_info(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr; { u32 info_len, data_len; u64 arrays; struct bpf_prog_info; u8 data[data_len]; } [nr]."""
    programs = []
    for _ in range(section.count(16)):
        info_length, data_length, _ = section.numbers("IIQ")
        info = SectionReader(section.take(info_length), section.byte_order)
        section.take(data_length)
        kind, number, tag = info.numbers("II8s")
        info.take(48)  # up to the name, which older kernels lack
        programs.append(
            {
                "type": kind,
                "id": number,
                "tag": bytes(tag).hex(),
                "name": decode_string(info.take(min(16, info.bytes_left))),
            }
        )
    return programs


def _bpf_btf(section: SectionReader) -> list[dict[str, int]]:
    """u32 nr; { u32 id, size; u8 data[size]; } [nr]."""

    def program(entry: SectionReader) -> dict[str, int]:
        header = entry.named_numbers("II", "id", "size")
        entry.take(header["size"])
        return header

    return section.entries(8, program)


def _simpleperf_meta_info(section: SectionReader) -> dict[str, str]:
    """simpleperf: key NUL value NUL …."""
    strings = [raw.decode("utf-8", "surrogateescape") for raw in section.take(section.bytes_left).split(b"\0")]
    return dict(zip(strings[::2], strings[1::2], strict=False))


def _numbers_decoder(codes: str, *names: str) -> Callable[[SectionReader], dict[str, Any]]:
    return lambda section: section.named_numbers(codes, *names)


def _present(section: SectionReader) -> bool:
    """The section's presence says everything."""
    return True


def _event_desc(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr, attr_size; { attr; u32 nr_ids; string name; u64 ids[nr_ids]; } [nr]."""
    count, attr_size = section.numbers("II")
    events = []
    for _ in range(count):
        section.take(attr_size)
        nr_ids = section.count(0)
        name = section.string()
        events.append({"name": name, "ids": list(section.numbers(f"{section.checked_count(nr_ids, 8)}Q"))})
    return events


def _group_desc(section: SectionReader) -> list[dict[str, Any]]:
    """u32 nr; { string name; u32 leader; u32 members; } [nr]."""
    return section.entries(12, lambda entry: {"name": entry.string(), **entry.named_numbers("II", "leader", "members")})


def _section_size(section: SectionReader) -> dict[str, int]:
    """The section is decoded elsewhere or not at all."""
    return {"size": section.bytes_left}


DECODERS: dict[int, Callable[[SectionReader], Any]] = {
    HeaderFeature.HOSTNAME: SectionReader.string,
    HeaderFeature.OSRELEASE: SectionReader.string,
    HeaderFeature.VERSION: SectionReader.string,
    HeaderFeature.ARCH: SectionReader.string,
    HeaderFeature.NRCPUS: _numbers_decoder("II", "available", "online"),
    HeaderFeature.CPUDESC: SectionReader.string,
    HeaderFeature.CPUID: SectionReader.string,
    HeaderFeature.TOTAL_MEM: SectionReader.u64,
    HeaderFeature.CMDLINE: SectionReader.strings,
    HeaderFeature.EVENT_DESC: _event_desc,
    HeaderFeature.CPU_TOPOLOGY: cpu_topology,
    HeaderFeature.NUMA_TOPOLOGY: _numa_topology,
    HeaderFeature.BRANCH_STACK: _present,
    HeaderFeature.PMU_MAPPINGS: _pmu_mappings,
    HeaderFeature.GROUP_DESC: _group_desc,
    HeaderFeature.AUXTRACE: _numbers_decoder("Q", "areas"),  # u64 nr; { u64 offset, size; } [nr]: extents of trace data
    HeaderFeature.STAT: _present,
    HeaderFeature.CACHE: _cache,
    HeaderFeature.SAMPLE_TIME: _numbers_decoder("QQ", "first", "last"),
    HeaderFeature.MEM_TOPOLOGY: _mem_topology,
    HeaderFeature.CLOCKID: SectionReader.u64,
    HeaderFeature.DIR_FORMAT: SectionReader.u64,
    HeaderFeature.BPF_PROG_INFO: _bpf_prog_info,
    HeaderFeature.BPF_BTF: _bpf_btf,
    HeaderFeature.COMPRESSED: _numbers_decoder("5I", "version", "type", "level", "ratio", "mmap_len"),
    HeaderFeature.CPU_PMU_CAPS: _string_pairs,
    HeaderFeature.CLOCK_DATA: _numbers_decoder("IiQQ", "version", "clockid", "wall_clock_ns", "clockid_time_ns"),
    HeaderFeature.HYBRID_TOPOLOGY: _string_pairs,
    HeaderFeature.PMU_CAPS: _pmu_caps,
    HeaderFeature.CPU_DOMAIN_INFO: _cpu_domain_info,
    HeaderFeature.E_MACHINE: _numbers_decoder("II", "e_machine", "e_flags"),
    HeaderFeature.CLN_SIZE: SectionReader.u32,
    HeaderFeature.SIMPLEPERF_META_INFO: _simpleperf_meta_info,
    HeaderFeature.SIMPLEPERF_DEBUG_UNWIND: debug_unwind_files,
    HeaderFeature.SIMPLEPERF_DEBUG_UNWIND_FILE: _section_size,
    HeaderFeature.SIMPLEPERF_ETM_BRANCH_LIST: _section_size,
    HeaderFeature.SIMPLEPERF_INIT_MAP: _section_size,
}
