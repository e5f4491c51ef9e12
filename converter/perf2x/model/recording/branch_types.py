"""Types, speculation and privilege of branches in perf's terms, and filters by them.

Source of truth: struct perf_branch_entry (include/uapi/linux/perf_event.h), tools/perf/util/branch.c.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, U64, Bools, as_int64, bincount, offsets_of, row_numbers, trues
from perf2x.errors import SettingError
from perf2x.model.recording.events import Branches

TYPES = (
    "", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",
    "SERROR", "NO_TX", "FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5",
    *[""] * 8,
)  # fmt: skip
"""By ``type_numbers``."""
SPECULATIONS = ("", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH")
PRIVILEGES = ("", "USER", "KERNEL", "HV", *[""] * 4)
_EXTENDED = 15
"""PERF_BR_EXTEND_ABI: the type is in a field of its own."""


def type_numbers(flags: U64) -> I64:
    """Return (n,) indices of TYPES."""
    kind, new = flags >> np.uint64(20) & np.uint64(15), flags >> np.uint64(26) & np.uint64(15)
    return as_int64(np.where(kind == _EXTENDED, kind + new, kind))


def speculations(flags: U64) -> I64:
    """Return (n,) indices of SPECULATIONS."""
    return as_int64(flags >> np.uint64(24) & np.uint64(3))


def privileges(flags: U64) -> I64:
    """Return (n,) indices of PRIVILEGES."""
    return as_int64(flags >> np.uint64(30) & np.uint64(7))


_KINDS = ((TYPES, type_numbers), (SPECULATIONS, speculations), (PRIVILEGES, privileges))


def parse_branch_filter(text: str) -> tuple[str, ...]:
    """Parse ``call,ret,user`` to words in capitals. Raises SettingError for a word that perf does not have."""
    words = tuple(word.upper() for word in text.split(",") if word)
    known = [word for table, _ in _KINDS for word in table if word]
    for word in words:
        if word not in known:
            raise SettingError("", "branch_filter", f" {word.lower()}: there are {', '.join(known).lower()}")
    return words


def chosen_branches(flags: U64, words: Sequence[str]) -> Bools:
    """Return (n,) True for branches that match: for each kind that any of ``words`` belongs to, one word must match."""
    chosen = trues(len(flags))
    for table, numbers in _KINDS:
        values = [place for place, word in enumerate(table) if word and word in words]
        if values:
            chosen &= np.isin(numbers(flags), values)
    return chosen


def filter_branches(branches: Branches, words: Sequence[str]) -> Branches:
    """Keep the matching branches of every sample."""
    keep = chosen_branches(branches.flags, words)
    row = row_numbers(np.diff(branches.offsets))[keep]
    lengths = bincount(row, len(branches.offsets) - 1)
    offsets = offsets_of(lengths)
    return replace(
        branches,
        offsets=offsets,
        from_ip=branches.from_ip[keep],
        to_ip=branches.to_ip[keep],
        flags=branches.flags[keep],
    )
