"""Protobuf messages of millions of rows as words, of which each row uses the first few bytes.

::

    words    08 97 01 00 ·· | 10 05 00 ··      sizes   3 2      one row: a tag and a number, a tag and a number
    folded   08 97 01 10 05 00 ··                      5        as long as all rows of both fit one word
    bytes    08 97 01 10 05

A column takes a few numpy passes over a block of rows, and all columns are joined by one; tables of ragged rows
(protobuf.py) cost several times that where the fields are as short as these.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64, AnyArray, Bools
from perf2x.emitters.encoding.protobuf import LENGTH, VARINT, varint, varint_words

_WIDTH = 8
_HELD = np.array([(1 << 8 * size) // 255 for size in range(_WIDTH + 1)], "<u8")
"""A byte 1 for each of the first bytes of a word."""


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
        columns = list(_folded(self.columns))
        words, held = (np.empty((len(self.sizes), len(columns)), "<u8") for _ in range(2))
        for place, column in enumerate(columns):
            words[:, place], held[:, place] = column.words, _HELD[column.sizes]
        octets = words.view(np.uint8).reshape(-1)
        return octets.compress(held.view(np.bool_).reshape(-1)).tobytes()  # a third of the time of octets[held]


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
    cells = _varints(values, varint(field << 3 | VARINT))
    return cells if left_out is None else cells.without(left_out)


def numbers_but_0(field: int, values: AnyArray) -> Cells:
    """A varint field of every row, without 0, as proto3 has it."""
    return numbers(field, values, values == 0)


def packed(field: int, columns: Sequence[AnyArray]) -> Cells:
    """A packed field of as many numbers as there are columns."""
    return nested(field, beside([_varints(column) for column in columns]))


def nested(field: int, message: Cells, behind: I64 | int = 0) -> Cells:
    """Every row as a message of its own, which goes on for so many bytes ``behind`` it."""
    return beside([_varints(message.sizes + behind, varint(field << 3 | LENGTH)), message])


def beside(parts: Sequence[Cells]) -> Cells:
    """Fields of one message."""
    sizes = reduce(np.add, (part.sizes for part in parts))
    return Cells(tuple(column for part in parts for column in part.columns), sizes)


def _varints(values: AnyArray, tag: bytes = b"") -> Cells:
    """Numbers from 0 to 2**64 − 1 behind a tag, lowest seven bits first; `varint` is the scalar twin."""
    words, sizes, width = varint_words(values, tag)
    if len(words) == 1:
        return Cells((WordColumn(words[0], sizes, width),), sizes)
    lower, upper = np.minimum(sizes, _WIDTH), np.maximum(sizes - _WIDTH, 0)
    return Cells((WordColumn(words[0], lower, _WIDTH), WordColumn(words[1], upper, width - _WIDTH)), sizes)
