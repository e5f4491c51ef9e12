"""Function names from the symbol tables of ELF files, and from the linkage tables that have no symbols of their own."""

from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from perf2x.model.arrays import I64, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.errors import ObjectError
from perf2x.objects.elf import ElfObject
from perf2x.objects.find import Found
from perf2x.objects.plt import LinkageTable, NameAt
from perf2x.objects.symtab import STB_GLOBAL, STT_FUNC, SymbolRows, function_symbols
from perf2x.symbolize.demangle import Demangle, demangle
from perf2x.symbolize.lookup import SymbolColumns, SymbolIndex


class ElfNames:
    """All names of one object, from whichever of its files have them; ready to be asked for svmas.

    Several symbol tables and synthesized entries are one table, in perf's order of insertion.
    """

    def __init__(
        self, found: Found, style: Demangle, diagnostics: Diagnostics, places: Mapping[int, int] | None = None
    ) -> None:
        """``places``: where the sections of a relocatable file were loaded, by number."""
        self.has_symtab = False
        self._style, self._diagnostics, self._places = style, diagnostics, places
        self._parts = self._tables(found)
        ends = list(accumulate(map(len, self._parts), initial=0))
        self._spans = list(zip(ends[:-1], ends[1:], self._parts, strict=True))
        self._own = ends[-1]
        self._linkage = self._linkage_of(found.code) if places is None else None
        self._index = self._indexed()
        self._bare: SymbolIndex | None = None

    def find(self, svma: U64) -> I64:
        """(n,) row of the symbol that holds each address, −1 for none; names by ``name``.

        Linkage tables whose names cannot be read are counted, and left out.
        """
        try:
            row = self._index.find(svma)
            linked = row[row >= self._own]
            for one in (linked.min(), linked.max()) if len(linked) else ():  # one of each kind of table
                self.name(int(one))
        except ObjectError as error:
            count_broken(self._diagnostics, error)
            self._linkage = None
            self._index = self._indexed()
            row = self._index.find(svma)
        return row

    def name(self, row: int) -> str:
        """The symbol's name as it stands in the file."""
        for start, end, part in self._spans:
            if row < end:
                return part.name(row - start)
        assert self._linkage is not None
        return self._linkage.name(row - self._own)

    def _tables(self, found: Found) -> list[SymbolRows]:
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

    def _linkage_of(self, code: ElfObject | None) -> LinkageTable | None:
        try:
            return LinkageTable(code, self._name_at) if code is not None else None
        except ObjectError as error:
            count_broken(self._diagnostics, error)
            return None

    def _name_at(self, address: int) -> str:
        """The function of a symbol table that starts at ``address``, "" when none does."""
        parts = self._parts
        self._bare = self._bare or SymbolIndex(_columns(parts, None, self.name, self._style))
        row = int(self._bare.find(np.array([address], np.uint64))[0])
        starts = np.concatenate([part.start for part in parts]) if row >= 0 else np.zeros(0, np.uint64)
        return self.name(row) if row >= 0 and int(starts[row]) == address else ""

    def _indexed(self) -> SymbolIndex:
        return SymbolIndex(_columns(self._parts, self._linkage, self.name, self._style))


def _columns(parts: list[SymbolRows], linkage: LinkageTable | None, name: NameAt, style: Demangle) -> SymbolColumns:
    entries = len(linkage) if linkage is not None else 0
    start, size = [part.start for part in parts], [part.size for part in parts]
    kind, binding = [part.type for part in parts], [part.binding for part in parts]
    if linkage is not None or not parts:
        start.append(linkage.start if linkage is not None else np.zeros(0, np.uint64))
        size.append(linkage.size if linkage is not None else np.zeros(0, np.uint64))
        kind.append(np.full(entries, STT_FUNC, np.uint8))
        binding.append(np.full(entries, STB_GLOBAL, np.uint8))
    starts = np.concatenate(start)
    return SymbolColumns(
        starts, starts + np.concatenate(size), np.concatenate(kind), np.concatenate(binding), name,
        lambda text: demangle(text, style),
    )  # fmt: skip


def count_broken(diagnostics: Diagnostics, error: ObjectError) -> None:
    """Count an object, or a part of one, that cannot be read; the conversion goes on without it."""
    advice = "a file with symbols is damaged; its names are missing. Reinstall the package it came from."
    diagnostics.add("objects_unreadable", Severity.LOSS, advice, where=str(error))
