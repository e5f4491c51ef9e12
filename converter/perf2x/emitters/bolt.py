"""BOLT's pre-aggregated profile: counted branches of one program, for ``perf2bolt -pa`` and ``llvm-bolt -pa``.

Source of truth: parseAggregatedLBREntry in bolt/lib/Profile/DataAggregator.cpp of LLVM, and the comment on
parsePreAggregated in its header. A line is one of::

    T <branch> <start> <end> <count>           a branch, and the code that ran from its target to the next branch
    B <branch> <start> <count> <mispredicted>  a branch
    F <start> <end> <count>                    code that ran; f: entered from outside
    S <address> <count>                        samples

Addresses are hexadecimal svma; ``X:0`` is any address outside the program. T lines have no field for mispredictions.
"""

from collections.abc import Iterator
from typing import Annotated, BinaryIO, Literal

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, flatnonzero, row_slices, sum_rows
from perf2x.model.format_features import CodeObject, CodeRequest, CodeSettings
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.profile import (
    COUNTS_NOT_STACKS,
    EXTERNAL,
    NOT_RECORDED,
    BranchCounts,
    CodeCounts,
    View,
    describe_counts,
)
from perf2x.model.setting import Setting

_LINES_PER_WRITE = 16_384
_OUTSIDE_PROGRAM = "X:0"


class Bolt(Format):
    """BOLT's pre-aggregated profile of one program's branches, for perf2bolt -pa."""

    suffix = ".preagg"

    object: CodeObject = ""
    style: Annotated[
        Literal["traces", "branches"],
        Setting("Lines: traces (T, what perf2bolt makes of a recording), branches (B, F and f, for LLVM without T)."),
    ] = "traces"

    @property
    def needs(self) -> Needs:
        """Only counts of the program's code are needed."""
        return Needs(
            features=(CodeSettings(CodeRequest(self.object, "kernel")),), honours=frozenset(), why=COUNTS_NOT_STACKS
        )

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write lines by kind and address; for a recording without branches, its samples."""
        if profile.code is None:
            return
        lines = list(self._lines(profile.code))
        for rows in row_slices(len(lines), _LINES_PER_WRITE):
            out.write("".join(lines[rows]).encode())

    def notes(self, profile: View) -> tuple[str, ...]:
        """Return the object's name and what the lines count."""
        if profile.code is None:
            return ()
        return (f"of {profile.code.filename}: {describe_counts(profile.code, ' for perf2bolt -pa -nl')}",)

    def _lines(self, code: CodeCounts) -> Iterator[str]:
        if not len(code.branches):
            yield from _text_lines("S", [code.samples.address], [code.samples.count])
        elif self.style == "traces":
            yield from _traces(code.branches)
        else:
            yield from _branches_and_ranges(code.branches)


def _traces(branches: BranchCounts) -> Iterator[str]:
    """Yield T lines for branches whose next branch is known, then B lines of all others and of mispredictions."""
    is_traced = _have_code_after(branches)
    rows = flatnonzero(is_traced)
    addresses = [branches.source[rows], branches.target[rows], branches.next[rows]]
    yield from _text_lines("T", addresses, [branches.count[rows]])
    untraced_count = np.where(is_traced, 0, branches.count)
    keys, sums = sum_rows([branches.source, branches.target], [untraced_count, branches.mispredicted])
    has_counts = flatnonzero((sums[0] > 0) | (sums[1] > 0))
    yield from _text_lines("B", [key[has_counts] for key in keys], [value[has_counts] for value in sums])


def _branches_and_ranges(branches: BranchCounts) -> Iterator[str]:
    yield from _text_lines("B", *sum_rows([branches.source, branches.target], [branches.count, branches.mispredicted]))
    has_code, is_from_outside = _have_code_after(branches), branches.source == EXTERNAL
    for kind, rows in (("F", flatnonzero(has_code & ~is_from_outside)), ("f", flatnonzero(has_code & is_from_outside))):
        yield from _text_lines(kind, *sum_rows([branches.target[rows], branches.next[rows]], [branches.count[rows]]))


def _have_code_after(branches: BranchCounts) -> Bools:
    """Return (branches,) whether the code from a branch's target to the next branch is known, and in the program."""
    is_known: Bools = (branches.next != NOT_RECORDED) & (branches.next != EXTERNAL) & (branches.target != EXTERNAL)
    return is_known


def _text_lines(kind: str, addresses: list[U64], counts: list[I64]) -> Iterator[str]:
    address_texts = [
        [_OUTSIDE_PROGRAM if address == EXTERNAL else f"{address:x}" for address in column.tolist()]
        for column in addresses
    ]
    count_texts = [map(str, column.tolist()) for column in counts]
    for fields in zip(*address_texts, *count_texts, strict=True):
        yield f"{kind} {' '.join(fields)}\n"
