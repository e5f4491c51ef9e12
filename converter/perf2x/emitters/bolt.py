"""BOLT's pre-aggregated profile: counted branches of one program, for ``perf2bolt -pa`` and ``llvm-bolt -pa``.

Source of truth: parseAggregatedLBREntry in bolt/lib/Profile/DataAggregator.cpp of LLVM, and the comment on
parsePreAggregated in its header. A line is one of::

    T <branch> <start> <end> <count>           a branch, and the code that ran from where it led to the next branch
    B <branch> <start> <count> <mispredicted>  a branch
    F <start> <end> <count>                    code that ran; f: entered from outside
    S <address> <count>                        samples

Addresses are hexadecimal, as the object states them; ``X:0`` lies outside. perf2bolt counts a recording by T itself; B
tells of mispredictions, which T has no room for.
"""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, flatnonzero, row_slices, sum_rows
from perf2x.model.format_features import CodeRequest, CodeSettings
from perf2x.model.plugin_options import Format, Needs, option
from perf2x.model.profile import COUNTS_CODE, EXTERNAL, NOT_RECORDED, BranchCounts, CodeCounts, View, counted

_LINES_PER_WRITE = 16_384
_OUTSIDE = "X:0"


class Bolt(Format):
    """BOLT's pre-aggregated profile of one program's branches, for perf2bolt -pa."""

    suffix = ".preagg"

    object: str = option("", "program or library: name, path or build id; default: the one with most samples", flag="")
    style: str = option(
        "traces", "lines: traces (T, what perf2bolt makes of a recording), branches (B, F and f, for LLVM without T)",
        ("traces", "branches"),
    )  # fmt: skip

    @property
    def needs(self) -> Needs:
        """Counts of code alone."""
        return Needs(features=(CodeSettings(CodeRequest(self.object, "kernel")),), honours=frozenset(), why=COUNTS_CODE)

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write lines in order of kind and address; of a recording without branches those of samples."""
        if profile.code is None:
            return
        lines = list(self._lines(profile.code))
        for rows in row_slices(len(lines), _LINES_PER_WRITE):
            out.write("".join(lines[rows]).encode())

    def notes(self, profile: View) -> tuple[str, ...]:
        """Name the object, and say what its lines count."""
        if profile.code is None:
            return ()
        return (f"of {profile.code.filename}: {counted(profile.code, ' for perf2bolt -pa -nl')}",)

    def _lines(self, code: CodeCounts) -> Iterator[str]:
        if not len(code.branches):
            yield from _rows("S", [code.samples.address], [code.samples.count])
        elif self.style == "traces":
            yield from _traces(code.branches)
        else:
            yield from _branches_and_ranges(code.branches)


def _traces(branches: BranchCounts) -> Iterator[str]:
    """Yield T where the next branch is known; B has the rest, and the mispredictions of all."""
    traced = _is_traced(branches)
    rows = flatnonzero(traced)
    yield from _rows("T", [branches.source[rows], branches.target[rows], branches.next[rows]], [branches.count[rows]])
    rest = np.where(traced, 0, branches.count)
    keys, sums = sum_rows([branches.source, branches.target], [rest, branches.mispredicted])
    said = flatnonzero((sums[0] > 0) | (sums[1] > 0))
    yield from _rows("B", [key[said] for key in keys], [value[said] for value in sums])


def _branches_and_ranges(branches: BranchCounts) -> Iterator[str]:
    """Yield B for all branches; F and f for the code between two of them."""
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
