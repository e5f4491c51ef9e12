"""Coverage of symbol tables: the functions that they name, and their share of the code."""

import numpy as np

from perf2x.analysis.explain.code_coverage import Code, FunctionTable, broken_table
from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import ElfObject
from perf2x.binaries.elf.relocate_module import section_addresses
from perf2x.binaries.elf.symtab import STT_FUNC, STT_GNU_IFUNC, function_symbols
from perf2x.binaries.go.go_table import go_functions, has_go_table

TABLES = (".symtab", ".dynsym")
GO_TABLE = ".gopclntab"


def name_tables(elf: ElfObject, code: Code) -> list[FunctionTable]:
    """Return the tables of one file, the best first; one that cannot be read has the error in ``broken``."""
    found = []
    for name in TABLES:
        try:
            found.append(_symbol_table(elf, name, code))
        except ObjectError as error:
            found.append(broken_table(error, elf, name))
    return [*filter(None, found), *_go_table(elf)]


def _symbol_table(elf: ElfObject, name: str, code: Code) -> FunctionTable | None:
    rows = function_symbols(elf, name, section_addresses(elf) if elf.type == "ET_REL" else None)
    if rows is None:
        return None
    is_function = np.isin(rows.type, (STT_FUNC, STT_GNU_IFUNC))
    start, size = rows.start[is_function], rows.size[is_function]
    distinct = np.unique(start)
    following = np.append(distinct, distinct[-1:])[np.searchsorted(distinct, start) + 1] if len(start) else start
    end = np.where(size == 0, following, start + size)  # as perf: a symbol without a size reaches to the next one
    return FunctionTable(name, elf.name, len(start), code.share(start, end))


def _go_table(elf: ElfObject) -> list[FunctionTable]:
    """Return Go's table of functions, which strip does not remove."""
    try:
        table = go_functions(elf) if has_go_table(elf) else None
    except ObjectError as error:
        return [broken_table(error, elf, GO_TABLE)]
    return [] if table is None else [FunctionTable(GO_TABLE, elf.name, len(table), None)]
