"""Names of code addresses on their way from where they are known, such as a dataset, into a profile.

A place is an address in an object. Places are numbered by whoever exchanges their names.
"""

from collections.abc import Sequence

from perf2x.base.columnar import I64, Bools, Frozen

# (displayed name, system name, file, start line), as in ``Functions``.
FunctionRow = tuple[str, str, str, int]


class PlaceNames(Frozen):
    """The functions and lines of ``n`` places, in two tables: a row per place, and a row per function at a place.

    Place i has ``count[i]`` rows in the second table, after those of the places before it, innermost inlined function
    first.
    """

    place: I64
    """(n,) distinct numbers of places; places without names may be missing."""
    count: I64
    """(n,) number of functions at the place."""
    is_exact: Bools
    """(n,) True if the place was recorded as a return address, but no call precedes it, so it is an instruction's."""
    has_inlines: Bools
    """(n,) whether the source of the names reports inlined functions, too."""
    function: I64
    """(rows,) index into ``functions``."""
    line: I64
    """(rows,) line number, 0 if unknown."""
    functions: Sequence[FunctionRow] = ()  # distinct
