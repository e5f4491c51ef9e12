"""Data sources of memory operations (perf_mem_data_src), derived from Arm SPE records as perf does.

Source of truth: arm_spe__synth_data_source and what it calls in tools/perf/util/arm-spe.c. The meaning of a data source
packet depends on the CPU; if it has no level, the record's events determine one.
"""

from functools import reduce
from operator import or_

import numpy as np

from perf2x.base.columnar import U64, Bools, as_int64, as_uint64, take
from perf2x.reader.spe.records import Happened, OpClass, TraceRecords

_HIT, _MISS = 2 << 5, 4 << 5
_L1, _L2, _L3 = 8 << 5 | 1 << 33, 0x20 << 5 | 2 << 33, 0x40 << 5 | 3 << 33
_UNKNOWN, _NO_SNOOP = 1 << 5 | 15 << 33, 1 << 19
_BITS = {
    "L1": _L1 | _HIT, "L2": _L2 | _HIT, "L3": _L3 | _HIT, "RAM": (0x80 << 5 | 13 << 33) | _HIT,
    "cluster": 0x400 << 5 | _HIT | 3 << 33, "socket": 0x800 << 5 | 11 << 33, "distant": 0x100 << 5 | _HIT | 13 << 33,
    "device": 0x1000 << 5 | _HIT | 10 << 33, "unknown": _UNKNOWN,
    "none": 2 << 19, "hit": 4 << 19, "hitm": 16 << 19, "peer": 2 << 38, "remote": 1 << 37,
}  # fmt: skip
"""Fields of the word: mem_lvl from bit 5, mem_snoop 19, mem_lvl_num 33, mem_remote 37, mem_snoopx 38."""


def _words(text: str) -> dict[int, int]:
    """Parse words by code, from lines of ``CODE BITS …``."""
    rows = (line.split() for line in text.splitlines())
    return {int(code): reduce(or_, map(_BITS.__getitem__, bits)) for code, *bits in rows}


_COMMON = _words("""0 L1 none
8 L2 none
9 L2 peer
10 L3 peer
11 L3 hit
12 L3 peer
13 unknown peer remote
14 RAM none""")
_AMPEREONE = _words("""0 L2 peer
3 L3 hit
5 unknown peer remote
7 RAM none
8 L1 none
9 L2 none""")
_HIP12 = _words("""0 L2 peer
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
_ARM = (0xD0C, 0xD40, 0xD44, 0xD49, 0xD4B, 0xD4C, 0xD4D, 0xD4E, 0xD4F, 0xD81, 0xD82, 0xD84, 0xD85, 0xD87, 0xD89)
"""Neoverse N1, N2, V1, V2, V3 and Cortex-X1, X1C, X3, X4, X925, A78C, A715, A720, A720AE, A725."""
_SOURCES = {
    **dict.fromkeys(((0x41, part) for part in _ARM), _COMMON),
    (0x4E, 0x010): _COMMON,
    (0xC0, 0xAC4): _AMPEREONE,
    (0x48, 0xD06): _HIP12,
}
"""Words by the CPU's implementer and part, and by the code in a packet."""
_CODES = 20
_CACHES = (
    (Happened.L1D_ACCESS, Happened.L1D_MISS, _L1),
    (Happened.L2D_ACCESS, Happened.L2D_MISS, _L2),
    (Happened.LLC_ACCESS, Happened.LLC_MISS, _L3),
)
_LEVEL, _SNOOP = np.uint64(0x3FFF << 5), np.uint64(0x1F << 19)
_NOT_LEVEL = ~np.uint64(0x3FFF << 5 | 0xF << 33)


def data_sources(records: TraceRecords, midr: int, filters: int) -> U64:
    """Return (n,) union perf_mem_data_src of each operation; 0 for operations without memory.

    ``midr`` identifies the CPU (0: unknown), ``filters`` are the events that it can filter by.
    """
    access = records.is_of(OpClass.ACCESS)
    store = access & records.has(1, 1)
    word = as_uint64(np.where(access, np.where(store, 4, 2), 1))
    word |= _by_packet(records, store, midr)
    no_level = word & _LEVEL == 0
    found = np.where(store, _stored(records), np.where(access, _loaded(records), np.uint64(_UNKNOWN)))
    word = np.where(no_level, word & _NOT_LEVEL | found, word)
    absent = _BITS["none"] if filters >> Happened.SNOOPED & 1 else _NO_SNOOP
    snooped = np.where(records.had(Happened.MODIFIED), _BITS["hitm"], _BITS["hit"])
    snoop = as_uint64(np.where(records.had(Happened.SNOOPED), snooped, absent))
    word |= np.where(word & _SNOOP == 0, snoop, np.uint64(0))
    word |= as_uint64(records.had(Happened.REMOTE)) << np.uint64(37)
    missed, looked_up = records.had(Happened.TLB_MISS), records.had(Happened.TLB_ACCESS)
    walker = as_uint64(np.where(missed, 0x24, np.where(looked_up, 0x22, 0)))
    word |= walker << np.uint64(26)
    return np.where(uses_memory(records), word, np.uint64(0))


def uses_memory(records: TraceRecords) -> Bools:
    """Return (n,) loads, stores and vector operations."""
    vector = records.has(0x89, 0x08) | records.has(0x89, 0x88) | records.has(0xFC, 0x04)
    return records.is_of(OpClass.ACCESS) | (records.is_of(OpClass.OTHER) & vector)


def _by_packet(records: TraceRecords, store: Bools, midr: int) -> U64:
    """Return (n,) the packet's data source; 0 if the CPU or the code is unknown, and for stores."""
    known = _SOURCES.get((midr >> 24 & 0xFF, midr >> 4 & 0xFFF), {}) if midr >> 16 & 0xF == 0xF else {}
    codes = np.zeros(_CODES, np.uint64)
    codes[list(known)] = list(known.values())
    word = take(codes, as_int64(np.minimum(records.source & np.uint64(0xFFFF), np.uint64(_CODES - 1))))
    has_source = (word != 0) if known is _AMPEREONE else np.full(len(word), bool(known), np.bool_)
    return np.where(store & has_source, np.uint64(_UNKNOWN | _NO_SNOOP), word)


def _loaded(records: TraceRecords) -> U64:
    """Return (n,) the level of loads by their events: the innermost hit, otherwise the outermost miss."""
    hits = [(records.had(seen) & ~records.had(missed), cache | _HIT) for seen, missed, cache in _CACHES]
    hits.insert(1, (records.had(Happened.RECENTLY_FETCHED), 0x10 << 5 | 12 << 33 | _HIT))
    return _first([*hits, *((records.had(missed), cache | _MISS) for _, missed, cache in reversed(_CACHES))])


def _stored(records: TraceRecords) -> U64:
    """Return (n,) the level of stores by their events: the outermost level accessed."""
    ways = (
        (event, cache | how)
        for seen, missed, cache in reversed(_CACHES)
        for event, how in ((missed, _MISS), (seen, _HIT))
    )
    return _first([(records.had(event), word) for event, word in ways])


def _first(choices: list[tuple[Bools, int]]) -> U64:
    """Return (n,) the value of the first True condition, otherwise that of an unknown level."""
    words = [np.uint64(word) for _, word in choices]
    return np.select([holds for holds, _ in choices], words, np.uint64(_UNKNOWN))
