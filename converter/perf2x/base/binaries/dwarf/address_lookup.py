"""Source lines and inlined functions of an object's addresses, from the units that contain them.

``.debug_aranges`` has one table of address ranges per unit (DWARF 5, section 6.1.2), so the units that contain an
address are found without reading them.
"""

import contextlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.attribute_forms import initial_length, uleb128
from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.dwarf.dwarf_functions import MAX_DEPTH, Entry, Scope, describe, scopes
from perf2x.base.binaries.dwarf.line_table import LineTable, LineTables
from perf2x.base.binaries.dwarf.source_locations import (
    DebugFunction,
    FunctionLine,
    SourceLocations,
    is_nameless_call_operator,
    source_locations_of,
)
from perf2x.base.columnar import I64, U64, as_int64, as_uint64, flatnonzero, rows_by, searchsorted
from perf2x.errors import ObjectError

MAX_NESTING = 16
"""Maximum number of scopes and functions around an entry."""
_SCOPES = frozenset((c.TAG_SUBPROGRAM, c.TAG_NAMESPACE)) | c.TAG_TYPES
_TOGETHER = 64
"""The number of units whose line tables are read together."""
FindSplitUnit = Callable[[Unit], Unit | None]
"""Maps a skeleton unit to the split unit with its entries; returns None when its file is missing."""


class UnitLines:
    """Resolves batches of addresses in the units that contain them."""

    def __init__(
        self,
        file: DebugFile,
        split: FindSplitUnit,
        broken: Callable[[ObjectError], None],
    ) -> None:
        """``broken`` is called for each unreadable unit; the others are still used."""
        self._file, self._split, self.broken = file, split, broken
        self._ranges = self._index()

    def find(self, address: U64) -> SourceLocations:
        """Return the functions and lines of the sorted addresses."""
        result: list[Sequence[FunctionLine]] = [()] * len(address)
        tables, units = self.tables(), iter(self.by_unit(address))
        while some := [*islice(units, _TOGETHER)]:
            known = tables.at([(unit, address[rows]) for unit, rows in some])
            for (unit, rows), table in zip(some, known, strict=True):
                try:
                    found = self._source_frames(unit, table or tables.of(unit), address[rows])
                except ObjectError as error:
                    self.broken(error)
                    continue
                for index, frames in zip(rows.tolist(), found, strict=True):
                    result[index] = frames
        return source_locations_of(result)

    def by_unit(self, address: U64) -> Iterator[tuple[Unit, I64]]:
        """Yield units with the rows of the sorted addresses in each; units that share a line table are adjacent."""
        starts, ends, units = self._ranges
        row = searchsorted(starts, address, "right") - 1
        kept = flatnonzero(row >= 0)
        kept = kept[address[kept] < ends[row[kept]]]
        for number, rows in sorted(rows_by(units[row[kept]]), key=lambda pair: self._table_at(pair[0])):
            yield self._file.units[number], kept[rows]

    def tables(self) -> LineTables:
        """Return a reader of line tables, for one pass over units."""
        return LineTables(self._file)

    def entries(self, unit: Unit) -> Unit | None:
        """Return the unit that has the entries of ``unit``: itself, or its split unit.

        Returns None when its file is missing.
        """
        entries = self._split(unit) if unit.dwo_name else unit
        if entries is not None:
            entries.file.entry_budget.spend(entries.end - entries.start)
        return entries

    def _source_frames(self, unit: Unit, table: LineTable, address: U64) -> list[list[FunctionLine]]:
        """Return the frames of addresses in one unit."""
        entries = self.entries(unit)
        file, line, _ = table.find(address)
        chains = scopes(entries, address.tolist()) if entries is not None else [[] for _ in address]
        is_cxx = entries is not None and entries.root.get(c.AT_LANGUAGE, (0, 0))[1] in c.LANGUAGES_CXX
        bare = (scope.origin for chain in chains for scope in chain if is_cxx and not scope.name.startswith("_Z"))
        around = scopes_around(origin for origin in bare if origin is not None)
        return [
            _inline_chain(table, chain, int(number), int(at), around)
            for chain, number, at in zip(chains, file, line, strict=True)
        ]

    def _table_at(self, number: int) -> int:
        """Return the offset of a unit's line table, the sort key that makes units with a common table adjacent."""
        try:
            return self._file.units[number].root.get(c.AT_STMT_LIST, (0, 0))[1]
        except ObjectError:
            return 0

    def _index(self) -> tuple[U64, U64, I64]:
        """Return (start, end, unit) of all ranges, sorted by start; ``.debug_aranges`` lists those of most units."""
        listed = unit_ranges(self._file.sections)
        rows = []
        for number, unit in enumerate(self._file.units):
            try:
                ranges = listed[unit.start] if unit.start in listed else unit.ranges(unit.root)
            except ObjectError as error:
                self.broken(error)
            else:
                rows += [(start, end, number) for start, end in ranges if 1 < start < end < 2**64]
        rows.sort()
        start, end = (as_uint64([row[i] for row in rows]) for i in (0, 1))
        return start, end, as_int64([row[2] for row in rows])


