"""Branch stacks as ``perf script`` prints them: `` 0x4004f0/0x4004e0/P/-/-/12/COND/-`` and a blank.

Source of truth: tools/perf/builtin-script.c print_bstack_flags and perf_sample__fprintf_brstack, util/branch.c.
"""

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import group_rows
from perf2x.emitters.encoding.decimal_text import chunk_array
from perf2x.model.recording.events import Branches

_TYPES = ("", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL", "COND_RET", "ERET",
          "IRQ", "SERROR", "NO_TX")  # fmt: skip
_NEW_TYPES = ("FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5")
_EXTENDED = 15
_SPECULATIONS = ("-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH")


def branch_column(branches: Branches) -> AnyArray:
    """(n,) the branches of each sample, newest first."""
    columns = [branches.from_ip, branches.to_ip, branches.flags]
    first, kind = group_rows(columns)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    texts = chunk_array([f" {start:#x}/{end:#x}{flag_text(flags)} ".encode() for start, end, flags in rows])[kind]
    return chunk_array([b"".join(row.tolist()) for row in Ragged(branches.offsets, texts).rows()])


def flag_text(flags: int) -> str:
    """``/P/-/-/12/COND/-`` of struct perf_branch_entry's bits (include/uapi/linux/perf_event.h)."""
    predicted = "P" if flags & 2 else "M" if flags & 1 else "-"
    not_taken = "N" if flags >> 33 & 1 else ""
    kind, new = flags >> 20 & 0xF, flags >> 26 & 0xF
    names, number = (_NEW_TYPES, new) if kind == _EXTENDED else (_TYPES, kind)
    word = names[number] if number < len(names) else "N/A"
    transaction, abort = "X" if flags & 4 else "-", "A" if flags & 8 else "-"
    speculation = _SPECULATIONS[flags >> 24 & 3]
    return f"/{predicted}{not_taken}/{transaction}/{abort}/{flags >> 4 & 0xFFFF}/{word}/{speculation}"
