"""Reads Go's table of functions and lines, ``.gopclntab``, which neither ``-ldflags=-s`` nor strip removes.

Its parts have these names in Go:

- *functab*: sorted pairs of a function's entry address and the offset of its record, a struct _func of the runtime;
- *funcnametab* and *filetab*: names of functions, and paths of files, as NUL-terminated strings;
- *pctab*: for each function, tables that map its code to lines and to numbers of files (see pclntab_values.py);
- *cutab*: for each file of each compilation unit, the offset of its path in filetab.

Source of truth: src/debug/gosym/pclntab.go and src/runtime/symtab.go of the Go distribution. Layouts of Go 1.2, 1.16,
1.18 and 1.20 are read, with words of 4 and 8 bytes, in both byte orders.
"""

import struct
from collections.abc import Sequence

import numpy as np

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.go.pclntab_values import pc_values, values_at
from perf2x.base.columnar import (
    I64,
    U64,
    Frozen,
    as_int64,
    as_uint64,
    flatnonzero,
    minus_ones,
    row_numbers,
    searchsorted,
    zeros,
)
from perf2x.errors import ObjectError

# magic numbers, by the version of Go that introduced the layout
_GO_12, _GO_116, _GO_118, _GO_120 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
# Maximum bytes of a function's name or a file's path; longer ones are taken for damage.
_MAX_NAME_SIZE = 1 << 16
# The highest number of a line; higher ones are taken for damage.
MAX_LINE = 2**31 - 1
# Index, in the pcdata offsets of a record, of the table that maps code to inlined calls.
# Index, in its funcdata offsets, of the inline tree.
_PCDATA_INLINE_INDEX, _FUNCDATA_INLINE_TREE = 2, 3


class GoFunction(Frozen):
    """One function of the table."""

    name: str
    entry: int
    """svma"""
    start_line: int
    """The line of the ``func`` keyword, 0 before Go 1.20."""
    line_table_offset: int
    """Offset in pctab of the table that maps the function's code to lines."""
    file_table_offset: int
    """Offset in pctab of the table that maps the function's code to numbers of files in its compilation unit."""
    first_file: int
    """Index in cutab of the unit's first file, to which the number of a file is added; 0 in Go 1.2."""


class _PclntabLayout(Frozen):
    """Offsets of the parts from the start of the table, and the sizes of its fields."""

    # The magic number, one of _GO_12 to _GO_120.
    version: int
    # ``<`` or ``>``
    byte_order: str
    word_size: int
    # Bytes of the shortest instruction.
    quantum: int
    function_count: int
    # Offsets of records count from here or, in Go 1.2, from the start of the table.
    functab: int
    funcnametab: int
    cutab: int
    filetab: int
    pctab: int

    @property
    def functab_dtype(self) -> str:
        """The dtype of both numbers of a pair in functab: a word or, since Go 1.18, 32 bits."""
        return self.byte_order + ("u4" if self.version in (_GO_118, _GO_120) or self.word_size == 4 else "u8")


