"""Names and lines of Go programs that were linked without symbols, from the table of the Go runtime (.gopclntab).

Programs with a symbol table are named by elf_source.py, because symbols have the type arguments of generic functions.
"""

import numpy as np

from perf2x.base.binaries.go.find_pclntab import go_functions, has_go_table
from perf2x.base.binaries.go.pclntab import MAX_LINE, GoFunction, GoFunctions
from perf2x.base.columnar import (
    I64,
    U64,
    arange,
    as_int64,
    as_uint64,
    flatnonzero,
    new_row_numbers,
    unique_inverse,
    zeros,
)
from perf2x.symbolizer.sources.symbol_source import (
    BuiltInSource,
    Dso,
    DsoKind,
    Function,
    Symbols,
    no_symbols,
    symbols_from_functions,
)


class GoSource(BuiltInSource):
    """Functions and lines from .gopclntab, which lacks the C code of cgo."""

    order = 18

    def covers(self, dso: Dso) -> bool:
        """Return True for Go programs with neither symbols nor debug info."""
        files = dso.found
        if dso.kind is not DsoKind.FILE or files.code is None or files.dwarf is not None:
            return False
        return not any(file.section(".symtab") for file in files.files) and has_go_table(files.code)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions and lines; ``address`` (n,) has svmas."""
        table = go_functions(dso.found.code) if dso.found.code is not None else None
        if table is None:
            return no_symbols(len(address))
        rows, row_index = unique_inverse(table.find(address))
        decoded = [table.function(row) if row >= 0 else None for row in rows.tolist()]
        is_decoded = np.array([function is not None for function in decoded], np.bool_)
        index = as_int64(new_row_numbers(is_decoded)[row_index])
        functions, line = _functions_and_lines(table, [*filter(None, decoded)], index, address)
        return symbols_from_functions(functions, index, "no function of the Go program", line)


def _functions_and_lines(
    table: GoFunctions, decoded: list[GoFunction], index: I64, address: U64
) -> tuple[list[Function], I64]:
    """Return the functions, and (n,) each address's line, which is 0 if it is unknown or in another file.

    ``index`` (n,) is each address's row in ``decoded``, −1 for none.
    """
    entry = as_uint64([function.entry for function in decoded])
    has_function = flatnonzero(index >= 0)
    row = np.concatenate([arange(len(decoded)), index[has_function]])
    svma = np.concatenate([entry, address[has_function]])
    file = table.values(as_int64([function.file_table_offset for function in decoded]), entry, row, svma)
    line = table.values(as_int64([function.line_table_offset for function in decoded]), entry, row, svma)
    # the first rows are the functions' entries, so file[row] is the file at the entry
    is_valid = (file == file[row]) & (line > 0) & (line <= MAX_LINE)
    address_line = zeros(len(address))
    address_line[has_function] = np.where(is_valid, line, 0)[len(decoded) :]
    rows = zip(decoded, file.tolist(), line.tolist(), strict=False)
    functions = [
        Function(
            function.name,
            "",
            table.filename(file_number, function.first_file),
            min(function.start_line or max(entry_line, 0), MAX_LINE),
        )
        for function, file_number, entry_line in rows
    ]
    return functions, address_line
