"""Words for types, speculation outcomes and privilege levels of branches, and filters by these words.

All three are bit fields of ``flags``, the third word of struct perf_branch_entry (include/uapi/linux/perf_event.h):
type from bit 20 on, spec from 24, new_type from 26, priv from 30. The words for types and speculation are those of
tools/perf/util/branch.c; a perf built for Arm prints ARM64_FIQ … for ARCH_1 …. perf has no words for privileges.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, U64, Bools, as_int64, bincount, offsets_of, row_numbers, trues
from perf2x.errors import SettingError
from perf2x.model.recording.events import Branches

# PERF_BR_* (1 to 14); index 15 + n is PERF_BR_NEW_* value n; "" for unknown types.
TYPES = (
    "", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",
    "SERROR", "NO_TX", "FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5",
    *[""] * 8,
)  # fmt: skip
# PERF_BR_SPEC_*; "" if not available.
SPECULATIONS = ("", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH")
# PERF_BR_PRIV_*; "" if unknown.
PRIVILEGES = ("", "USER", "KERNEL", "HV", *[""] * 4)
# PERF_BR_EXTEND_ABI: the type is a PERF_BR_NEW_* in the field ``new_type``.
_EXTENDED = 15


def type_numbers(flags: U64) -> I64:
    """Return (n,) indices in TYPES, from perf_branch_entry.type and new_type."""
    old_type, new_type = flags >> np.uint64(20) & np.uint64(15), flags >> np.uint64(26) & np.uint64(15)
    return as_int64(np.where(old_type == _EXTENDED, _EXTENDED + new_type, old_type))


def speculations(flags: U64) -> I64:
    """Return (n,) indices in SPECULATIONS, from perf_branch_entry.spec."""
    return as_int64(flags >> np.uint64(24) & np.uint64(3))


def privileges(flags: U64) -> I64:
    """Return (n,) indices in PRIVILEGES, from perf_branch_entry.priv."""
    return as_int64(flags >> np.uint64(30) & np.uint64(7))


_FIELDS = ((TYPES, type_numbers), (SPECULATIONS, speculations), (PRIVILEGES, privileges))


def parse_branch_filter(text: str) -> tuple[str, ...]:
    """Parse ``call,ret,user`` to words in capitals. Raises SettingError for an unknown word."""
    words = tuple(word.upper() for word in text.split(",") if word)
    all_words = [word for table, _ in _FIELDS for word in table if word]
    for word in words:
        if word not in all_words:
            raise SettingError("", "branch_filter", f" {word.lower()}: there are {', '.join(all_words).lower()}")
    return words


def chosen_branches(flags: U64, words: Sequence[str]) -> Bools:
    """Return (n,) True for branches that a filter of these words selects.

    Words for the same property are alternatives; different properties must all match: ``call,ret,user`` selects the
    types CALL and RET in user mode, and not IND_CALL.
    """
    is_chosen = trues(len(flags))
    for table, indices_of in _FIELDS:
        chosen_indices = [index for index, word in enumerate(table) if word and word in words]
        if chosen_indices:
            is_chosen &= np.isin(indices_of(flags), chosen_indices)
    return is_chosen


def filter_branches(branches: Branches, words: Sequence[str]) -> Branches:
    """Keep the branches of each sample that `chosen_branches` selects."""
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
