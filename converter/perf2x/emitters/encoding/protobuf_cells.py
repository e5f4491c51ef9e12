"""Protobuf messages of millions of rows as words, of which each row uses the first few bytes.

::

    words    08 97 01 00 ·· | 10 05 00 ··      sizes   3 2      one row: a tag and a number, a tag and a number
    folded   08 97 01 10 05 00 ··                      5        as long as all rows of both fit one word
    bytes    08 97 01 10 05

A column takes a few numpy passes over a block of rows, and all columns are joined by one; `protobuf.py` puts rows of
bytes of any length side by side, which costs several times that where fields are as short as these.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8, U64, AnyArray, Bools, searchsorted
from perf2x.base.columnar.ragged import Ragged, offsets_of
from perf2x.emitters.encoding.protobuf_fields import LENGTH, VARINT, varint

_WIDTH = 8
_HELD = np.array([(1 << 8 * size) // 255 for size in range(_WIDTH + 1)], "<u8")
"""A byte 1 for each of the first bytes of a word."""
_LIMITS = np.array([1 << (7 * size) for size in range(1, 10)], np.uint64)
"""The least value whose varint needs 2, 3, … 10 bytes."""
_MORE = _HELD << np.uint64(7)
"""The top bits of the first bytes of a word: more follows."""


class WordColumn(Struct, frozen=True):
    """Words of every row, the first byte lowest, of which the first ``sizes`` are written, ``width`` of them at most.

    What lies above is 0.
    """

    words: U64
    sizes: I64
    width: int

    def and_then(self, other: "WordColumn") -> "WordColumn":
        """Both in one word, which has room for them."""
        words = other.words << (self.sizes.view(np.uint64) << np.uint64(3))
        return WordColumn(words | self.words, self.sizes + other.sizes, self.width + other.width)


class Cells(Struct, frozen=True):
    """Columns side by side, and how many bytes of each row are written."""

    columns: tuple[WordColumn, ...]
    sizes: I64

    def without(self, left_out: Bools) -> "Cells":
        """The same, with nothing written in some rows."""
        columns = (
            WordColumn(np.where(left_out, np.uint64(0), one.words), np.where(left_out, 0, one.sizes), one.width)
            for one in self.columns
        )
        return Cells(tuple(columns), np.where(left_out, 0, self.sizes))

    def tobytes(self) -> bytes:
        """All rows, one behind the other."""
        return self._octets().tobytes()

    def rows(self) -> Ragged:
        """(n,) rows of bytes."""
        return Ragged(offsets_of(self.sizes), self._octets())

    def _octets(self) -> U8:
        columns = list(_folded(self.columns))
        dtype = "<u4" if len(columns) == 1 and columns[0].width <= _WIDTH // 2 else "<u8"
        words, held = (np.empty((len(self.sizes), len(columns)), dtype) for _ in range(2))
        for place, column in enumerate(columns):
            words[:, place], held[:, place] = column.words, _HELD[column.sizes]
        octets = words.view(np.uint8).reshape(-1)
        return octets.compress(held.view(np.bool_).reshape(-1))  # a third of the time of octets[held]


def _folded(columns: Sequence[WordColumn]) -> Iterator[WordColumn]:
    """Yield neighbouring columns as one wherever a word has room for them."""
    folded = columns[0]
    for column in columns[1:]:
        if folded.width + column.width <= _WIDTH:
            folded = folded.and_then(column)
        else:
            yield folded
            folded = column
    yield folded


def constant(count: int, text: bytes) -> Cells:
    """The same bytes in every row."""
    parts = [text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH)]
    columns = (
        WordColumn(
            np.full(count, int.from_bytes(part, "little"), np.uint64), np.full(count, len(part), np.int64), len(part)
        )
        for part in parts
    )
    return Cells(tuple(columns), np.full(count, len(text), np.int64))


def numbers(field: int, values: AnyArray, left_out: Bools | None = None) -> Cells:
    """A varint field of every row, 0 included; rows that are left out have no bytes."""
    cells = varints(values, varint(field << 3 | VARINT))
    return cells if left_out is None else cells.without(left_out)


def numbers_but_0(field: int, values: AnyArray) -> Cells:
    """A varint field of every row, without 0, as proto3 has it."""
    return numbers(field, values, values == 0)


def packed(field: int, columns: Sequence[AnyArray]) -> Cells:
    """A packed field of as many numbers as there are columns."""
    return nested(field, beside([varints(column) for column in columns]))


def nested(field: int, message: Cells, behind: I64 | int = 0) -> Cells:
    """Every row as a message of its own, which goes on for so many bytes ``behind`` it."""
    return beside([lengths(field, message.sizes + behind), message])


def lengths(field: int, sizes: I64) -> Cells:
    """The beginning of a field of so many bytes in every row."""
    return varints(sizes, varint(field << 3 | LENGTH))


def beside(parts: Sequence[Cells]) -> Cells:
    """Fields of one message."""
    sizes = reduce(np.add, (part.sizes for part in parts))
    return Cells(tuple(column for part in parts for column in part.columns), sizes)


def varints(values: AnyArray, tag: bytes = b"") -> Cells:
    """Numbers below 2**64 behind a tag; `varint` is the scalar twin.

    Seven bits a byte, lowest first, the top bit set on all but the last; signed values as their 64-bit two's
    complement. Up to eight bytes are made as one word::

        value   1 0010111         word   0000 0001 | 1001 0111      bytes, the lowest first   97 01
    """
    rest = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
    sizes = _varint_sizes(rest)
    width = int(sizes.max(initial=1))
    words = _MORE[np.minimum(sizes - 1, _WIDTH)]
    for place in range(min(width, _WIDTH)):
        words |= (rest & np.uint64(0x7F << 7 * place)) << np.uint64(place)
    if len(tag) + width <= _WIDTH:
        words <<= np.uint64(8 * len(tag))
        words |= np.uint64(int.from_bytes(tag, "little"))
        sizes = sizes + len(tag)
        return Cells((WordColumn(words, sizes, len(tag) + width),), sizes)
    whole = Cells((WordColumn(words, np.minimum(sizes, _WIDTH), min(width, _WIDTH)),), sizes)
    if width > _WIDTH:
        above = rest >> np.uint64(7 * _WIDTH)  # eight bits, and so two bytes at most
        above += (above >> np.uint64(7)) << np.uint64(8)
        whole = Cells((*whole.columns, WordColumn(above, np.maximum(sizes - _WIDTH, 0), width - _WIDTH)), sizes)
    return beside([constant(len(rest), tag), whole]) if tag else whole


def _varint_sizes(values: U64) -> I64:
    """(n,) how many bytes each value takes."""
    ends = values[[values.argmin(), values.argmax()]] if len(values) else values
    least, most = searchsorted(_LIMITS, ends, side="right").tolist() or (0, 0)
    sizes = np.full(len(values), 1 + least, np.int64)
    for limit in _LIMITS[least:most]:
        sizes += values >= limit
    return sizes
