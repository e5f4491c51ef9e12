"""Functions, inlined functions and discriminators at addresses, numbered as compilers expect them in profiles.

A discriminator distinguishes pieces of code on the same line (DWARF 5, 6.2.2).
"""

import posixpath
from collections.abc import Iterator

import numpy as np

from perf2x.base.binaries.dwarf.address_lookup import UnitLines
from perf2x.base.binaries.dwarf.compilation_units import Unit
from perf2x.base.binaries.dwarf.dwarf_functions import Entry, Scope, Subprogram, inlined_bounds, scopes, subprograms
from perf2x.base.binaries.dwarf.line_table import NO_FILES, FileNames, LineTable
from perf2x.base.binaries.dwarf.range_lists import Ranges
from perf2x.base.columnar import I64, U64, Frozen, as_uint64, searchsorted, unique
from perf2x.errors import ObjectError

_LINE_BITS = 0xFFFF


class CodeFrame(Frozen):
    """A function at an address."""

    name: str
    """The linkage name, if there is one."""
    line: int
    """Relative to the line of the function's declaration, modulo 2¹⁶."""
    discriminator: int
    """As recorded in debug info."""
    file: str
    """Last part of the path of the file that declares the function, "" if unknown."""


class CodeLines:
    """Looks up code of one object; units that cannot be read are reported through ``lines`` and left out."""

    def __init__(self, lines: UnitLines) -> None:
        self._lines, self._tables = lines, lines.tables()
        self._files: dict[int, FileNames] = {}

    def functions(self, address: U64) -> list[Subprogram]:
        """Return all functions in the units that contain the sorted addresses.

        Functions with the same name are merged.
        """
        ranges: dict[str, Ranges] = {}
        for _, entries, _ in self._opened(address):
            for function in subprograms(entries) if entries is not None else ():
                ranges.setdefault(function.name, []).extend(function.ranges)
        return [Subprogram(name, sorted(set(places))) for name, places in ranges.items()]

    def pieces(self, code: Ranges) -> U64:
        """Return the sorted addresses where the line, discriminator or inlined function may change within ``code``."""
        found = [as_uint64([low for low, _ in code])]
        low, high = (as_uint64([pair[side] for pair in sorted(code)]) for side in (0, 1))
        for table, entries, rows in self._opened(low):
            bounds = as_uint64(inlined_bounds(entries) if entries is not None else [])
            for places in (table.rows.address, np.sort(bounds)):
                first, last = searchsorted(places, low[rows]), searchsorted(places, high[rows])
                found += [places[begin:end] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]
        return unique(np.concatenate(found))

    def frames(self, address: U64) -> list[tuple[CodeFrame, ...]]:
        """Return the functions at each of the sorted addresses, outermost first; () where nothing is known."""
        result: list[tuple[CodeFrame, ...]] = [()] * len(address)
        for table, entries, rows in self._opened(address):
            if entries is not None:
                _, line, discriminator = table.find(address[rows])
                chains = scopes(entries, address[rows].tolist())
                for row, chain, at, mark in zip(
                    rows.tolist(), chains, line.tolist(), discriminator.tolist(), strict=True
                ):
                    result[row] = self._frames(chain, at, mark)
        return result

    def _file(self, declared: Entry | None) -> str:
        """Return the last part of a file's path."""
        if declared is None:
            return ""
        unit, number = declared
        try:
            if unit.start not in self._files:
                self._files[unit.start] = self._tables.files(unit)
            return posixpath.basename(self._files[unit.start].name(number))
        except ObjectError as error:
            self._files[unit.start] = NO_FILES
            self._lines.broken(error)
            return ""

    def _opened(self, address: U64) -> Iterator[tuple[LineTable, Unit | None, I64]]:
        tables = self._lines.tables()
        for unit, rows in self._lines.by_unit(address):
            try:
                table, entries = tables.of(unit), self._lines.entries(unit)
            except ObjectError as error:
                self._lines.broken(error)
            else:
                yield table, entries, rows

    def _frames(self, chain: list[Scope], line: int, discriminator: int) -> tuple[CodeFrame, ...]:
        """Return frames, outermost first.

        The line table gives the innermost line; an inlined function gives its caller's.
        """
        found = []
        for scope in reversed(chain):
            below = (line - scope.decl_line) & _LINE_BITS
            found.append(CodeFrame(scope.name, below, discriminator, self._file(scope.decl_file)))
            line, discriminator = scope.call_line, scope.call_discriminator
        return tuple(reversed(found))
