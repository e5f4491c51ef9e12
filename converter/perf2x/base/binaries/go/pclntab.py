"""Reads Go's table of functions and lines, ``.gopclntab``, which neither ``-ldflags=-s`` nor strip removes.

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

_GO_12, _GO_116, _GO_118, _GO_120 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_LONGEST_NAME = 1 << 16
MAX_LINE = 2**31 - 1
_PCDATA_INLINE_INDEX, _FUNCDATA_INLINE_TREE = 2, 3


class GoFunction(Frozen):
    """One function of the table."""

    name: str
    entry: int
    start_line: int
    """The line of the ``func`` keyword, 0 before Go 1.20."""
    line_at: int
    """Offset of the table of its lines by address, from ``_PclntabLayout.values``."""
    file_at: int
    """Offset of the table of its files by address, from ``_PclntabLayout.values``."""
    first_file: int
    """Number that is added to file values: the place of the unit's first file in the table of files."""


class _PclntabLayout(Frozen):
    """Offsets of a table's parts, in bytes from its start, and the sizes of its fields."""

    version: int
    order: str
    word: int
    quantum: int
    count: int
    functions: int
    """The sorted pairs of entry address and offset of the row; such an offset counts from here or, in Go 1.2, from the
    start of the table.
    """
    names: int
    units: int
    files: int
    values: int

    @property
    def field(self) -> str:
        """The dtype of one half of a pair: a word or, since Go 1.18, a 32-bit offset from the start of the text."""
        return self.order + ("u4" if self.version in (_GO_118, _GO_120) or self.word == 4 else "u8")


