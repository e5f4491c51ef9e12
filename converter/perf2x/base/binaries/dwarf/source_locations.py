"""Source locations of addresses as columns: functions, files and lines, innermost inlined function first."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar import I64, Bools, Frozen, as_int64, offsets_of, ranges

_CALL_OPERATOR = "operator()"


class DebugFunction(Frozen):
    """A function as debug info describes it."""

    symbol: str
    """The linkage name if debug info has one, else the plain name with its namespaces and classes; "" if it has none"""
    path: str
    """Source file of the frame's line; "" if unknown."""
    start_line: int = 0
    """Line of the declaration; 0 if unknown."""
    outer_function: str = ""
    """The symbol of the function in which a lambda, or a member of a local class, is defined; "" if unknown."""


# The line is 0 if unknown.
FunctionLine = tuple[DebugFunction, int]


def is_nameless_call_operator(name: str) -> bool:
    """Return whether ``name``, a `DebugFunction.symbol`, is a call operator without a linkage name, such as a
    lambda's.
    """
    return name == _CALL_OPERATOR or name.startswith(f"{_CALL_OPERATOR}<")


class SourceLocations(Frozen):
    """The frames of ``n`` addresses, as a table with a row for each frame.

    The rows of address i are ``offsets[i]`` up to, excluding, ``offsets[i + 1]``, innermost frame first.
    """

    offsets: I64
    """(n + 1,)"""
    function: I64
    """(rows,) index into ``functions``."""
    line: I64
    """(rows,) source line; 0 if unknown."""
    functions: Sequence[DebugFunction]

    @property
    def has_line(self) -> Bools:
        """(n,) True if any row of the address has a line."""
        lines_before = offsets_of(self.line > 0)  # (rows + 1,)
        return lines_before[self.offsets[1:]] > lines_before[self.offsets[:-1]]

    def take(self, indexes: I64) -> "SourceLocations":
        """Return the frames of some of the addresses, in the order of ``indexes``."""
        count = np.diff(self.offsets)[indexes]
        rows = ranges(self.offsets[indexes], count)
        return SourceLocations(offsets_of(count), self.function[rows], self.line[rows], self.functions)


def source_locations_of(chains: Sequence[Sequence[FunctionLine]]) -> SourceLocations:
    """Build the columns from the frames of each address, innermost frame first; equal functions become one."""
    indexes: dict[DebugFunction, int] = {}
    rows = [(indexes.setdefault(function, len(indexes)), line) for chain in chains for function, line in chain]
    function, line = as_int64(rows).reshape(-1, 2).T.copy()
    count = as_int64([len(chain) for chain in chains])
    return SourceLocations(offsets_of(count), function, line, list(indexes))
