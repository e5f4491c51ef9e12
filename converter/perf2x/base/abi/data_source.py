"""Describes a memory access (union perf_mem_data_src) in perf's words.

Sources of truth: include/uapi/linux/perf_event.h for the bits, tools/perf/util/mem-events.c for the words.
"""

from collections.abc import Iterator, Sequence

_HIT, _MISS = 1 << 1, 1 << 2  # bits of mem_lvl and of mem_dtlb
# Perf's words for each bit of a field, from bit 0 up; in _HOPS, for each value of mem_hops.
_OPS = ("N/A", "LOAD", "STORE", "PFETCH", "EXEC")
_LEVELS = (
    "N/A", "HIT", "MISS", "L1", "LFB/MAB", "L2", "L3", "Local RAM", "Remote RAM (1 hop)", "Remote RAM (2 hops)",
    "Remote Cache (1 hop)", "Remote Cache (2 hops)", "I/O", "Uncached",
)  # fmt: skip
_LEVEL_NUMBERS = {
    1: "L1", 2: "L2", 3: "L3", 4: "L4", 5: "L2 MHB", 6: "Memory-side Cache", 7: "L0", 8: "Uncached", 9: "CXL",
    10: "I/O", 11: "Any cache", 12: "LFB/MAB", 13: "RAM", 14: "PMEM",
}  # fmt: skip
_UNKNOWN_LEVEL = 15  # PERF_MEM_LVLNUM_NA
_HOPS = ("", "core, same node", "node, same socket", "socket, same board", "board")
_SNOOPS = ("N/A", "None", "Hit", "Miss", "HitM")
_SNOOPX = ("Fwd", "Peer")
_TLBS = ("N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault")
_NA = "N/A"


def operation(word: int) -> str:
    """Return the kind of the access: LOAD, STORE, … (mem_op, bits 0 to 4); "No", as in perf, if no bit is set."""
    return next(_names_of_bits(_OPS, word & 0x1F), "No")


def level(word: int) -> str:
    """Return the level of memory, and whether it was a hit or a miss.

    mem_lvl_num (bits 33 to 36) is used if it is known, otherwise mem_lvl (bits 5 to 18).
    """
    bits, number = word >> 5 & 0x3FFF, word >> 33 & 0xF
    hit_or_miss = " hit" if bits & _HIT else " miss" if bits & _MISS else ""
    if number and number != _UNKNOWN_LEVEL:
        return f"{_distance(word)}{_LEVEL_NUMBERS[number]}{hit_or_miss}"
    names = " or ".join(_names_of_bits(_LEVELS, bits & ~(1 | _HIT | _MISS)))
    return f"{names}{hit_or_miss}" if names else _NA


def _distance(word: int) -> str:
    """Return the words before the level, such as "Remote core, same node ", from mem_remote (bit 37) and mem_hops (bits
    43 to 45).
    """
    hops = word >> 43 & 7
    distance = f"{_HOPS[hops] if hops < len(_HOPS) else f'{hops} hops'} " if hops else ""
    return ("Remote " if word >> 37 & 1 else "") + distance


def snoop(word: int) -> str:
    """Return the results of snooping other caches: mem_snoop (bits 19 to 23) and mem_snoopx (bits 38 and 39)."""
    names = [*_names_of_bits(_SNOOPS, word >> 19 & 0x1F), *_names_of_bits(_SNOOPX, word >> 38 & 3)]
    return " or ".join(names) or _NA


def translation(word: int) -> str:
    """Return the TLB levels that were asked, and whether they hit or missed: mem_dtlb (bits 26 to 32)."""
    bits = word >> 26 & 0x7F
    hit_or_miss = (" hit" if bits & _HIT else "") + (" miss" if bits & _MISS else "")
    return (" or ".join(_names_of_bits(_TLBS, bits & ~(_HIT | _MISS))) or _NA) + hit_or_miss


def _names_of_bits(names: Sequence[str], bits: int) -> Iterator[str]:
    return (name for bit, name in enumerate(names) if bits >> bit & 1)
