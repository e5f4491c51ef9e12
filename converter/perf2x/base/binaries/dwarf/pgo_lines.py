"""Functions, inlined functions, lines and discriminators at addresses, for profile-guided optimization (PGO).

Such profiles count lines from the function's declaration, and stay valid when code above the function changes. A
discriminator distinguishes pieces of code on the same line (DWARF 5, 6.2.2).
"""

import posixpath
from collections.abc import Iterator

import numpy as np

from perf2x.base.binaries.dwarf.address_lookup import AddressLookup
from perf2x.base.binaries.dwarf.compilation_units import Unit
from perf2x.base.binaries.dwarf.dwarf_functions import (
    FileOfUnit,
    FunctionInstance,
    Subprogram,
    function_chains,
    inlined_bounds,
    subprograms,
)
from perf2x.base.binaries.dwarf.line_table import NO_FILES, FileNames, LineTable
from perf2x.base.binaries.dwarf.range_lists import Ranges
from perf2x.base.columnar import I64, U64, Frozen, as_uint64, searchsorted, unique
from perf2x.errors import ObjectError

# Lines, counted from the declaration, have 16 bits, as in LLVM's FunctionSamples::getOffset.
_LINE_MASK = 0xFFFF


class CodeFrame(Frozen):
    """A function at an address: the function that was compiled there, or a function inlined into it."""

    name: str
    """The linkage name; the plain name if there is none."""
    line: int
    """The line of the address or, in a caller of an inlined function, the line of the call.

    It is counted from the declaration, modulo 2¹⁶.
    """
    discriminator: int
    """The discriminator of the code on that line."""
    file: str
    """Last part of the path of the file that declares the function, "" if unknown."""


class PgoLines:
    """Looks up addresses of one object; ``lookup`` reports units that cannot be read."""

    def __init__(self, lookup: AddressLookup) -> None:
        self._lookup, self._tables = lookup, lookup.line_tables()
        self._files: dict[Unit, FileNames] = {}

    def functions(self, address: U64) -> list[Subprogram]:
        """Return all functions with code in the units that contain the sorted addresses, shape (n,).

        Functions with the same name become one, with the ranges of all of them.
        """
        ranges: dict[str, Ranges] = {}
        for _, entry_unit, _ in self._units_at(address):
            for function in subprograms(entry_unit) if entry_unit is not None else ():
                ranges.setdefault(function.name, []).extend(function.ranges)
        return [Subprogram(name, sorted(set(pairs))) for name, pairs in ranges.items()]

    def pieces(self, code: Ranges) -> U64:
        """Divide code into pieces whose addresses have the same frames; return their sorted starts, shape (pieces,)."""
        starts = [as_uint64([low for low, _ in code])]
        low, high = (as_uint64([pair[side] for pair in sorted(code)]) for side in (0, 1))
        for table, entry_unit, rows in self._units_at(low):
            bounds = as_uint64(inlined_bounds(entry_unit) if entry_unit is not None else [])
            for changes in (table.rows.address, np.sort(bounds)):
                first, last = searchsorted(changes, low[rows]), searchsorted(changes, high[rows])
                starts += [changes[begin:end] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]
        return unique(np.concatenate(starts))

    def frames(self, address: U64) -> list[tuple[CodeFrame, ...]]:
        """Return the functions at each of the sorted addresses (n,), outermost first; () where none is known."""
        result: list[tuple[CodeFrame, ...]] = [()] * len(address)
        for table, entry_unit, rows in self._units_at(address):
            if entry_unit is not None:
                _, lines, discriminators = table.find(address[rows])
                chains = function_chains(entry_unit, address[rows].tolist())
                for row, chain, line, discriminator in zip(
                    rows.tolist(), chains, lines.tolist(), discriminators.tolist(), strict=True
                ):
                    result[row] = self._frames(chain, line, discriminator)
        return result

    def _file(self, decl_file: FileOfUnit | None) -> str:
        if decl_file is None:
            return ""
        unit, file_number = decl_file
        try:
            if unit not in self._files:
                self._files[unit] = self._tables.files(unit)
            return posixpath.basename(self._files[unit].name(file_number))
        except ObjectError as error:
            self._files[unit] = NO_FILES
            self._lookup.report_broken(error)
            return ""

    def _units_at(self, address: U64) -> Iterator[tuple[LineTable, Unit | None, I64]]:
        """Yield (line table, unit with the entries, indexes in ``address``) for each unit that contains an address.

        ``address`` is sorted. The unit with the entries is None if its split file is missing.
        """
        tables = self._lookup.line_tables()
        for unit, rows in self._lookup.by_unit(address):
            try:
                table, entry_unit = tables.whole_table(unit), self._lookup.unit_with_entries(unit)
            except ObjectError as error:
                self._lookup.report_broken(error)
            else:
                yield table, entry_unit, rows

    def _frames(self, chain: list[FunctionInstance], line: int, discriminator: int) -> tuple[CodeFrame, ...]:
        """Return the frames of one address, outermost first.

        ``line`` and ``discriminator`` belong to the innermost function. The entry of an inlined function states
        those of the call, which belong to its caller.
        """
        innermost_first = []
        for function in reversed(chain):
            relative_line = (line - function.decl_line) & _LINE_MASK
            file = self._file(function.decl_file)
            innermost_first.append(CodeFrame(function.name, relative_line, discriminator, file))
            line, discriminator = function.call_line, function.call_discriminator
        return tuple(reversed(innermost_first))
