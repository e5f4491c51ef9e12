"""BOLT's pre-aggregated profile: counted branches of one program, for ``perf2bolt -pa`` and ``llvm-bolt -pa``.

Source of truth: parseAggregatedLBREntry in bolt/lib/Profile/DataAggregator.cpp of LLVM, and the comment on
parsePreAggregated in its header. A line is one of::

    T <branch> <start> <end> <count>           a branch, and the code that ran from its target to the next branch
    B <branch> <start> <count> <mispredicted>  a branch
    F <start> <end> <count>                    code that ran; f: entered from outside
    S <address> <count>                        samples

Addresses are hexadecimal, as in the object file; ``X:0`` is outside the program. perf2bolt itself aggregates a
recording to T lines; mispredictions need B lines, because T has no field for them.
"""

from collections.abc import Iterator
from typing import Annotated, BinaryIO, Literal

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, flatnonzero, row_slices, sum_rows
from perf2x.model.format_features import CodeObject, CodeRequest, CodeSettings
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.profile import COUNTS_CODE, EXTERNAL, NOT_RECORDED, BranchCounts, CodeCounts, View, describe_counts
from perf2x.model.setting import Setting

_LINES_PER_WRITE = 16_384
_OUTSIDE = "X:0"


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
        """Only counts of code are needed."""
        return Needs(features=(CodeSettings(CodeRequest(self.object, "kernel")),), honours=frozenset(), why=COUNTS_CODE)

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
            yield from _rows("S", [code.samples.address], [code.samples.count])
        elif self.style == "traces":
            yield from _traces(code.branches)
        else:
            yield from _branches_and_ranges(code.branches)


def _traces(branches: BranchCounts) -> Iterator[str]:
    """Yield T lines where the next branch is known, B lines for the rest and for all mispredictions."""
    traced = _is_traced(branches)
    rows = flatnonzero(traced)
    yield from _rows("T", [branches.source[rows], branches.target[rows], branches.next[rows]], [branches.count[rows]])
    rest = np.where(traced, 0, branches.count)
    keys, sums = sum_rows([branches.source, branches.target], [rest, branches.mispredicted])
    counted = flatnonzero((sums[0] > 0) | (sums[1] > 0))
    yield from _rows("B", [key[counted] for key in keys], [value[counted] for value in sums])


def _branches_and_ranges(branches: BranchCounts) -> Iterator[str]:
    """Yield B lines for all branches, and F and f lines for the code between two branches."""
    yield from _rows("B", *sum_rows([branches.source, branches.target], [branches.count, branches.mispredicted]))
    traced, outside = _is_traced(branches), branches.source == EXTERNAL
    for kind, rows in (("F", flatnonzero(traced & ~outside)), ("f", flatnonzero(traced & outside))):
        yield from _rows(kind, *sum_rows([branches.target[rows], branches.next[rows]], [branches.count[rows]]))


def _is_traced(branches: BranchCounts) -> Bools:
    traced: Bools = (branches.next != NOT_RECORDED) & (branches.next != EXTERNAL) & (branches.target != EXTERNAL)
    return traced


def _rows(kind: str, addresses: list[U64], counts: list[I64]) -> Iterator[str]:
    texts = [[_OUTSIDE if at == EXTERNAL else f"{at:x}" for at in column.tolist()] for column in addresses]
    numbers = [map(str, column.tolist()) for column in counts]
    for fields in zip(*texts, *numbers, strict=True):
        yield f"{kind} {' '.join(fields)}\n"