class GoFunctions:
    """A table of functions, checked against its size when it is opened; rows are decoded on demand."""

    def __init__(self, data: bytes, text: int, name: str) -> None:
        """``text`` is the svma that entry addresses count from (since Go 1.18).

        Raises ObjectError when ``data`` is not a table of Go functions.
        """
        self._data, self._name = data, name
        self._layout = layout = _read_layout(data, name)
        field = np.dtype(layout.field)
        if layout.functions + (2 * layout.count + 1) * field.itemsize > len(data):
            raise ObjectError(f"{name}: {layout.count} functions do not fit in {len(data)} bytes")
        pairs = as_uint64(np.frombuffer(data, field, 2 * layout.count + 1, layout.functions))
        self._row = pairs[1::2]
        self._entry: U64 = pairs[::2] + np.uint64(text if layout.version in (_GO_118, _GO_120) else 0)
        if len(self._entry) and (self._entry[1:] < self._entry[:-1]).any():
            raise ObjectError(f"{name}: its functions are not sorted")

    def __len__(self) -> int:
        return len(self._row)

    def find(self, svma: U64) -> I64:
        """Return (n,) the row of the function that contains each address, −1 if none does.

        A function is assumed to extend to the start of the next function.
        """
        row = searchsorted(self._entry, svma, "right") - 1
        return np.where(row < len(self._row), row, -1)

    def function(self, row: int) -> GoFunction | None:
        """Decode the function in a row; None if the row is damaged."""
        layout = self._layout
        at = int(self._row[row]) + (0 if layout.version == _GO_12 else layout.functions)
        first = layout.word if layout.version in (_GO_12, _GO_116) else 4
        if at + first + 36 > len(self._data):
            return None
        fields = struct.unpack_from(layout.order + "9I", self._data, at + first)
        name, _, _, _, file_at, line_at, _, unit, start = fields
        text = self._text(layout.names + name)
        start_line = start if layout.version == _GO_120 else 0
        unit = unit if layout.version != _GO_12 else 0
        return GoFunction(text, int(self._entry[row]), start_line, line_at, file_at, unit) if text else None

    def name_at(self, offset: int) -> str:
        """Return the name at an offset of the table of names; "" if the table is damaged there."""
        return self._text(self._layout.names + offset)

    def inline_trees(self, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return (offset, number of calls) of the inline tree of each function that has one (see find_pclntab.py)."""
        layout = self._layout
        if layout.version != _GO_120:
            return []
        places = []
        for at in (int(self._row[row]) + layout.functions for row in rows):
            if at + 44 > len(self._data):
                continue
            tables, offsets = self._number(at + 28), self._data[at + 43]
            tree_at = at + 44 + 4 * (tables + _FUNCDATA_INLINE_TREE)
            if tables > _PCDATA_INLINE_INDEX and offsets > _FUNCDATA_INLINE_TREE and tree_at + 4 <= len(self._data):
                places.append((self._number(at + 44 + 4 * _PCDATA_INLINE_INDEX), self._number(tree_at)))
        places = [(index, tree) for index, tree in places if index]
        tables_at = min(layout.values, len(self._data)) + as_int64([index for index, _ in places])
        ends, numbers = pc_values(self._data, tables_at, layout.quantum)
        highest = minus_ones(len(places))
        np.maximum.at(highest, row_numbers(ends.lengths), numbers)
        return [(tree, count + 1) for (_, tree), count in zip(places, highest.tolist(), strict=True) if count >= 0]

    def values(self, offset: I64, entry: U64, function: I64, svma: U64) -> I64:
        """Return the line or file at each address: 0 or less if there is none.

        ``offset`` is the ``line_at`` or ``file_at`` of each function, ``entry`` its start; ``function`` is the index of
        each address's function in these. Shapes: ``offset`` and ``entry`` (functions,); ``function``, ``svma`` and the
        result (addresses,).
        """
        layout = self._layout
        tabled = flatnonzero(offset != 0)
        row = searchsorted(tabled, function)
        covered = flatnonzero(offset[function] != 0)
        result = zeros(len(svma))
        inside = svma[covered] - entry[function[covered]]
        at = min(layout.values, len(self._data)) + offset[tabled]
        result[covered] = values_at(self._data, at, layout.quantum, row[covered], inside)
        return result

    def filename(self, number: int, first_file: int) -> str:
        """Return the path of the file with a number, as `values` returns it; "" if the table lacks it."""
        layout = self._layout
        if number < 0:
            return ""
        at = layout.files if layout.version == _GO_12 else layout.units
        at += 4 * (number + first_file)
        if at + 4 > len(self._data):
            return ""
        offset = self._number(at)
        return self._text(offset if layout.version == _GO_12 else layout.files + offset)

    def _number(self, at: int) -> int:
        (number,) = struct.unpack_from(self._layout.order + "I", self._data, at)
        return int(number)

    def _text(self, at: int) -> str:
        end = self._data.find(b"\0", at, at + _LONGEST_NAME)
        return self._data[at:end].decode(errors="surrogateescape") if end >= 0 else ""


def _read_layout(data: bytes, name: str) -> _PclntabLayout:
    order = byte_order(data)
    if not order:
        raise ObjectError(f"{name}: not a table of Go functions: it begins with {data[:8].hex()}")
    (magic,) = struct.unpack_from(order + "I", data)
    quantum, word = data[6], data[7]
    words = np.frombuffer(data, order + f"u{word}", min(8, (len(data) - 8) // word), 8).tolist()
    if magic == _GO_12:
        count = words[0]
        field_end = 8 + word + (2 * count + 1) * word
        if field_end + 4 > len(data):
            raise ObjectError(f"{name}: {count} functions do not fit in {len(data)} bytes")
        (files,) = struct.unpack_from(order + "I", data, field_end)
        return _PclntabLayout(magic, order, word, quantum, count, 8 + word, 0, 0, files, 0)
    if len(words) < 8:
        raise ObjectError(f"{name}: its table of Go functions is cut off after {len(data)} bytes")
    names, units, files, values, functions = words[2:7] if magic == _GO_116 else words[3:8]
    return _PclntabLayout(magic, order, word, quantum, words[0], functions, names, units, files, values)


def byte_order(data: bytes) -> str:
    """Return ``<`` or ``>`` if ``data`` begins like a table of Go functions, otherwise ""."""
    if len(data) < 16 or data[4:6] != b"\0\0" or data[6] not in (1, 2, 4) or data[7] not in (4, 8):
        return ""
    magics = (_GO_12, _GO_116, _GO_118, _GO_120)
    return next((order for order in "<>" if struct.unpack_from(order + "I", data)[0] in magics), "")


def is_go(elf: ElfObject) -> bool:
    """Return whether Go's linker made the file, or a part of it."""
    return any(section.name in (".note.go.buildid", ".go.buildinfo") for section in elf.sections)
