"""Function names from the symbol tables of ELF files and from their PLTs.

PLT entries have no symbols of their own; they are named after the functions that they jump to (``puts@plt``).
"""

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
    """Several symbol tables and the entries of PLTs, one after the other as one table, in perf's order of insertion.

    The index is not kept here, because it refers to ``name``: the two would be a reference cycle, which is not freed as
    soon as the object is.
    """

    def __init__(self, tables: list[SymbolRows], plt: LinkageTable | None = None) -> None:
        ends = list(accumulate(map(len, tables), initial=0))
        self._spans = list(zip(ends[:-1], ends[1:], tables, strict=True))
        # rows from first_plt_row on are those of the PLTs
        self.tables, self.plt, self.first_plt_row = tables, plt, ends[-1]

    def name(self, row: int) -> str:
        """Return the name of a symbol as in the file. Raises ObjectError if a PLT's names cannot be read."""
        for start, end, table in self._spans:
            if row < end:
                return table.name(row - start)
        assert self.plt is not None
        return self.plt.name(row - self.first_plt_row)

    def index(self) -> SymbolIndex:
        """Return an index that finds the row of the symbol at an address."""
        empty = np.zeros(0, np.uint64)
        plt_start, plt_size = (empty, empty) if self.plt is None else (self.plt.start, self.plt.size)
        start = np.concatenate([*(table.start for table in self.tables), plt_start])
        end = start + np.concatenate([*(table.size for table in self.tables), plt_size])
        plt_type, plt_binding = (np.full(len(plt_start), value, np.uint8) for value in (STT_FUNC, STB_GLOBAL))
        kind = np.concatenate([*(table.type for table in self.tables), plt_type])
        binding = np.concatenate([*(table.binding for table in self.tables), plt_binding])
        return SymbolIndex(SymbolColumns(start, end, kind, binding, self.name, full_name))


class _FunctionStarts:
    """Finds the function that starts exactly at an address, for PLT entries of ifuncs, which have only its address.

    Only symbol tables are searched, not the PLTs that are to be named.
    """

    def __init__(self, tables: list[SymbolRows]) -> None:
        self._symbols = _SymbolTables(tables)

    @cached_property
    def _index(self) -> SymbolIndex:
        return self._symbols.index()

    def name_at(self, address: int) -> str:
        """Return the function's name; "" if no function starts there."""
        row = int(self._index.find(as_uint64([address]))[0])
        starts_here = row >= 0 and int(np.concatenate([table.start for table in self._symbols.tables])[row]) == address
        return self._symbols.name(row) if starts_here else ""


class ElfNames:
    """All function names of one object, from the symbol tables of its files and from its PLTs."""

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
        """Return (n,) row of the symbol that contains each address, −1 for none; ``name`` has the row's name.

        PLTs are left out, and counted as damaged, if their names cannot be read.
        """
        try:
            row = self._index.find(svma)
            plt_rows = row[row >= self._symbols.first_plt_row]
            # names of PLTs are read on first use, which shows damage; .plt.got, which has the first rows, and .plt are
            # read separately, so the lowest and the highest row are tried
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
        """Return (n,) start and end of the symbol that contains each address: its first byte, and one past its last.

        Both are 0 for an address without a symbol.
        """
        return self._index.extents(svma)


def _function_tables(
    files: ObjectFiles, diagnostics: Diagnostics, section_addresses: Mapping[int, int] | None
) -> Iterator[tuple[str, SymbolRows]]:
    """Yield (section name, functions) of each readable symbol table, in the order of perf's dso__load_sym.

    These are .symtab and .dynsym of the file with symbols, then those of the file with the code if that is another one:
    mini debug info, for example, leaves .dynsym in the latter.
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
    """Return the PLT entries of the file with the code; None without that file, or if its PLT cannot be read."""
    with counting_unreadable(diagnostics):
        return LinkageTable(code, _FunctionStarts(tables).name_at) if code is not None else None
    return None


@contextmanager
def counting_unreadable(diagnostics: Diagnostics) -> Iterator[None]:
    """Turn an ObjectError raised in the block into a count of an unreadable object, or part of one; end the block."""
    try:
        yield
    except ObjectError as error:
        count_unreadable(diagnostics, error)


def count_unreadable(diagnostics: Diagnostics, error: ObjectError) -> None:
    """Count an object, or part of one, that cannot be read; the conversion continues without it."""
    advice = "a file with symbols is damaged; its names are missing. Reinstall the package it came from."
    diagnostics.add("objects_unreadable", advice, where=str(error))
