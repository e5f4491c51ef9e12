"""Protobuf messages of millions of rows as cells of fixed width, of which each row uses the first few bytes.

::

    octets   08 97 01 00    held   x x x .      one row of each column, side by side
             08 05 00 00           x x . .
    bytes    08 97 01 08 05

A column takes a few numpy passes over small blocks, and rows are joined by one pass over all cells; tables of ragged
rows (protobuf.py) cost several times that where the fields are as short as these.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I64, U8, AnyArray, Bools
from perf2x.emit.encoding.protobuf import LENGTH, VARINT, varint


class Cells(Struct, frozen=True):
    """(rows, width) bytes, and which of them are written."""

    octets: U8
    held: Bools

    @property
    def sizes(self) -> I64:
        """(rows,) bytes that are written."""
        sizes: I64 = np.count_nonzero(self.held, axis=1).astype(np.int64)
        return sizes

    def tobytes(self) -> bytes:
        """All rows, one behind the other."""
        return self.octets[self.held].tobytes()


def constant(count: int, text: bytes) -> Cells:
    """The same bytes in every row."""
    octets = np.broadcast_to(np.frombuffer(text, np.uint8), (count, len(text)))
    return Cells(octets, np.ones((count, len(text)), np.bool_))


def numbers(field: int, values: AnyArray, left_out: Bools | None = None) -> Cells:
    """A varint field of every row, 0 included; rows that are left out have no bytes."""
    return _behind(varint(field << 3 | VARINT), _varints(values), left_out)


def beside(columns: Sequence[Cells]) -> Cells:
    """Columns side by side."""
    octets = np.concatenate([column.octets for column in columns], axis=1)
    return Cells(octets, np.concatenate([column.held for column in columns], axis=1))


def packed(field: int, columns: Sequence[AnyArray]) -> Cells:
    """A packed field of as many numbers as there are columns."""
    return nested(field, beside([_varints(column) for column in columns]))


def nested(field: int, message: Cells) -> Cells:
    """Every row as a message of its own."""
    return beside([_behind(varint(field << 3 | LENGTH), _varints(message.sizes), None), message])


def _behind(tag: bytes, cells: Cells, left_out: Bools | None) -> Cells:
    both = beside([constant(len(cells.octets), tag), cells])
    return both if left_out is None else Cells(both.octets, both.held & ~left_out[:, None])


def _varints(values: AnyArray) -> Cells:
    """Numbers from 0 to 2**64 − 1, lowest seven bits first; `varint` is the scalar twin."""
    rest = values.astype(np.uint64)
    width = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))
    octets, held = np.empty((len(rest), width), np.uint8), np.ones((len(rest), width), np.bool_)
    for place in range(width):
        octets[:, place] = rest & np.uint64(127)
        rest = rest >> np.uint64(7)
        if place + 1 < width:
            held[:, place + 1] = rest > 0
            octets[:, place] |= held[:, place + 1].view(np.uint8) << np.uint8(7)
    return Cells(octets, held)
