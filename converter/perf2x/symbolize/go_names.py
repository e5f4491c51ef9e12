"""Names and lines of Go programs that were linked without symbols: the runtime's own table still has them.

perf shows such frames as unknown. Programs with a symbol table are left to it: there the names of generic functions
tell their types, which this table writes as ``[...]``.
"""

from typing import ClassVar

import numpy as np

from perf2x.model.arrays import I32, I64, U64
from perf2x.objects.go_functions import GoFunctions
from perf2x.objects.go_table import go_functions, has_go_table
from perf2x.symbolize.source import Context, Dso, DsoKind, Function, Symbols, nothing

LARGEST_LINE = 2**31 - 1


class GoSource:
    """Functions and lines from ``.gopclntab``; what it does not hold (C code of cgo) is left to the next source."""

    order: ClassVar[int] = 18

    def __init__(self, context: Context) -> None:
        self._context = context

    def covers(self, dso: Dso) -> bool:
        """Go programs with neither symbols nor debug info."""
        found = dso.found
        if dso.kind is not DsoKind.FILE or found.code is None or found.dwarf is not None:
            return False
        return not any(file.section(".symtab") for file in found.files) and has_go_table(found.code)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Functions by svma."""
        table = go_functions(dso.found.code) if dso.found.code is not None else None
        if table is None:
            return nothing(len(address))
        row = table.find(address)
        functions: list[Function] = []
        index, line = np.full(len(address), -1, np.int64), np.zeros(len(address), np.int64)
        for here in np.split(np.arange(len(row)), np.flatnonzero(np.diff(row)) + 1):  # addresses are sorted
            held = int(row[here[0]]) if len(here) else -1
            if held >= 0 and (found := _function(table, held, address[here])) is not None:
                index[here], line[here] = len(functions), found[1]
                functions.append(found[0])
        return _symbols(functions, index, line)


def _function(table: GoFunctions, row: int, address: U64) -> tuple[Function, I64] | None:
    """The function, and the line of each address in it.

    A line that inlining brought in from another file is no line of this function's file: 0.
    """
    known = table.function(row)
    if known is None:
        return None
    places = np.append(np.uint64(known.entry), address)
    files = table.values(known.file_at, known.entry, places)
    lines = table.values(known.line_at, known.entry, places)
    filename = table.filename(int(files[0]), known.first_file)
    start = known.start_line or max(int(lines[0]), 0)
    valid = (files[1:] == files[0]) & (lines[1:] > 0) & (lines[1:] <= LARGEST_LINE)
    return Function(known.name, "", filename, min(start, LARGEST_LINE)), np.where(valid, lines[1:], 0)


def _symbols(functions: list[Function], index: I64, line: I64) -> Symbols:
    known = index >= 0
    offsets = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    columns: tuple[I32, I32] = index[known].astype(np.int32), line[known].astype(np.int32)
    return Symbols(offsets, *columns, functions, missing="no function of the Go program")
