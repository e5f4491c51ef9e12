"""Names of code addresses that are known from elsewhere, such as a dataset.

A place is an object and an address in it.
"""

from collections.abc import Sequence

from perf2x.base.columnar import I64, Bools, Frozen

# (displayed name, system name, file, start line)
FunctionRow = tuple[str, str, str, int]


class PlaceNames(Frozen):
    """The functions and lines of ``n`` places, in two tables: a row per place, and a row per function at a place.

    Row i of the first table has ``count[i]`` rows in the second one, which follow those of row i − 1, innermost inlined
    function first.
    """

    place: I64
    """(n,) distinct place numbers; places without names may be missing."""
    count: I64
    """(n,) number of functions at the place."""
    is_exact: Bools
    """(n,) True for addresses that are looked up unchanged: recorded return addresses that follow no call."""
    has_inlines: Bools
    """(n,) True if the source of the names reports inlined functions, too."""
    function: I64
    """(rows,) index into ``functions``."""
    line: I64
    """(rows,) line number, 0 if unknown."""
    functions: Sequence[FunctionRow] = ()
