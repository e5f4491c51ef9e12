"""Derives the data sources of memory operations (union perf_mem_data_src) from Arm SPE records, as perf does.

A data source tells which level of cache or memory served an access, and what snooping found. It comes from the record's
data source packet, whose codes depend on the CPU; without a known code, from the record's events. Source of truth:
arm_spe__synth_data_source and what it calls in tools/perf/util/arm-spe.c.
"""

from functools import reduce
from operator import or_

import numpy as np

from perf2x.base.columnar import U64, Bools, as_int64, as_uint64, take
from perf2x.reader.spe.records import OpClass, SampledEvent, TraceRecords

# Lowest bits of the fields: mem_op 0, mem_lvl 5, mem_snoop 19, mem_dtlb 26, mem_lvl_num 33, mem_remote 37, mem_snoopx
# 38. The values are PERF_MEM_*, shifted to their field; a level is mem_lvl | mem_lvl_num.
_HIT, _MISS = 2 << 5, 4 << 5
_L1, _L2, _L3 = 8 << 5 | 1 << 33, 0x20 << 5 | 2 << 33, 0x40 << 5 | 3 << 33
_LEVEL_NA, _SNOOP_NA = 1 << 5 | 15 << 33, 1 << 19  # "not available"; "none" below means that no snoop took place
# levels, then what snooping found, then "remote"
_WORDS_BY_NAME = {
    "L1": _L1 | _HIT, "L2": _L2 | _HIT, "L3": _L3 | _HIT, "RAM": (0x80 << 5 | 13 << 33) | _HIT,
    "cluster": 0x400 << 5 | _HIT | 3 << 33, "socket": 0x800 << 5 | 11 << 33, "distant": 0x100 << 5 | _HIT | 13 << 33,
    "device": 0x1000 << 5 | _HIT | 10 << 33, "unknown": _LEVEL_NA,
    "none": 2 << 19, "hit": 4 << 19, "hitm": 16 << 19, "peer": 2 << 38, "remote": 1 << 37,
}  # fmt: skip


def _parse_sources(text: str) -> dict[int, int]:
    rows = (line.split() for line in text.splitlines())
    return {int(code): reduce(or_, map(_WORDS_BY_NAME.__getitem__, names)) for code, *names in rows}


_NEOVERSE = _parse_sources("""0 L1 none
8 L2 none
9 L2 peer
10 L3 peer
11 L3 hit
12 L3 peer
13 unknown peer remote
14 RAM none""")
_AMPEREONE = _parse_sources("""0 L2 peer
3 L3 hit
5 unknown peer remote
7 RAM none
8 L1 none
9 L2 none""")
_HIP12 = _parse_sources("""0 L2 peer
1 L2 hitm peer
2 L3 hit
3 L3 hitm
4 cluster peer
5 cluster hitm peer
6 socket peer remote
7 socket hitm peer remote
8 RAM none
9 distant remote
13 device none
16 L2 none
17 L2 hitm
18 L1 none""")
# Neoverse N1, N2, V1, V2, V3 and Cortex-X1, X1C, X3, X4, X925, A78C, A715, A720, A720AE, A725.
_ARM_PARTS = (0xD0C, 0xD40, 0xD44, 0xD49, 0xD4B, 0xD4C, 0xD4D, 0xD4E, 0xD4F, 0xD81, 0xD82, 0xD84, 0xD85, 0xD87, 0xD89)
# (implementer, part number) in MIDR_EL1 → code of a data source packet → bits of the data source
_SOURCES_BY_CPU = {
    **dict.fromkeys(((0x41, part) for part in _ARM_PARTS), _NEOVERSE),
    (0x4E, 0x010): _NEOVERSE,  # NVIDIA Olympus
    (0xC0, 0xAC4): _AMPEREONE,
    (0x48, 0xD06): _HIP12,  # HiSilicon
}
_CODE_COUNT = 20  # no table has codes from 19 on: the last row stays 0
_CACHES = (  # innermost first: access, miss, level
    (SampledEvent.L1D_ACCESS, SampledEvent.L1D_MISS, _L1),
    (SampledEvent.L2D_ACCESS, SampledEvent.L2D_MISS, _L2),
    (SampledEvent.LLC_ACCESS, SampledEvent.LLC_MISS, _L3),
)
_MEM_LVL, _MEM_SNOOP = np.uint64(0x3FFF << 5), np.uint64(0x1F << 19)
_WITHOUT_LEVEL = ~np.uint64(0x3FFF << 5 | 0xF << 33)


