"""Names of places in code, before a profile has them."""

from collections.abc import Sequence

from perf2x.base.columnar import I64, Bools, Frozen

FunctionRow = tuple[str, str, str, int]
"""(displayed name, system name, file, start line)."""


class PlaceNames(Frozen):
    """Names of places: place i has the next ``count[i]`` rows, innermost inlined function first."""

    place: I64
    """(n,) distinct places, by number; those without names need no rows."""
    count: I64
    """(n,)"""
    is_exact: Bools
    """(n,) the name tells that a place taken for a return address is none: nothing called what is in front of it."""
    has_inlines: Bools
    """(n,) whoever named the place would have told inlined functions."""
    function: I64
    """(rows,) index into ``functions``."""
    line: I64
    """(rows,) 0 where unknown."""
    functions: Sequence[FunctionRow] = ()