class GoFunctions:
    """A table of functions, whose rows are decoded on demand."""

    def __init__(self, data: bytes, text_start: int, name: str) -> None:
        """``text_start`` is the svma that entries count from (since Go 1.18); ``name`` is used in messages.

        Raises ObjectError when ``data`` is not a table of Go functions.
        """
        self._data, self._name = data, name
        self._layout = layout = _read_layout(data, name)
        dtype = np.dtype(layout.functab_dtype)
        # functab ends with half a pair: the address after the last function
        if layout.functab + (2 * layout.function_count + 1) * dtype.itemsize > len(data):
            raise ObjectError(f"{name}: {layout.function_count} functions do not fit in {len(data)} bytes")
        pairs = as_uint64(np.frombuffer(data, dtype, 2 * layout.function_count + 1, layout.functab))
        self._record_offset = pairs[1::2]
        self._entry: U64 = pairs[::2] + np.uint64(text_start if layout.version in (_GO_118, _GO_120) else 0)
        if len(self._entry) and (self._entry[1:] < self._entry[:-1]).any():
            raise ObjectError(f"{name}: its functions are not sorted")

    def __len__(self) -> int:
        return len(self._record_offset)

    def find(self, svma: U64) -> I64:
        """Return the row in functab of the function that contains each address, −1 if none does. Shapes: (n,) → (n,).

        A function is assumed to extend to the start of the next function.
        """
        row = searchsorted(self._entry, svma, "right") - 1
        return np.where(row < len(self._record_offset), row, -1)

    def function(self, row: int) -> GoFunction | None:
        """Decode the function in a row of functab; None if its record is damaged."""
        layout = self._layout
        # the record begins with the entry: a word or, since Go 1.18, a 32-bit offset; nine 32-bit fields follow
        record_offset = int(self._record_offset[row]) + (0 if layout.version == _GO_12 else layout.functab)
        entry_size = layout.word_size if layout.version in (_GO_12, _GO_116) else 4
        if record_offset + entry_size + 36 > len(self._data):
            return None
        fields = struct.unpack_from(layout.byte_order + "9I", self._data, record_offset + entry_size)
        # in Go 1.20, the fields are nameOff, args, deferreturn, pcsp, pcfile, pcln, npcdata, cuOffset and startLine;
        # records of older versions do not have startLine, and those of Go 1.2 do not have cuOffset either
        name_offset, _, _, _, file_table, line_table, _, first_file, start_line = fields
        name = self.name_at(name_offset)
        start_line = start_line if layout.version == _GO_120 else 0
        first_file = first_file if layout.version != _GO_12 else 0
        return GoFunction(name, int(self._entry[row]), start_line, line_table, file_table, first_file) if name else None

    def name_at(self, offset: int) -> str:
        """Return the name of a function, given its offset in funcnametab; "" if the table is damaged there."""
        return self._string(self._layout.funcnametab + offset)

    def inline_trees(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return (offset, number of calls) of the inline tree of each of these functions that has one.

        The offsets count from the symbol ``go:func.*`` (see find_pclntab.py).
        """
        layout = self._layout
        if layout.version != _GO_120:
            return []
        # (offset in pctab of the table that maps code to inlined calls, offset of the inline tree) of each
        # function; find_pclntab.py shows the layout of a record
        offsets = []
        for record_offset in (int(self._record_offset[row]) + layout.functab for row in rows):
            if record_offset + 44 > len(self._data):
                continue
            pcdata_count, funcdata_count = self._u32(record_offset + 28), self._data[record_offset + 43]
            pcdata = record_offset + 44
            funcdata = pcdata + 4 * pcdata_count
            if (
                pcdata_count > _PCDATA_INLINE_INDEX
                and funcdata_count > _FUNCDATA_INLINE_TREE
                and funcdata + 4 * _FUNCDATA_INLINE_TREE + 4 <= len(self._data)
            ):
                index_offset = self._u32(pcdata + 4 * _PCDATA_INLINE_INDEX)
                offsets.append((index_offset, self._u32(funcdata + 4 * _FUNCDATA_INLINE_TREE)))
        offsets = [(index_offset, tree_offset) for index_offset, tree_offset in offsets if index_offset]
        index_tables = min(layout.pctab, len(self._data)) + as_int64([index_offset for index_offset, _ in offsets])
        ends, call_numbers = pc_values(self._data, index_tables, layout.quantum)
        # the number of calls in a tree is not stored: it is one more than the highest number that the code refers to
        highest = minus_ones(len(offsets))
        np.maximum.at(highest, row_numbers(ends.lengths), call_numbers)
        return [(tree, number + 1) for (_, tree), number in zip(offsets, highest.tolist(), strict=True) if number >= 0]

    def values(self, table_offset: I64, entry: U64, function: I64, svma: U64) -> I64:
        """Return the line, or the number of the file, at each address. Shape: (addresses,).

        A line of 0 or less means no line; a negative number of a file means no file. File 0 is the unit's first file,
        and also the result for a function without a table of files.

        ``table_offset`` (functions,) is `GoFunction.line_table_offset` or ``file_table_offset``, and ``entry``
        (functions,) the svma where each function begins. ``function`` (addresses,) has indexes into these two arrays.
        """
        layout = self._layout
        with_table = flatnonzero(table_offset != 0)  # the functions that have a table
        table = searchsorted(with_table, function)  # for each address, the index of its function in ``with_table``
        covered = flatnonzero(table_offset[function] != 0)  # the addresses whose function has a table
        result = zeros(len(svma))
        offset_in_function = svma[covered] - entry[function[covered]]
        tables = min(layout.pctab, len(self._data)) + table_offset[with_table]
        result[covered] = values_at(self._data, tables, layout.quantum, table[covered], offset_in_function)
        return result

    def filename(self, number: int, first_file: int) -> str:
        """Return the path of a file; "" if the table lacks the file.

        ``number`` is the file's number, as `values` returns it; ``first_file`` is `GoFunction.first_file`.
        """
        layout = self._layout
        if number < 0:
            return ""
        # The path's offset is in cutab, and counts from filetab. In Go 1.2, it is in filetab itself, and counts from
        # the start of the whole table.
        slot = layout.filetab if layout.version == _GO_12 else layout.cutab
        slot += 4 * (number + first_file)
        if slot + 4 > len(self._data):
            return ""
        path_offset = self._u32(slot)
        return self._string(path_offset if layout.version == _GO_12 else layout.filetab + path_offset)

    def _u32(self, offset: int) -> int:
        (number,) = struct.unpack_from(self._layout.byte_order + "I", self._data, offset)
        return int(number)

    def _string(self, offset: int) -> str:
        end = self._data.find(b"\0", offset, offset + _MAX_NAME_SIZE)
        return self._data[offset:end].decode(errors="surrogateescape") if end >= 0 else ""


def _read_layout(data: bytes, name: str) -> _PclntabLayout:
    """Read the header of a table: magic number, two zeros, quantum, word size, then words.

    Raises ObjectError if there is no such header, or the table is too short.
    """
    byte_order = byte_order_of(data)
    if not byte_order:
        raise ObjectError(f"{name}: not a table of Go functions: it begins with {data[:8].hex()}")
    (magic,) = struct.unpack_from(byte_order + "I", data)
    quantum, word_size = data[6], data[7]
    words = np.frombuffer(data, byte_order + f"u{word_size}", min(8, (len(data) - 8) // word_size), 8).tolist()
    count = words[0]
    if magic == _GO_12:  # functab follows the count, and the offset of filetab follows functab
        functab = 8 + word_size
        functab_end = functab + (2 * count + 1) * word_size
        if functab_end + 4 > len(data):
            raise ObjectError(f"{name}: {count} functions do not fit in {len(data)} bytes")
        (filetab,) = struct.unpack_from(byte_order + "I", data, functab_end)
        # there is no cutab; offsets of names, and of the tables of pctab, count from the start of the table
        return _PclntabLayout(magic, byte_order, word_size, quantum, count, functab, 0, 0, filetab, 0)
    if len(words) < 8:
        raise ObjectError(f"{name}: its table of Go functions is cut off after {len(data)} bytes")
    # before the offsets: number of functions, number of files and, since Go 1.18, the start of the code
    funcnametab, cutab, filetab, pctab, functab = words[2:7] if magic == _GO_116 else words[3:8]
    return _PclntabLayout(magic, byte_order, word_size, quantum, count, functab, funcnametab, cutab, filetab, pctab)


def byte_order_of(data: bytes) -> str:
    """Return ``<`` or ``>`` if ``data`` begins like a table of Go functions, otherwise ""."""
    if len(data) < 16 or data[4:6] != b"\0\0" or data[6] not in (1, 2, 4) or data[7] not in (4, 8):
        return ""
    magics = (_GO_12, _GO_116, _GO_118, _GO_120)
    return next((byte_order for byte_order in "<>" if struct.unpack_from(byte_order + "I", data)[0] in magics), "")


def is_go(elf: ElfObject) -> bool:
    """Return whether the file has a section that only Go's linker writes."""
    return any(section.name in (".note.go.buildid", ".go.buildinfo") for section in elf.sections)
