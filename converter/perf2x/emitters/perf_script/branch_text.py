"""Branch stacks as ``perf script`` prints them: `` 0x4004f0/0x4004e0/P/-/-/12/COND/-`` and a blank.

Source of truth: tools/perf/builtin-script.c print_bstack_flags and perf_sample__fprintf_brstack, util/branch.c.
"""

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import group_rows
from perf2x.emitters.encoding.decimal_text import chunk_array
from perf2x.model.recording.branch_words import SPECULATIONS, TYPES, speculations, type_numbers
from perf2x.model.recording.events import Branches


def branch_column(branches: Branches) -> AnyArray:
    """(n,) the branches of each sample, newest first."""
    columns: list[AnyArray] = [branches.from_ip, branches.to_ip, branches.flags]
    first, kind = group_rows(columns)
    columns = [column[first] for column in columns]
    columns += [type_numbers(columns[2]), speculations(columns[2])]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    texts = chunk_array([f" {start:#x}/{end:#x}{_flag_text(*flags)} ".encode() for start, end, *flags in rows])[kind]
    return chunk_array([b"".join(row.tolist()) for row in Ragged(branches.offsets, texts).rows()])


def _flag_text(flags: int, kind: int, speculation: int) -> str:
    """``/P/-/-/12/COND/-`` of struct perf_branch_entry's bits (include/uapi/linux/perf_event.h)."""
    predicted = "P" if flags & 2 else "M" if flags & 1 else "-"
    not_taken = "N" if flags >> 33 & 1 else ""
    word = TYPES[kind] or "N/A" * (kind > 0)
    transaction, abort = "X" if flags & 4 else "-", "A" if flags & 8 else "-"
    said = SPECULATIONS[speculation] or "-"
    return f"/{predicted}{not_taken}/{transaction}/{abort}/{flags >> 4 & 0xFFFF}/{word}/{said}"