def data_sources(records: TraceRecords, midr: int, event_filter: int) -> U64:
    """Return (n,) union perf_mem_data_src of each operation; 0 for operations that do not use memory.

    ``midr`` is the MIDR_EL1 of the CPU that sampled all operations, 0 if unknown. ``event_filter`` has a bit for each
    SampledEvent that the CPU reports: unless it reports SNOOPED, the event's absence means nothing.
    """
    is_access = records.is_class(OpClass.ACCESS)
    is_store = is_access & records.matches(1, 1)  # bit 0: 1 for a store
    word = as_uint64(np.where(is_access, np.where(is_store, 4, 2), 1))  # PERF_MEM_OP_STORE, _LOAD, _NA
    word |= _from_packets(records, is_store, midr)
    # events give the level and the snoop that packets did not give
    lacks_level = word & _MEM_LVL == 0
    level = np.where(is_store, _store_levels(records), np.where(is_access, _load_levels(records), np.uint64(_LEVEL_NA)))
    word = np.where(lacks_level, word & _WITHOUT_LEVEL | level, word)
    not_snooped = _WORDS_BY_NAME["none"] if event_filter >> SampledEvent.SNOOPED & 1 else _SNOOP_NA
    snooped = np.where(records.has_event(SampledEvent.MODIFIED), _WORDS_BY_NAME["hitm"], _WORDS_BY_NAME["hit"])
    snoop = as_uint64(np.where(records.has_event(SampledEvent.SNOOPED), snooped, not_snooped))
    word |= np.where(word & _MEM_SNOOP == 0, snoop, np.uint64(0))
    word |= as_uint64(records.has_event(SampledEvent.REMOTE)) << np.uint64(37)
    missed_tlb, accessed_tlb = records.has_event(SampledEvent.TLB_MISS), records.has_event(SampledEvent.TLB_ACCESS)
    tlb = as_uint64(np.where(missed_tlb, 0x24, np.where(accessed_tlb, 0x22, 0)))  # PERF_MEM_TLB_WK with _MISS or _HIT
    word |= tlb << np.uint64(26)
    return np.where(uses_memory(records), word, np.uint64(0))


def uses_memory(records: TraceRecords) -> Bools:
    """Return (n,) whether each operation is a load, a store or a vector operation, as perf decides."""
    # SVE, SME, Advanced SIMD (arm-spe-pkt-decoder.h)
    is_vector = records.matches(0x89, 0x08) | records.matches(0x89, 0x88) | records.matches(0xFC, 0x04)
    return records.is_class(OpClass.ACCESS) | (records.is_class(OpClass.OTHER) & is_vector)


def _from_packets(records: TraceRecords, is_store: Bools, midr: int) -> U64:
    """Level and snooping (n,); 0 if the CPU or the code is unknown. perf ignores the packets of stores."""
    # bits of MIDR_EL1: implementer from 24, architecture from 16 (0xF: by feature registers), part number from 4
    sources = _SOURCES_BY_CPU.get((midr >> 24 & 0xFF, midr >> 4 & 0xFFF), {}) if midr >> 16 & 0xF == 0xF else {}
    word_by_code = np.zeros(_CODE_COUNT, np.uint64)
    word_by_code[list(sources)] = list(sources.values())
    word = take(word_by_code, as_int64(np.minimum(records.data_source & np.uint64(0xFFFF), np.uint64(_CODE_COUNT - 1))))
    # perf ignores packets with codes that AmpereOne does not have
    has_source = (word != 0) if sources is _AMPEREONE else np.full(len(word), bool(sources), np.bool_)
    return np.where(is_store & has_source, np.uint64(_LEVEL_NA | _SNOOP_NA), word)


def _load_levels(records: TraceRecords) -> U64:
    """Level (n,) of each load: the innermost hit, otherwise the outermost miss."""
    hits = [(records.has_event(access) & ~records.has_event(miss), level | _HIT) for access, miss, level in _CACHES]
    # between L1 and L2: the line fill buffer (PERF_MEM_LVL_LFB)
    hits.insert(1, (records.has_event(SampledEvent.RECENTLY_FETCHED), 0x10 << 5 | 12 << 33 | _HIT))
    return _first_true([*hits, *((records.has_event(miss), level | _MISS) for _, miss, level in reversed(_CACHES))])


def _store_levels(records: TraceRecords) -> U64:
    """Level (n,) of each store: the outermost one accessed, as a hit or a miss."""
    choices = (
        (event, level | result)
        for access, miss, level in reversed(_CACHES)
        for event, result in ((miss, _MISS), (access, _HIT))
    )
    return _first_true([(records.has_event(event), word) for event, word in choices])


def _first_true(choices: list[tuple[Bools, int]]) -> U64:
    words = [np.uint64(word) for _, word in choices]
    return np.select([holds for holds, _ in choices], words, np.uint64(_LEVEL_NA))
