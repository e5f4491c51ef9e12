"""Scopes around entries: GCC gives C++ functions that no other file can see no linkage name, only the plain one.

The declaration of such a function is nested in the entries of its namespaces and classes, and of a function if it is a
lambda or belongs to a local class. One walk over the unit finds them for all entries that are asked for.
"""

import contextlib
from collections.abc import Iterable, Sequence

from perf2x.base.errors import ObjectError
from perf2x.binaries.dwarf import dwarf_numbers as c
from perf2x.binaries.dwarf.attribute_forms import Abbreviation, uleb128
from perf2x.binaries.dwarf.compilation_units import Unit
from perf2x.binaries.dwarf.dwarf_functions import MAX_DEPTH, Entry, describe
from perf2x.binaries.dwarf.source_locations import is_nameless_call_operator

MAX_NESTING = 16
"""Scopes and functions around an entry that are told."""
_SCOPES = frozenset((c.TAG_SUBPROGRAM, c.TAG_NAMESPACE)) | c.TAG_TYPES


def scopes_around(entries: Iterable[Entry]) -> dict[Entry, tuple[str, str]]:
    """Map each entry to the scope that it stands in, and to the function around that, "" without one.

    The scope are namespaces and classes, as in ``std::vector<int>``; "" for a lambda's call operator. The function is
    the innermost one that is no nameless call operator. Entries of units whose walk would exceed the file's budget, or
    that cannot be read, are left out.
    """
    wanted: dict[Unit, set[int]] = {}
    for unit, offset in entries:
        wanted.setdefault(unit, set()).add(offset)
    found: dict[Entry, tuple[str, str]] = {}
    for unit, offsets in wanted.items():
        with contextlib.suppress(ObjectError, IndexError, ValueError):
            unit.file.nesting_budget.spend(unit.end - unit.start)
            for offset, around in _EntryWalk(unit, sorted(offsets)).found.items():
                found[unit, offset] = _scope(unit, around)
    return found


def _scope(unit: Unit, around: Sequence[int]) -> tuple[str, str]:
    """The scope and the function that entries make, innermost first."""
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
                is_local = True  # a lambda is called after its function alone
            else:
                scope.append(name)
    return "::".join(filter(None, reversed(scope))), ""


class _EntryWalk:
    """One walk over a unit's entries, past all that hold none of the sorted offsets."""

    def __init__(self, unit: Unit, offsets: Sequence[int]) -> None:
        self._unit, self._left = unit, list(reversed(offsets))
        self._parents: list[int] = []
        self.found: dict[int, list[int]] = {}
        at = unit.first
        while self._left and at < unit.end:
            at = self._entry(at)

    def _entry(self, at: int) -> int:
        """Read the entry at ``at``; returns where the next one to read begins, the unit's end if there is none."""
        unit, data = self._unit, self._unit.file.sections.info
        self._answer(at)
        code, body = uleb128(data, at)
        if not code:
            if self._parents:
                self._parents.pop()
            return body if self._parents else unit.end
        abbreviation = unit.abbreviation(code)
        after = (
            abbreviation.size + body if abbreviation.size >= 0 else unit.encoding.skip(data, body, abbreviation.steps)
        )
        if not abbreviation.has_children:
            return after if self._parents else unit.end
        sibling = self._sibling(abbreviation, after)
        if self._left and after <= sibling <= self._left[-1]:
            return sibling
        if len(self._parents) >= MAX_DEPTH:
            raise ObjectError(f"{unit.file.name}: debug info is nested too deeply")
        self._parents.append(at if abbreviation.tag in _SCOPES else -1)
        return after

    def _answer(self, at: int) -> None:
        """Note what is around the entry at ``at`` if it is the next one; forget offsets where no entry begins."""
        while self._left and self._left[-1] <= at:
            if self._left.pop() == at:
                around = [parent for parent in reversed(self._parents) if parent >= 0]
                self.found[at] = around[:MAX_NESTING]

    def _sibling(self, abbreviation: Abbreviation, after: int) -> int:
        """Where the next entry at the same depth begins, 0 if the entry does not say."""
        back, size = abbreviation.sibling
        return (
            self._unit.start + self._unit.encoding.integer(self._unit.file.sections.info, after - back, size)
            if size
            else 0
        )
