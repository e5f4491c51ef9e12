"""Function names from the symbol tables of ELF files and from their PLTs (``puts@plt``)."""

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
    """Symbol tables and the entries of PLTs as one table, in perf's order of insertion.

    It does not keep the index, because a reference cycle would be freed late.
    """

    def __init__(self, tables: list[SymbolRows], plt: LinkageTable | None = None) -> None:
        ends = list(accumulate(map(len, tables), initial=0))
        self._spans = list(zip(ends[:-1], ends[1:], tables, strict=True))
        self.tables, self.plt, self.first_plt_row = tables, plt, ends[-1]

    def name(self, row: int) -> str:
        """Return a symbol's name as in the file. Raises ObjectError if a PLT's names cannot be read."""
        for start, end, table in self._spans:
            if row < end:
                return table.name(row - start)
        assert self.plt is not None
        return self.plt.name(row - self.first_plt_row)

    def index(self) -> SymbolIndex:
        empty = np.zeros(0, np.uint64)
        plt_start, plt_size = (empty, empty) if self.plt is None else (self.plt.start, self.plt.size)
        start = np.concatenate([*(table.start for table in self.tables), plt_start])
        end = start + np.concatenate([*(table.size for table in self.tables), plt_size])
        plt_type, plt_binding = (np.full(len(plt_start), value, np.uint8) for value in (STT_FUNC, STB_GLOBAL))
        kind = np.concatenate([*(table.type for table in self.tables), plt_type])
        binding = np.concatenate([*(table.binding for table in self.tables), plt_binding])
        return SymbolIndex(SymbolColumns(start, end, kind, binding, self.name, full_name))


class _FunctionStarts:
    """Finds the function that starts at an address, because PLT entries of ifuncs have only this address."""

    def __init__(self, tables: list[SymbolRows]) -> None:
        self._symbols = _SymbolTables(tables)

    @cached_property
    def _index(self) -> SymbolIndex:
        return self._symbols.index()

    def name_at(self, address: int) -> str:
        row = int(self._index.find(as_uint64([address]))[0])
        starts_here = row >= 0 and int(np.concatenate([table.start for table in self._symbols.tables])[row]) == address
        return self._symbols.name(row) if starts_here else ""


class ElfNames:
    """All function names of one object."""

    def __init__(
        self,
        files: ObjectFiles,
        diagnostics: Diagnostics,
        section_addresses: Mapping[int, int] | None = None,
    ) -> None:
        """``section_addresses``: the assumed addresses of a kernel module's sections, by section number."""
        self._diagnostics = diagnostics
        named_tables = list(_function_tables(files, diagnostics, section_addresses))
        tables = [table for _, table in named_tables]
        self.has_symtab = any(section == ".symtab" for section, _ in named_tables)
        plt = _linkage_table(files.code, tables, diagnostics) if section_addresses is None else None
        self._symbols = _SymbolTables(tables, plt)
        self._index = self._symbols.index()

    def find(self, svma: U64) -> I64:
        """Return (n,) row of the symbol that contains each address, −1 for none.

        PLTs are left out, and counted as damaged, if their names cannot be read.
        """
        try:
            row = self._index.find(svma)
            plt_rows = row[row >= self._symbols.first_plt_row]
            # Names of PLTs are read on first use, which shows damage. Those of .plt.got, which has the lowest rows, and
            # of .plt are read separately, so the lowest and the highest row are tried.
            for plt_row in (plt_rows.min(), plt_rows.max()) if len(plt_rows) else ():
                self.name(int(plt_row))
        except ObjectError as error:
            count_unreadable(self._diagnostics, error)
            self._symbols = _SymbolTables(self._symbols.tables)
            self._index = self._symbols.index()
            row = self._index.find(svma)
        return row

    def name(self, row: int) -> str:
        """Return the name of a symbol as in the file."""
        return self._symbols.name(row)

    def extents(self, svma: U64) -> tuple[U64, U64]:
        """Return (n,) start and end (exclusive) of the symbol that contains each address; both 0 without one."""
        return self._index.extents(svma)


def _function_tables(
    files: ObjectFiles, diagnostics: Diagnostics, section_addresses: Mapping[int, int] | None
) -> Iterator[tuple[str, SymbolRows]]:
    """Yield (section name, functions), in the order of perf's dso__load_sym.

    With mini debug info, .dynsym is only in the file with the code.
    """
    elf_files = [files.symbols] if files.symbols else []
    if files.code is not None and files.code is not files.symbols:
        elf_files.append(files.code)
    for file in elf_files:
        for section in (".symtab", ".dynsym"):
            with counting_unreadable(diagnostics):
                table = function_symbols(file, section, section_addresses)
                if table is not None:
                    yield section, table


def _linkage_table(code: ElfObject | None, tables: list[SymbolRows], diagnostics: Diagnostics) -> LinkageTable | None:
    with counting_unreadable(diagnostics):
        return LinkageTable(code, _FunctionStarts(tables).name_at) if code is not None else None
    return None


@contextmanager
def counting_unreadable(diagnostics: Diagnostics) -> Iterator[None]:
    """Count an ObjectError raised in the block as an unreadable object, and end the block."""
    try:
        yield
    except ObjectError as error:
        count_unreadable(diagnostics, error)


def count_unreadable(diagnostics: Diagnostics, error: ObjectError) -> None:
    """Count an object, or part of one, that cannot be read."""
    advice = "a file with symbols is damaged; its names are missing. Reinstall the package it came from."
    diagnostics.add("objects_unreadable", advice, where=str(error))
