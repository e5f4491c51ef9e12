"""Names of code addresses before a profile contains them. A place is an address in an object."""

from collections.abc import Sequence

from perf2x.base.columnar import I64, Bools, Frozen

FunctionRow = tuple[str, str, str, int]
"""(displayed name, system name, file, start line)."""


class PlaceNames(Frozen):
    """Names of places: place i has the next ``count[i]`` rows, innermost inlined function first."""

    place: I64
    """(n,) distinct places, by number; places without names need no rows."""
    count: I64
    """(n,)"""
    is_exact: Bools
    """(n,) whether the name shows that an assumed return address is not one, because no call precedes it."""
    has_inlines: Bools
    """(n,) whether inlined functions would be known for the place."""
    function: I64
    """(rows,) index into ``functions``."""
    line: I64
    """(rows,) 0 if unknown."""
    functions: Sequence[FunctionRow] = ()
