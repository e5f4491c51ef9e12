"""Function names from the symbol tables of ELF files, and from the linkage tables that have no symbols of their own."""

from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate

import numpy as np

from perf2x.binary.elf.file import ElfObject
from perf2x.binary.elf.plt import LinkageTable
from perf2x.binary.elf.symtab import STB_GLOBAL, STT_FUNC, SymbolRows, function_symbols
from perf2x.columnar.arrays import I64, U64
from perf2x.debugfiles.object_files import ObjectFiles
from perf2x.symbolize.demangle.names import Demangle, demangle
from perf2x.symbolize.symbol_index import SymbolColumns, SymbolIndex
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.errors import ObjectError


class _SymbolTables:
    """Several symbol tables and synthesized entries as one, in perf's order of insertion.

    Knows no index: an index knows its names, and what refers to each other in a circle is not freed with the object.
    """

    def __init__(self, parts: list[SymbolRows], linkage: LinkageTable | None = None) -> None:
        ends = list(accumulate(map(len, parts), initial=0))
        self._spans = list(zip(ends[:-1], ends[1:], parts, strict=True))
        self.parts, self.linkage, self.own = parts, linkage, ends[-1]

    def name(self, row: int) -> str:
        """As it stands in the file; ObjectError when a linkage table's names cannot be read."""
        for start, end, part in self._spans:
            if row < end:
                return part.name(row - start)
        assert self.linkage is not None
        return self.linkage.name(row - self.own)

    def index(self, style: Demangle) -> SymbolIndex:
        none = np.zeros(0, np.uint64)
        start, size = (none, none) if self.linkage is None else (self.linkage.start, self.linkage.size)
        starts = np.concatenate([*(part.start for part in self.parts), start])
        ends = starts + np.concatenate([*(part.size for part in self.parts), size])
        kind = np.concatenate([*(part.type for part in self.parts), np.full(len(start), STT_FUNC, np.uint8)])
        binding = np.concatenate([*(part.binding for part in self.parts), np.full(len(start), STB_GLOBAL, np.uint8)])
        return SymbolIndex(SymbolColumns(starts, ends, kind, binding, self.name, lambda name: demangle(name, style)))


class _FunctionStarts:
    """Names the functions that start exactly at an address, from symbol tables alone."""

    def __init__(self, parts: list[SymbolRows], style: Demangle) -> None:
        self._symbols, self._style = _SymbolTables(parts), style

    @cached_property
    def _index(self) -> SymbolIndex:
        return self._symbols.index(self._style)

    def name_at(self, address: int) -> str:
        row = int(self._index.find(np.array([address], np.uint64))[0])
        exact = row >= 0 and int(np.concatenate([part.start for part in self._symbols.parts])[row]) == address
        return self._symbols.name(row) if exact else ""


class ElfNames:
    """All names of one object, from whichever of its files have them; ready to be asked for svmas."""

    def __init__(
        self, found: ObjectFiles, style: Demangle, diagnostics: Diagnostics, places: Mapping[int, int] | None = None
    ) -> None:
        """``places``: where the sections of a relocatable file were loaded, by number."""
        self.has_symtab = False
        self._style, self._diagnostics, self._places = style, diagnostics, places
        parts = self._tables(found)
        self._symbols = _SymbolTables(parts, self._linkage(found.code, parts) if places is None else None)
        self._index = self._symbols.index(style)

    def find(self, svma: U64) -> I64:
        """(n,) row of the symbol that holds each address, −1 for none; names by ``name``.

        Linkage tables whose names cannot be read are counted, and left out.
        """
        try:
            row = self._index.find(svma)
            linked = row[row >= self._symbols.own]
            for one in (linked.min(), linked.max()) if len(linked) else ():  # one of each kind of table
                self.name(int(one))
        except ObjectError as error:
            count_broken(self._diagnostics, error)
            self._symbols = _SymbolTables(self._symbols.parts)
            self._index = self._symbols.index(self._style)
            row = self._index.find(svma)
        return row

    def name(self, row: int) -> str:
        """The symbol's name as it stands in the file."""
        return self._symbols.name(row)

    def _tables(self, found: ObjectFiles) -> list[SymbolRows]:
        """dso__load_sym: .symtab and .dynsym of the file with symbols; .dynsym of the running file beside mini info."""
        files = [found.symbols] if found.symbols else []
        if found.code is not None and found.code is not found.symbols:
            files.append(found.code)
        parts: list[SymbolRows] = []
        for file in files:
            for table in (".symtab", ".dynsym"):
                rows = self._rows(file, table)
                if rows is not None:
                    parts.append(rows)
                    self.has_symtab |= table == ".symtab"
        return parts

    def _rows(self, file: ElfObject, table: str) -> SymbolRows | None:
        try:
            return function_symbols(file, table, self._places)
        except ObjectError as error:
            count_broken(self._diagnostics, error)
            return None

    def _linkage(self, code: ElfObject | None, parts: list[SymbolRows]) -> LinkageTable | None:
        try:
            return LinkageTable(code, _FunctionStarts(parts, self._style).name_at) if code is not None else None
        except ObjectError as error:
            count_broken(self._diagnostics, error)
            return None


def count_broken(diagnostics: Diagnostics, error: ObjectError) -> None:
    """Count an object, or a part of one, that cannot be read; the conversion goes on without it."""
    advice = "a file with symbols is damaged; its names are missing. Reinstall the package it came from."
    diagnostics.add("objects_unreadable", Severity.LOSS, advice, where=str(error))
