"""Source lines and inlined functions of an object's addresses, from the units that contain them.

``.debug_aranges`` has one table of address ranges per unit (DWARF 5, section 6.1.2), so the units that contain an
address are found without reading them.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.attribute_forms import initial_length
from perf2x.base.binaries.dwarf.compilation_units import DebugFile, Unit
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.dwarf.dwarf_functions import Entry, Scope, scopes
from perf2x.base.binaries.dwarf.enclosing_entries import scopes_around
from perf2x.base.binaries.dwarf.line_table import LineTable, LineTables
from perf2x.base.binaries.dwarf.source_locations import (
    DebugFunction,
    FunctionLine,
    SourceLocations,
    source_locations_of,
)
from perf2x.base.columnar import I64, U64, as_int64, as_uint64, flatnonzero, rows_by, searchsorted
from perf2x.errors import ObjectError

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
        tables, held = self.tables(), iter(self.held(address))
        while some := [*islice(held, _TOGETHER)]:
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

    def held(self, address: U64) -> Iterator[tuple[Unit, I64]]:
        """Yield units with the rows of the sorted addresses in each; units that share a line table are adjacent."""
        starts, ends, units = self._ranges
        row = searchsorted(starts, address, "right") - 1
        held = flatnonzero(row >= 0)
        held = held[address[held] < ends[row[held]]]
        for number, rows in sorted(rows_by(units[row[held]]), key=lambda pair: self._table_at(pair[0])):
            yield self._file.units[number], held[rows]

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
