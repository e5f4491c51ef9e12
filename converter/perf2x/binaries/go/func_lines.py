"""Lines of ``func`` keywords by function, those of functions that were inlined into others, too (since Go 1.20).

A row of the table of functions ends in offsets of further tables. One tells the number of an inlined call by code
address; one of the others is the tree of these calls, which lies behind the symbol ``go:func.*``::

    row   +28  number of tables         call   +4   offset of the name
          +36  line                            +12  line
          +43  number of offsets (a byte)      +16  next call
          +44  tables, then offsets

Source of truth: src/runtime/runtime2.go type _func, src/runtime/symtabinl.go type inlinedCall of the Go distribution.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from perf2x.base.columnar.unique import unique
from perf2x.binaries.elf.elf_file import ElfObject
from perf2x.binaries.elf.symtab import raw_symbols
from perf2x.binaries.go.go_functions import MAX_LINE, GoFunctions

CALL_SIZE = 16
MAX_CALLS = 1 << 12
"""Inlined calls of one function that are looked at; large functions have some hundred."""
_TREES = b"\0go:func.*\0"


def start_lines(table: GoFunctions, rows: Sequence[int], code: ElfObject, symbols: ElfObject | None) -> dict[str, int]:
    """Lines by name of the functions in ``rows``, and of those inlined into them where ``symbols`` tell of trees."""
    functions = [function for row in rows if (function := table.function(row)) is not None]
    result = {one.name: one.start_line for one in functions}
    trees = _trees(code, symbols) if symbols is not None else b""
    calls = np.frombuffer(b"".join(_inlined_calls(table, rows, trees)), code.byte_order + "u4").reshape(-1, 4)
    for call in unique(calls[:, 1].astype(np.uint64) << np.uint64(32) | calls[:, 3]).tolist():
        result.setdefault(table.name_at(call >> 32), call & 0xFFFFFFFF)
    return {name: line for name, line in result.items() if 0 < line <= MAX_LINE}


def _inlined_calls(table: GoFunctions, rows: Sequence[int], trees: bytes) -> Iterator[bytes]:
    """The inlined calls of each function, as many as its code refers to."""
    for offset, count in table.inline_trees(rows):
        tree = trees[offset : offset + CALL_SIZE * min(count, MAX_CALLS)]
        yield tree[: len(tree) // CALL_SIZE * CALL_SIZE]


def _trees(code: ElfObject, symbols: ElfObject) -> bytes:
    """The bytes that offsets of trees count from; none if there is no symbol, or its section is not in the file."""
    table = symbols.section(".symtab")
    if table is None:
        return b""
    rows, names = raw_symbols(symbols, table)
    name = names.find(_TREES)
    address = rows["value"][rows["name"] == name + 1]
    if name < 0 or not len(address):
        return b""
    start = int(address[0])
    section = next((one for one in code.sections if 0 < one.address <= start < one.address + one.size), None)
    return code.data(section)[start - section.address :] if section is not None else b""