def _inline_chain(
    table: LineTable, scopes: list[Scope], file: int, line: int, around: dict[Entry, tuple[str, str]]
) -> list[FunctionLine]:
    """Return frames, innermost first.

    The line table gives the innermost line; an inlined function gives its caller's.
    """
    if not scopes:
        return [(DebugFunction("", table.files.path(file)), line)] if line else []
    frames = []
    for scope in reversed(scopes):
        space, inside = around.get(scope.origin, ("", "")) if scope.origin else ("", "")
        name = f"{space}::{scope.name}" if space else scope.name
        frames.append((DebugFunction(name, table.files.path(file), scope.decl_line, inside), line))
        file, line = scope.call_file, scope.call_line
    return frames


def unit_ranges(sections: DebugSections) -> dict[int, list[tuple[int, int]]]:
    """Return {offset of a unit: [(first address, one past the last)]}, ignoring damaged and empty tables.

    ::

        length, version 2, unit, address size, 0 | aligned to two addresses: (address, length) …, (0, 0)
    """
    data, order = sections.aranges, sections.file.byte_order
    found: dict[int, list[tuple[int, int]]] = {}
    at = 0
    while at + 12 <= len(data):
        length, header, width = initial_length(order, data, at)
        end = header + length
        if end > len(data) or length < 12:
            break
        version, unit, size = struct.unpack_from(f"{order}H{'Q' if width == 8 else 'I'}B", data, header)
        first = at + -(-(header + width + 4 - at) // (2 * size or 1)) * (2 * size)
        if version == 2 and size in (4, 8) and first < end:
            count = (end - first) // size
            pairs = np.frombuffer(data, f"{order}u{size}", count // 2 * 2, first).reshape(-1, 2)
            ranges = [(start, start + length) for start, length in pairs.tolist() if length]
            if ranges and unit < len(sections.info):  # larger offsets could be chosen to collide as dictionary keys
                found.setdefault(unit, []).extend(ranges)
        at = end
    return found


def scopes_around(entries: Iterable[Entry]) -> dict[Entry, tuple[str, str]]:
    """Map each entry to its scope and to the function around that, "" without one.

    GCC gives C++ functions with internal linkage only a plain name, no linkage name. The declaration of such a function
    is nested in the entries of its namespaces and classes, and of a function if it is a lambda or belongs to a local
    class. One walk over a unit finds the scopes of all requested entries in it.

    The scope consists of namespaces and classes, as in ``std::vector<int>``; it is "" for a lambda's call operator. The
    function is the innermost one that is not a nameless call operator. Entries of units that cannot be read, or whose
    walk would exceed the file's budget, are left out.
    """
    die_offsets: dict[Unit, set[int]] = {}
    for unit, offset in entries:
        die_offsets.setdefault(unit, set()).add(offset)
    found: dict[Entry, tuple[str, str]] = {}
    for unit, offsets in die_offsets.items():
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
