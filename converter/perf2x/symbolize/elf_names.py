"""Function names from the symbol tables of ELF files, and from the linkage tables that have no symbols of their own."""

from collections.abc import Mapping

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.errors import ObjectError
from perf2x.objects.elf import ElfObject
from perf2x.objects.find import Found
from perf2x.objects.plt import NameAt, PltEntry, plt_entries
from perf2x.objects.symtab import STB_GLOBAL, STT_FUNC, SymbolRows, function_symbols
from perf2x.symbolize.demangle import Demangle, demangle
from perf2x.symbolize.lookup import SymbolColumns, SymbolIndex


@dataclass(frozen=True, slots=True)
class _Table:
    """Several symbol tables and synthesized entries as one, in perf's order of insertion."""

    parts: list[SymbolRows]
    entries: list[PltEntry]

    def raw_name(self, row: int) -> str:
        for part in self.parts:
            if row < len(part):
                return part.name(row)
            row -= len(part)
        return self.entries[row].name

    def columns(self, style: Demangle) -> SymbolColumns:
        start = [part.start for part in self.parts] + [np.array([e.start for e in self.entries], np.uint64)]
        size = [part.size for part in self.parts] + [np.array([e.size for e in self.entries], np.uint64)]
        ones = np.ones(len(self.entries), np.uint8)
        kind = [part.type for part in self.parts] + [ones * np.uint8(STT_FUNC)]
        binding = [part.binding for part in self.parts] + [ones * np.uint8(STB_GLOBAL)]
        starts = np.concatenate(start)
        return SymbolColumns(
            starts,
            starts + np.concatenate(size),
            np.concatenate(kind),
            np.concatenate(binding),
            lambda row: demangle(self.raw_name(row), style),
        )


class ElfNames:
    """All names of one object, from whichever of its files have them; ready to be asked for svmas."""

    def __init__(
        self, found: Found, style: Demangle, diagnostics: Diagnostics, places: Mapping[int, int] | None = None
    ) -> None:
        """``places``: where the sections of a relocatable file were loaded, by number."""
        self.has_symtab = False
        self._places = places
        parts = self._tables(found, diagnostics)
        bare = _Table(parts, [])
        columns = bare.columns(style)
        index = SymbolIndex(columns)

        def name_at(address: int) -> str:
            row = int(index.find(np.array([address], np.uint64))[0])
            return bare.raw_name(row) if row >= 0 and int(columns.start[row]) == address else ""

        entries = _entries(found.code, name_at, diagnostics) if places is None else []
        self._table = _Table(parts, entries)
        self._index = SymbolIndex(self._table.columns(style)) if entries else index

    def find(self, svma: U64) -> I64:
        """(n,) row of the symbol that holds each address, −1 for none; names by ``name``."""
        return self._index.find(svma)

    def name(self, row: int) -> str:
        """The symbol's name as it stands in the file."""
        return self._table.raw_name(row)

    def _tables(self, found: Found, diagnostics: Diagnostics) -> list[SymbolRows]:
        """dso__load_sym: .symtab and .dynsym of the file with symbols; .dynsym of the running file beside mini info."""
        files = [found.symbols] if found.symbols else []
        if found.code is not None and found.code is not found.symbols:
            files.append(found.code)
        parts: list[SymbolRows] = []
        for file in files:
            for table in (".symtab", ".dynsym"):
                rows = _rows(file, table, diagnostics, self._places)
                if rows is not None:
                    parts.append(rows)
                    self.has_symtab |= table == ".symtab"
        return parts


def _rows(file: ElfObject, table: str, diagnostics: Diagnostics, places: Mapping[int, int] | None) -> SymbolRows | None:
    try:
        return function_symbols(file, table, places)
    except ObjectError as error:
        count_broken(diagnostics, error)
        return None


def _entries(code: ElfObject | None, name_at: NameAt, diagnostics: Diagnostics) -> list[PltEntry]:
    if code is None:
        return []
    try:
        return plt_entries(code, name_at)
    except ObjectError as error:
        count_broken(diagnostics, error)
        return []


def count_broken(diagnostics: Diagnostics, error: ObjectError) -> None:
    """Count an object, or a part of one, that cannot be read; the conversion goes on without it."""
    advice = "a file with symbols is damaged; its names are missing. Reinstall the package it came from."
    diagnostics.add("objects_unreadable", Severity.LOSS, advice, where=str(error))
