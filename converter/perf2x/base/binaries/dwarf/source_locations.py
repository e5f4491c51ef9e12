"""Source locations of addresses as columns: functions, files and lines, innermost inlined function first."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar import I64, Bools, Frozen, as_int64, offsets_of, ranges

_CALL_OPERATOR = "operator()"


class DebugFunction(Frozen):
    """A function as debug info describes it."""

    symbol: str
    """The linkage name if debug info has one, else the plain name with its namespaces and classes; "" without a name.
    """
    path: str
    start_line: int = 0
    """The declared line, 0 if unknown."""
    inside: str = ""
    """Symbol of the function that contains the nameless call operator or the function's class; "" for others and if
    unknown.
    """


FunctionLine = tuple[DebugFunction, int]
"""A function, and a line in it, 0 if unknown."""


def is_nameless_call_operator(name: str) -> bool:
    """Return whether a name in debug info belongs to a call operator without a linkage name."""
    return name == _CALL_OPERATOR or name.startswith(f"{_CALL_OPERATOR}<")


class SourceLocations(Frozen):
    """Frames of ``n`` addresses: address i has rows ``offsets[i]`` to ``offsets[i + 1]``, innermost inlined first.

    An address that debug info does not cover has no rows.
    """

    offsets: I64
    """(n + 1,)"""
    function: I64
    """(rows,) index into ``functions``."""
    line: I64
    """(rows,) source line, 0 if unknown."""
    functions: Sequence[DebugFunction]

    @property
    def has_line(self) -> Bools:
        """(n,) True if any row of the address has a line."""
        known = offsets_of(self.line > 0)
        return known[self.offsets[1:]] > known[self.offsets[:-1]]

    def take(self, addresses: I64) -> "SourceLocations":
        """Return the locations of some addresses, given by index."""
        count = np.diff(self.offsets)[addresses]
        rows = ranges(self.offsets[addresses], count)
        return SourceLocations(offsets_of(count), self.function[rows], self.line[rows], self.functions)


def source_locations_of(chains: Sequence[Sequence[FunctionLine]]) -> SourceLocations:
    """Build the columns from one chain of (function, line) pairs per address; equal functions become one."""
    number: dict[DebugFunction, int] = {}
    rows = [(number.setdefault(function, len(number)), line) for chain in chains for function, line in chain]
    function, line = as_int64(rows).reshape(-1, 2).T.copy()
    count = as_int64([len(chain) for chain in chains])
    return SourceLocations(offsets_of(count), function, line, list(number))
