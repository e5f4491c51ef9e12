"""Protobuf messages of millions of rows as cells of fixed width, of which each row uses the first few bytes.

::

    cells    08 97 01 00 | 10 05 00      sizes   3 2      one row: a tag and a number, a tag and a number
    bytes    08 97 01      10 05

A column takes a few numpy passes over a block of rows, and all columns are joined by one; tables of ragged rows
(protobuf.py) cost several times that where the fields are as short as these.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8, AnyArray, Bools, arange, cumsum
from perf2x.emitters.encoding.protobuf import LENGTH, VARINT, varint, varint_cells


class Column(Struct, frozen=True):
    """Bytes of every row: ``octets`` (rows, width), of which the first ``sizes`` (rows,) are written."""

    octets: U8
    sizes: I64


class Cells(Struct, frozen=True):
    """Columns side by side, and how many bytes of each row are written."""

    columns: tuple[Column, ...]
    sizes: I64

    def without(self, left_out: Bools) -> "Cells":
        """The same, with nothing written in some rows."""
        columns = (Column(column.octets, np.where(left_out, 0, column.sizes)) for column in self.columns)
        return Cells(tuple(columns), np.where(left_out, 0, self.sizes))

    def tobytes(self) -> bytes:
        """All rows, one behind the other."""
        widths = [column.octets.shape[1] for column in self.columns]
        octets = np.empty((len(self.sizes), sum(widths)), np.uint8)
        held = np.ones(octets.shape, np.bool_)
        for column, width, end in zip(self.columns, widths, cumsum(widths).tolist(), strict=True):
            octets[:, end - width : end] = column.octets
            if column.sizes.min(initial=width) < width:
                np.less(arange(width), column.sizes[:, None], out=held[:, end - width : end])
        return octets.reshape(-1).compress(held.reshape(-1)).tobytes()  # a third of the time of octets[held]


def constant(count: int, text: bytes) -> Cells:
    """The same bytes in every row."""
    octets = np.broadcast_to(np.frombuffer(text, np.uint8), (count, len(text)))
    return _cells(Column(octets, np.full(count, len(text), np.int64)))


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
    sizes: I64 = np.sum([part.sizes for part in parts], axis=0, dtype=np.int64)
    return Cells(tuple(column for part in parts for column in part.columns), sizes)


def _cells(column: Column) -> Cells:
    return Cells((column,), column.sizes)


def _varints(values: AnyArray, tag: bytes = b"") -> Cells:
    """Numbers from 0 to 2**64 − 1 behind a tag, lowest seven bits first; `varint` is the scalar twin."""
    return _cells(Column(*varint_cells(values, tag)))
