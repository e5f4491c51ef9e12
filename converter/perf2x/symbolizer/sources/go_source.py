"""Names and lines of Go programs that were linked without symbols, from the runtime's own table.

perf shows their frames as unknown. Programs with a symbol table are left to elf_source.py: their symbols name the types
of generic functions, which this table writes as ``[...]``.
"""

import numpy as np

from perf2x.base.binaries.go.find_pclntab import go_functions, has_go_table
from perf2x.base.binaries.go.pclntab import MAX_LINE, GoFunction, GoFunctions
from perf2x.base.columnar import I64, U64, arange, as_int64, as_uint64, flatnonzero, new_rows, unique_inverse, zeros
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
    """Functions and lines from ``.gopclntab``; addresses outside it (C code of cgo) are left to the next source."""

    order = 18

    def covers(self, dso: Dso) -> bool:
        """Return True for Go programs with neither symbols nor debug info."""
        found = dso.found
        if dso.kind is not DsoKind.FILE or found.code is None or found.dwarf is not None:
            return False
        return not any(file.section(".symtab") for file in found.files) and has_go_table(found.code)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions by svma."""
        table = go_functions(dso.found.code) if dso.found.code is not None else None
        if table is None:
            return no_symbols(len(address))
        rows, which = unique_inverse(table.find(address))
        decoded = [table.function(row) if row >= 0 else None for row in rows.tolist()]
        is_known = np.array([one is not None for one in decoded], np.bool_)
        index = as_int64(new_rows(is_known)[which])
        functions, line = _functions_and_lines(table, [one for one in decoded if one is not None], index, address)
        return symbols_from_functions(functions, index, "no function of the Go program", line)


def _functions_and_lines(
    table: GoFunctions, decoded: list[GoFunction], index: I64, address: U64
) -> tuple[list[Function], I64]:
    """Return the functions, and the line of each address; ``index`` (n,) is its function in ``decoded``, −1 for none.

    The line is 0 if it was inlined from another file.
    """
    entry = as_uint64([one.entry for one in decoded])
    own, inside = arange(len(decoded)), flatnonzero(index >= 0)
    row = np.concatenate([own, index[inside]])
    svma = np.concatenate([entry, address[inside]])
    file = table.values(as_int64([one.file_at for one in decoded]), entry, row, svma)
    line = table.values(as_int64([one.line_at for one in decoded]), entry, row, svma)
    valid = (file == file[row]) & (line > 0) & (line <= MAX_LINE)
    result = zeros(len(address))
    result[inside] = np.where(valid, line, 0)[len(decoded) :]
    rows = zip(decoded, file.tolist(), line.tolist(), strict=False)
    functions = [
        Function(
            one.name,
            "",
            table.filename(number, one.first_file),
            min(one.start_line or max(first, 0), MAX_LINE),
        )
        for one, number, first in rows
    ]
    return functions, result
