"""Decodes HEADER_* feature sections to plain values.

Source of truth: the process_* functions in tools/perf/util/header.c and perf.data-file-format.txt.
"""

from collections.abc import Callable
from typing import Any

from perf2x.base.abi import Feature
from perf2x.reader.header import hardware_features
from perf2x.reader.header.section_reader import SectionReader
from perf2x.reader.header.symbol_sections import debug_unwind_files


def _named(codes: str, *names: str) -> Callable[[SectionReader], dict[str, Any]]:
    """Decode a section of a few numbers, by struct codes."""
    return lambda section: section.named(codes, *names)


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
    return section.rows(12, lambda at: {"name": at.string(), **at.named("II", "leader", "members")})


def _size(section: SectionReader) -> dict[str, int]:
    return {"size": section.left}


def _auxtrace(section: SectionReader) -> dict[str, int]:
    """u64 nr; { u64 offset, size; } [nr]: extents of trace data."""
    return {"areas": section.u64()}


DECODERS: dict[int, Callable[[SectionReader], Any]] = {
    Feature.HOSTNAME: SectionReader.string,
    Feature.OSRELEASE: SectionReader.string,
    Feature.VERSION: SectionReader.string,
    Feature.ARCH: SectionReader.string,
    Feature.NRCPUS: _named("II", "available", "online"),
    Feature.CPUDESC: SectionReader.string,
    Feature.CPUID: SectionReader.string,
    Feature.TOTAL_MEM: SectionReader.u64,
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
    Feature.SAMPLE_TIME: _named("QQ", "first", "last"),
    Feature.MEM_TOPOLOGY: hardware_features.mem_topology,
    Feature.CLOCKID: SectionReader.u64,
    Feature.DIR_FORMAT: SectionReader.u64,
    Feature.BPF_PROG_INFO: hardware_features.bpf_prog_info,
    Feature.BPF_BTF: hardware_features.bpf_btf,
    Feature.COMPRESSED: _named("5I", "version", "type", "level", "ratio", "mmap_len"),
    Feature.CPU_PMU_CAPS: hardware_features.text_pairs,
    Feature.CLOCK_DATA: _named("IiQQ", "version", "clockid", "wall_clock_ns", "clockid_time_ns"),
    Feature.HYBRID_TOPOLOGY: hardware_features.text_pairs,
    Feature.PMU_CAPS: hardware_features.pmu_caps,
    Feature.CPU_DOMAIN_INFO: hardware_features.cpu_domain_info,
    Feature.E_MACHINE: _named("II", "e_machine", "e_flags"),
    Feature.CLN_SIZE: SectionReader.u32,
    Feature.SIMPLEPERF_META_INFO: hardware_features.simpleperf_meta_info,
    Feature.SIMPLEPERF_DEBUG_UNWIND: debug_unwind_files,
    Feature.SIMPLEPERF_DEBUG_UNWIND_FILE: _size,
    Feature.SIMPLEPERF_ETM_BRANCH_LIST: _size,
    Feature.SIMPLEPERF_INIT_MAP: _size,
}
