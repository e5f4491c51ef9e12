"""Function names from symbol tables of ELF files, and from PLTs, which have no symbols of their own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.elf.plt import LinkageTable
from perf2x.base.binaries.elf.symtab import STB_GLOBAL, STT_FUNC, SymbolRows, function_symbols
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.columnar import I64, U64, as_uint64
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import ObjectError
from perf2x.symbolizer.demangle.demangle import full_name
from perf2x.symbolizer.symbols_by_address import SymbolColumns, SymbolIndex


class _SymbolTables:
    """Several symbol tables and the entries of PLTs as one table, in perf's order of insertion.

    It does not keep its index, which refers to these names: a reference cycle would not be freed with the object.
    """

    def __init__(self, parts: list[SymbolRows], linkage: LinkageTable | None = None) -> None:
        ends = list(accumulate(map(len, parts), initial=0))
        self._spans = list(zip(ends[:-1], ends[1:], parts, strict=True))
        self.parts, self.linkage, self.first_linkage_row = parts, linkage, ends[-1]

    def name(self, row: int) -> str:
        """Return the name of a symbol as in the file. Raises ObjectError if a PLT's names cannot be read."""
        for start, end, part in self._spans:
            if row < end:
                return part.name(row - start)
        assert self.linkage is not None
        return self.linkage.name(row - self.first_linkage_row)

    def index(self) -> SymbolIndex:
        none = np.zeros(0, np.uint64)
        start, size = (none, none) if self.linkage is None else (self.linkage.start, self.linkage.size)
        starts = np.concatenate([*(part.start for part in self.parts), start])
        ends = starts + np.concatenate([*(part.size for part in self.parts), size])
        kind = np.concatenate([*(part.type for part in self.parts), np.full(len(start), STT_FUNC, np.uint8)])
        binding = np.concatenate([*(part.binding for part in self.parts), np.full(len(start), STB_GLOBAL, np.uint8)])
        return SymbolIndex(SymbolColumns(starts, ends, kind, binding, self.name, full_name))


class _FunctionStarts:
    """Finds functions that start exactly at an address, in symbol tables only."""

    def __init__(self, parts: list[SymbolRows]) -> None:
        self._symbols = _SymbolTables(parts)

    @cached_property
    def _index(self) -> SymbolIndex:
        return self._symbols.index()

    def name_at(self, address: int) -> str:
        row = int(self._index.find(as_uint64([address]))[0])
        exact = row >= 0 and int(np.concatenate([part.start for part in self._symbols.parts])[row]) == address
        return self._symbols.name(row) if exact else ""


class ElfNames:
    """All function names of one object, from those of its files that have symbols."""

    def __init__(
        self,
        found: ObjectFiles,
        diagnostics: Diagnostics,
        section_addresses: Mapping[int, int] | None = None,
    ) -> None:
        """``section_addresses``: for a relocatable file, the addresses of its sections by number."""
        self._diagnostics = diagnostics
        tables = list(_function_tables(found, diagnostics, section_addresses))
        parts = [rows for _, rows in tables]
        self.has_symtab = any(name == ".symtab" for name, _ in tables)
        linkage = _linkage_table(found.code, parts, diagnostics) if section_addresses is None else None
        self._symbols = _SymbolTables(parts, linkage)
        self._index = self._symbols.index()

    def find(self, svma: U64) -> I64:
        """Return (n,) row of the symbol that contains each address, −1 for none; see ``name``.

        PLTs whose names cannot be read are counted and left out.
        """
        try:
            row = self._index.find(svma)
            linked = row[row >= self._symbols.first_linkage_row]
            for one in (linked.min(), linked.max()) if len(linked) else ():  # an entry of each kind of PLT
                self.name(int(one))
        except ObjectError as error:
            count_broken(self._diagnostics, error)
            self._symbols = _SymbolTables(self._symbols.parts)
            self._index = self._symbols.index()
            row = self._index.find(svma)
        return row

    def name(self, row: int) -> str:
        """Return the name of a symbol as in the file."""
        return self._symbols.name(row)

    def extents(self, svma: U64) -> tuple[U64, U64]:
        """Return (n,) first byte, and one past the last, of the symbol that contains each address.

        Both 0 without one.
        """
        return self._index.extents(svma)


def _function_tables(
    found: ObjectFiles, diagnostics: Diagnostics, section_addresses: Mapping[int, int] | None
) -> Iterator[tuple[str, SymbolRows]]:
    """Yield (section, functions) of each readable symbol table, in the order of dso__load_sym.

    They are .symtab and .dynsym of the file with symbols, then those of the running file if it is a different file, as
    with mini debug info.
    """
    files = [found.symbols] if found.symbols else []
    if found.code is not None and found.code is not found.symbols:
        files.append(found.code)
    for file in files:
        for section in (".symtab", ".dynsym"):
            with counting_broken(diagnostics):
                rows = function_symbols(file, section, section_addresses)
                if rows is not None:
                    yield section, rows


def _linkage_table(code: ElfObject | None, parts: list[SymbolRows], diagnostics: Diagnostics) -> LinkageTable | None:
    """Return the entries of the running file's PLT; None if there is none or it cannot be read."""
    with counting_broken(diagnostics):
        return LinkageTable(code, _FunctionStarts(parts).name_at) if code is not None else None
    return None


@contextmanager
def counting_broken(diagnostics: Diagnostics) -> Iterator[None]:
    """Count an unreadable object, or part of one, in the block, and continue after it."""
    try:
        yield
    except ObjectError as error:
        count_broken(diagnostics, error)


def count_broken(diagnostics: Diagnostics, error: ObjectError) -> None:
    """Count an object, or part of one, that cannot be read; the conversion continues without it."""
    advice = "a file with symbols is damaged; its names are missing. Reinstall the package it came from."
    diagnostics.add("objects_unreadable", advice, where=str(error))
