"""Names and lines of JIT-compiled code from jitdump files.

Addresses are offsets into the dump, because jitdump_mappings.py has added a mapping for each function.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, U64, as_int32, as_uint64, number_keys, offsets_of, searchsorted
from perf2x.base.mapping_names import is_jitdump
from perf2x.symbolizer.sources.jit_functions import jit_function
from perf2x.symbolizer.sources.jitdump_mappings import JitdumpFiles
from perf2x.symbolizer.sources.symbol_source import BuiltInSource, Context, Dso, DsoKind, Function, Symbols, no_symbols

if TYPE_CHECKING:
    from perf2x.symbolizer.sources.parse_jitdump import JitCode, JitDump


class JitdumpSource(BuiltInSource):
    """Looks up offsets into jitdumps, in the dump of each object."""

    order = 30

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._files = JitdumpFiles.of(context)
        self._code: dict[str, CodeByOffset] = {}

    def covers(self, dso: Dso) -> bool:
        """Return True for a jitdump."""
        return dso.kind is DsoKind.FILE and is_jitdump(dso.name)

    def lookup(self, dso: Dso, address: U64) -> Symbols:
        """Return functions and lines; ``address`` (n,) has offsets into the dump."""
        dump = self._files.open(dso.name, dso.pid)
        if dump is None:
            return no_symbols(len(address), "the dump was not found")
        code = self._code.get(dump.name) or self._code.setdefault(dump.name, CodeByOffset(dump))
        return _symbols_of_code(code.codes, code.find(address), address)


class CodeByOffset:
    """The code in a dump, found by file offset. Moved code keeps its offset, so it is here only once."""

    def __init__(self, dump: JitDump) -> None:
        by_offset = {code.offset: code for code in reversed(dump.codes)}
        self.codes = sorted(by_offset.values(), key=lambda code: code.offset)
        self.start: U64 = as_uint64([code.offset for code in self.codes])
        self.size: U64 = as_uint64([code.size for code in self.codes])

    def find(self, offset: U64) -> I64:
        """Return (n,) index into ``codes`` of the code that contains each file offset, −1 for none."""
        row = searchsorted(self.start, offset, "right") - 1
        if not self.codes:
            return row
        is_inside = (row >= 0) & (offset - self.start[row] < self.size[row])
        return np.where(is_inside, row, -1)


def _symbols_of_code(codes: Sequence[JitCode], row: I64, offset: U64) -> Symbols:
    """``row`` (n,) is each offset's index into ``codes``, −1 for none."""
    is_found = row >= 0
    found_rows = zip(row[is_found].tolist(), offset[is_found].tolist(), strict=True)
    functions_and_lines = [_function_and_line(codes[code_row], code_offset) for code_row, code_offset in found_rows]
    functions, index = number_keys(function for function, _ in functions_and_lines)
    line = as_int32([line for _, line in functions_and_lines])
    return Symbols(offsets_of(is_found), as_int32(index), line, functions)


def _function_and_line(code: JitCode, offset: int) -> tuple[Function, int]:
    """Return the function and line at a file offset; an offset before the first known line has that line."""
    function = jit_function(code.name)
    if not code.lines:
        return function, 0
    address = code.load_address + offset - code.offset
    line_row = max(bisect.bisect_right(code.lines, address, key=lambda line: line.address) - 1, 0)
    filename = function.filename or code.lines[0].filename
    return replace(function, filename=filename), min(code.lines[line_row].line, 2**31 - 1)
