"""Names for addresses in ELF files: symbol tables first, then lines and inlined frames where debug info has them."""

from typing import ClassVar

import numpy as np

from perf2x.model.arrays import U64
from perf2x.symbolize.elf_names import ElfNames
from perf2x.symbolize.source import Context, Dso, DsoKind, Symbols, nothing, one_line_each


class ElfSource:
    """Function names from ``.symtab`` and ``.dynsym``."""

    order: ClassVar[int] = 20

    def __init__(self, context: Context) -> None:
        self._context = context

    def covers(self, dso: Dso) -> bool:
        """Objects with at least one file."""
        return dso.kind in (DsoKind.FILE, DsoKind.VDSO) and bool(dso.found.files)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Function names by svma."""
        names = ElfNames(dso.found, self._context.options.demangle, self._context.diagnostics)
        row = names.find(address)
        rows = np.unique(row[row >= 0])
        missing = "" if names.has_symtab else "stripped: no symbol table, no debug file found"
        if not len(rows):
            return nothing(len(address), missing)
        found = [names.name(int(r)) for r in rows]
        return one_line_each(found, np.where(row >= 0, np.searchsorted(rows, row), -1), missing)
