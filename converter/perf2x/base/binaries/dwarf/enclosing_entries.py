"""Scopes around entries: GCC gives C++ functions with internal linkage only a plain name, no linkage name.

The declaration of such a function is nested in the entries of its namespaces and classes, and of a function if it is a
lambda or belongs to a local class. One walk over a unit finds the scopes of all requested entries in it.
"""

import contextlib
from collections.abc import Iterable, Sequence

from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.attribute_forms import uleb128
from perf2x.base.binaries.dwarf.compilation_units import Unit
from perf2x.base.binaries.dwarf.dwarf_functions import MAX_DEPTH, Entry, describe
from perf2x.base.binaries.dwarf.source_locations import is_nameless_call_operator
from perf2x.errors import ObjectError

MAX_NESTING = 16
"""Maximum number of scopes and functions around an entry."""
_SCOPES = frozenset((c.TAG_SUBPROGRAM, c.TAG_NAMESPACE)) | c.TAG_TYPES


def scopes_around(entries: Iterable[Entry]) -> dict[Entry, tuple[str, str]]:
    """Map each entry to its scope and to the function around that, "" without one.

    The scope consists of namespaces and classes, as in ``std::vector<int>``; it is "" for a lambda's call operator. The
    function is the innermost one that is not a nameless call operator. Entries of units that cannot be read, or whose
    walk would exceed the file's budget, are left out.
    """
    wanted: dict[Unit, set[int]] = {}
    for unit, offset in entries:
        wanted.setdefault(unit, set()).add(offset)
    found: dict[Entry, tuple[str, str]] = {}
    for unit, offsets in wanted.items():
        with contextlib.suppress(ObjectError, IndexError, ValueError):
            unit.file.nesting_budget.spend(unit.end - unit.start)
            for offset, around in _parents_of(unit, sorted(offsets)).items():
                found[unit, offset] = _scope(unit, around)
    return found


def _scope(unit: Unit, around: Sequence[int]) -> tuple[str, str]:
    """Return the scope and the function that the entries around one, innermost first, make up."""
    scope: list[str] = []
    is_local = False
    for parent in around:
        abbreviation, entry = unit.entry(parent)
        if abbreviation is not None and abbreviation.tag == c.TAG_SUBPROGRAM:
            is_local, name = True, describe(unit, entry)[0]
            if name and not is_nameless_call_operator(name):
                return "::".join(reversed(scope)), name
        elif not is_local:
            is_space = abbreviation is not None and abbreviation.tag == c.TAG_NAMESPACE
            name = unit.text(entry, c.AT_NAME) or ("(anonymous namespace)" if is_space else "")
            if not scope and (not name or name.startswith("<lambda")):
                is_local = True  # a lambda is named after its function alone
            else:
                scope.append(name)
    return "::".join(filter(None, reversed(scope))), ""


def _parents_of(unit: Unit, offsets: Sequence[int]) -> dict[int, list[int]]:
    """Return the scopes around entries, innermost first, in one walk over a unit.

    ``offsets`` are ascending; the walk skips everything between two of them that contains neither.
    """
    data, at, left = unit.file.sections.info, unit.first, list(reversed(offsets))
    parents: list[int] = []  # offsets, -1 for entries that are not scopes
    found: dict[int, list[int]] = {}
    while left and at < unit.end:
        while left and left[-1] <= at:
            if left.pop() == at:
                found[at] = [parent for parent in reversed(parents) if parent >= 0][:MAX_NESTING]
        code, body = uleb128(data, at)
        if not code:
            del parents[-1:]
            at = body if parents else unit.end
            continue
        abbreviation = unit.abbreviation(code)
        size, steps = abbreviation.size, abbreviation.steps
        at, begin = body + size if size >= 0 else unit.encoding.skip(data, body, steps), at
        if not abbreviation.has_children:
            at = at if parents else unit.end
            continue
        back, size = abbreviation.sibling
        sibling = unit.start + unit.encoding.integer(data, at - back, size) if size else 0
        if left and at <= sibling <= left[-1]:
            at = sibling
            continue
        if len(parents) >= MAX_DEPTH:
            raise ObjectError(f"{unit.file.name}: debug info is nested too deeply")
        parents.append(begin if abbreviation.tag in _SCOPES else -1)
    return found
