"""Looks up functions and source lines of addresses in the compilation units that contain the addresses.

``.debug_aranges`` has a table of address ranges per unit (DWARF 5, section 6.1.2). The root entries of units without a
table, such as clang's, state their ranges.
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
from perf2x.base.binaries.dwarf.dwarf_functions import (
    MAX_DEPTH,
    Entry,
    FunctionInstance,
    describe_function,
    function_chains,
)
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

# Maximum number of scopes in a function's name; those further out are left out.
MAX_NESTING = 16
_SCOPE_TAGS = frozenset((c.TAG_SUBPROGRAM, c.TAG_NAMESPACE)) | c.TYPE_TAGS
# The number of units whose line programs are decoded together.
_UNITS_PER_PASS = 64
# Returns the split unit of a skeleton unit; None if its file is missing.
FindSplitUnit = Callable[[Unit], Unit | None]


class AddressLookup:
    """Looks up addresses of one object in the units of its debug info."""

    def __init__(
        self,
        file: DebugFile,
        find_split_unit: FindSplitUnit,
        report_broken: Callable[[ObjectError], None],
    ) -> None:
        """``report_broken`` is called for each unit that cannot be read; the other units are still used."""
        self._file, self._find_split_unit, self.report_broken = file, find_split_unit, report_broken
        self._ranges = self._sorted_ranges()

    def find(self, address: U64) -> SourceLocations:
        """Return the functions and lines of the sorted addresses, shape (n,)."""
        result: list[Sequence[FunctionLine]] = [()] * len(address)
        tables, units = self.line_tables(), iter(self.by_unit(address))
        while batch := [*islice(units, _UNITS_PER_PASS)]:
            partial_tables = tables.partial_tables([(unit, address[rows]) for unit, rows in batch])
            for (unit, rows), table in zip(batch, partial_tables, strict=True):
                try:
                    frames_by_row = self._source_frames(unit, table or tables.whole_table(unit), address[rows])
                except ObjectError as error:
                    self.report_broken(error)
                    continue
                for row, frames in zip(rows.tolist(), frames_by_row, strict=True):
                    result[row] = frames
        return source_locations_of(result)

    def by_unit(self, address: U64) -> Iterator[tuple[Unit, I64]]:
        """Yield each unit that contains some of the sorted addresses, with the indexes of these addresses.

        Units that share a line table are adjacent.
        """
        starts, ends, unit_indexes = self._ranges
        range_row = searchsorted(starts, address, "right") - 1
        in_unit = flatnonzero(range_row >= 0)
        in_unit = in_unit[address[in_unit] < ends[range_row[in_unit]]]
        by_index = rows_by(unit_indexes[range_row[in_unit]])
        for unit_index, rows in sorted(by_index, key=lambda pair: self._line_table_offset(pair[0])):
            yield self._file.units[unit_index], in_unit[rows]

    def line_tables(self) -> LineTables:
        """Return a reader of line tables, for one pass over units."""
        return LineTables(self._file)

    def unit_with_entries(self, unit: Unit) -> Unit | None:
        """Return ``unit`` itself or, for a skeleton, its split unit; None if the split unit's file is missing.

        Raises ObjectError if the entries were read too often.
        """
        entry_unit = self._find_split_unit(unit) if unit.dwo_name else unit
        if entry_unit is not None:
            entry_unit.file.entry_budget.spend(entry_unit.end - entry_unit.start)
        return entry_unit

    def _source_frames(self, unit: Unit, table: LineTable, address: U64) -> list[list[FunctionLine]]:
        """Return the frames of each address, innermost first; ``address`` is sorted, and all of it is in ``unit``."""
        entry_unit = self.unit_with_entries(unit)
        file, line, _ = table.find(address)
        chains = function_chains(entry_unit, address.tolist()) if entry_unit is not None else [[] for _ in address]
        is_cxx = entry_unit is not None and entry_unit.root.get(c.AT_LANGUAGE, (0, 0))[1] in c.CXX_LANGUAGES
        origins = (
            function.origin for chain in chains for function in chain if is_cxx and not function.name.startswith("_Z")
        )
        enclosing = enclosing_names(origin for origin in origins if origin is not None)
        return [
            _inline_frames(table, chain, int(file_number), int(line_number), enclosing)
            for chain, file_number, line_number in zip(chains, file, line, strict=True)
        ]

    def _line_table_offset(self, unit_index: int) -> int:
        try:
            return self._file.units[unit_index].root.get(c.AT_STMT_LIST, (0, 0))[1]
        except ObjectError:
            return 0

    def _sorted_ranges(self) -> tuple[U64, U64, I64]:
        aranges = unit_ranges(self._file.sections)
        rows = []
        for unit_index, unit in enumerate(self._file.units):
            try:
                ranges = aranges[unit.start] if unit.start in aranges else unit.ranges(unit.root)
            except ObjectError as error:
                self.report_broken(error)
            else:
                # the linker moves discarded code to address 0 or 1
                rows += [(start, end, unit_index) for start, end in ranges if 1 < start < end < 2**64]
        rows.sort()
        start, end = (as_uint64([row[i] for row in rows]) for i in (0, 1))
        return start, end, as_int64([row[2] for row in rows])


def _inline_frames(
    table: LineTable, chain: list[FunctionInstance], file: int, line: int, enclosing: dict[Entry, tuple[str, str]]
) -> list[FunctionLine]:
    """Return the frames of one address, innermost first; ``chain`` has its functions, outermost first.

    ``file`` and ``line`` belong to the innermost function. The entry of an inlined function states the file and line of
    the call, which belong to its caller.
    """
    if not chain:
        return [(DebugFunction("", table.files.path(file)), line)] if line else []
    frames = []
    for function in reversed(chain):
        scope, outer_function = enclosing.get(function.origin, ("", "")) if function.origin else ("", "")
        name = f"{scope}::{function.name}" if scope else function.name
        frames.append((DebugFunction(name, table.files.path(file), function.decl_line, outer_function), line))
        file, line = function.call_file, function.call_line
    return frames


def unit_ranges(sections: DebugSections) -> dict[int, list[tuple[int, int]]]:
    """Read ``.debug_aranges``: {offset of a unit in ``.debug_info``: [(first address, one past the last)]}.

    Empty tables and those of an unsupported format are ignored; a table with an impossible length ends the walk. The
    section has a table per unit::

        unit_length | version 2 | debug_info_offset | address_size | segment_selector_size 0
        padding to a multiple of two addresses, counted from the start of the table
        (address, length) … (0, 0)
    """
    data, byte_order = sections.aranges, sections.file.byte_order
    found: dict[int, list[tuple[int, int]]] = {}
    table_offset = 0
    while table_offset + 12 <= len(data):
        length, header_offset, offset_size = initial_length(byte_order, data, table_offset)
        end = header_offset + length
        if end > len(data) or length < 12:
            break
        version, unit_offset, address_size = struct.unpack_from(
            f"{byte_order}H{'Q' if offset_size == 8 else 'I'}B", data, header_offset
        )
        # after unit_length, the header has offset_size + 4 bytes; padding to a multiple of pair_size follows
        pair_size, header_size = 2 * address_size, header_offset + offset_size + 4 - table_offset
        first_pair = table_offset + -(-header_size // (pair_size or 1)) * pair_size
        if version == 2 and address_size in (4, 8) and first_pair < end:
            count = (end - first_pair) // pair_size
            pairs = np.frombuffer(data, f"{byte_order}u{address_size}", 2 * count, first_pair).reshape(-1, 2)
            ranges = [(start, start + code_size) for start, code_size in pairs.tolist() if code_size]
            # a hostile file could choose huge offsets, which as dictionary keys all have the same hash
            if ranges and unit_offset < len(sections.info):
                found.setdefault(unit_offset, []).extend(ranges)
        table_offset = end
    return found


def enclosing_names(entries: Iterable[Entry]) -> dict[Entry, tuple[str, str]]:
    """Map the entry of each C++ function to (enclosing scope, enclosing function); "" where there is none.

    GCC gives functions with internal linkage only a plain name, but nests their declarations. A nameless call operator
    of a lambda does not count as the enclosing function.

    Examples: ``work`` of class ``a::B`` → ("a::B", ""); ``get`` of class ``Local`` inside function ``run`` → ("Local",
    "run"); ``operator()`` of a lambda inside ``run`` → ("", "run").

    Entries of units that cannot be read, or whose walk would exceed the file's budget, are left out.
    """
    offsets_by_unit: dict[Unit, set[int]] = {}
    for unit, offset in entries:
        offsets_by_unit.setdefault(unit, set()).add(offset)
    found: dict[Entry, tuple[str, str]] = {}
    for unit, offsets in offsets_by_unit.items():
        with contextlib.suppress(ObjectError, IndexError, ValueError):
            unit.file.nesting_budget.spend(unit.end - unit.start)
            for offset, parents in _parents_of(unit, sorted(offsets)).items():
                found[unit, offset] = _names_of_parents(unit, parents)
    return found


def _names_of_parents(unit: Unit, parents: Sequence[int]) -> tuple[str, str]:
    scope: list[str] = []
    is_local = False  # whether the scopes further out belong to the name of an enclosing function
    for parent in parents:
        abbreviation, entry = unit.entry(parent)
        if abbreviation is not None and abbreviation.tag == c.TAG_SUBPROGRAM:
            is_local, name = True, describe_function(unit, entry)[0]
            if name and not is_nameless_call_operator(name):
                return "::".join(reversed(scope)), name
        elif not is_local:
            is_namespace = abbreviation is not None and abbreviation.tag == c.TAG_NAMESPACE
            name = unit.string(entry, c.AT_NAME) or ("(anonymous namespace)" if is_namespace else "")
            if not scope and (not name or name.startswith("<lambda")):
                is_local = True  # the class of a lambda, or a nameless class
            else:
                scope.append(name)
    return "::".join(filter(None, reversed(scope))), ""


def _parents_of(unit: Unit, offsets: Sequence[int]) -> dict[int, list[int]]:
    """Map entries to the offsets of the namespaces, types and functions around them, innermost first.

    ``offsets`` are ascending. Offsets at which no entry begins are left out.
    """
    data, position, pending = unit.file.sections.info, unit.root_offset, list(reversed(offsets))
    parents: list[int] = []  # −1 for tags outside _SCOPE_TAGS
    found: dict[int, list[int]] = {}
    while pending and position < unit.end:
        while pending and pending[-1] <= position:
            if pending.pop() == position:
                found[position] = [parent for parent in reversed(parents) if parent >= 0][:MAX_NESTING]
        code, body = uleb128(data, position)
        if not code:  # the end of a list of children
            del parents[-1:]
            position = body if parents else unit.end
            continue
        abbreviation = unit.abbreviation(code)
        size, steps = abbreviation.size, abbreviation.steps
        entry_offset, position = position, body + size if size >= 0 else unit.encoding.skip(data, body, steps)
        if not abbreviation.has_children:
            position = position if parents else unit.end
            continue
        distance, sibling_size = abbreviation.sibling
        sibling = unit.start + unit.encoding.integer(data, position - distance, sibling_size) if sibling_size else 0
        if pending and position <= sibling <= pending[-1]:  # the next requested entry lies after all children
            position = sibling
            continue
        if len(parents) >= MAX_DEPTH:
            raise ObjectError(f"{unit.file.name}: debug info is nested too deeply")
        parents.append(entry_offset if abbreviation.tag in _SCOPE_TAGS else -1)
    return found
