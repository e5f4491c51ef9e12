"""Protobuf messages from columns: one numpy pass per field instead of one Python object per message.

Every function makes a Ragged of uint8, one row of bytes per message; rows are glued with ragged.side_by_side. Fields of
short rows are made of words (protobuf_cells.py), those of one message one by one (protobuf_fields.py).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, AnyArray, arange, as_intp, cumsum
from perf2x.base.columnar.ragged import Ragged, offsets_of, side_by_side
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, without_nulls
from perf2x.emitters.encoding.protobuf_cells import beside, lengths, numbers_but_0, varints
from perf2x.emitters.encoding.protobuf_fields import VARINT, varint


class Ids:
    """Varints of the ids 1 … count, which are made once and picked: no byte of theirs is 0, so NULs can fill cells.

    With ``field``, each stands behind its tag: a repeated field that is not packed.
    """

    def __init__(self, count: int, field: int = 0) -> None:
        tag = varint(field << 3 | VARINT) if field else b""
        (self._column,) = varints(arange(1, count + 1), tag).columns

    def rows(self, rows: Ragged) -> Ragged:
        """The ids of every row end to end, as bytes; numbers count from 0."""
        data = without_nulls(self._column.words[rows.values])
        return Ragged(self._ends(rows), np.frombuffer(data, np.uint8))

    def packed(self, field: int, rows: Ragged) -> Ragged:
        """`packed_field` of the ids of every row; tag and length are one more cell in front of them."""
        sizes = np.diff(self._ends(rows))
        (head,) = lengths(field, sizes).without(sizes == 0).columns
        words = np.insert(self._column.words[rows.values], as_intp(rows.offsets[:-1]), head.words)
        return Ragged(offsets_of(sizes + head.sizes), np.frombuffer(without_nulls(words), np.uint8))

    def _ends(self, rows: Ragged) -> I64:
        return np.append(0, cumsum(self._column.sizes[rows.values]))[rows.offsets]


def number_field(field: int, values: AnyArray) -> Ragged:
    """A varint field of every message; value 0 is left out, as proto3 does."""
    return numbers_but_0(field, values).rows()


def number_fields(columns: Mapping[int, AnyArray]) -> Ragged:
    """Messages of varint fields, in this order; a value 0 is left out."""
    return beside([numbers_but_0(field, values) for field, values in columns.items()]).rows()


def packed_field(field: int, rows: Ragged) -> Ragged:
    """A repeated varint field in packed form; rows without values are left out."""
    return message_field(field, _concatenated(varints(rows.values).rows(), rows.offsets))


def message_field(field: int, messages: Ragged) -> Ragged:
    """Bytes as a length-delimited field; empty rows are left out."""
    sizes = messages.lengths
    return side_by_side([lengths(field, sizes).without(sizes == 0).rows(), messages])


def nested_field(field: int, messages: Ragged, offsets: I64) -> Ragged:
    """A repeated message field: owner i holds ``messages[offsets[i]:offsets[i + 1]]``. Empty messages are kept."""
    return _concatenated(side_by_side([lengths(field, messages.lengths).rows(), messages]), offsets)


def top_level(field: int, messages: Ragged) -> bytes:
    """All messages as one repeated field of the outermost message, ready to be written."""
    return bytes(side_by_side([lengths(field, messages.lengths).rows(), messages]).values)


class EncodedRows(Struct, frozen=True):
    """Rows of bytes as objects, each made once, for messages that share them."""

    pieces: AnyArray
    lengths: I64


Chosen = tuple[EncodedRows, I64]
"""Texts, and the row of each message: message i holds row ``chosen[1][i]``."""


def texts_of(rows: Ragged) -> EncodedRows:
    """Return every row as an object."""
    data = rows.values.tobytes()
    return EncodedRows(chunk_array([data[start:end] for start, end in pairwise(rows.offsets.tolist())]), rows.lengths)


def whole(rows: Ragged) -> Chosen:
    """Choose every row once, in order."""
    return texts_of(rows), arange(len(rows))


def chosen_messages(field: int, parts: Sequence[Chosen]) -> bytes:
    """A repeated message field of the outermost message; each message is a text of every part, side by side."""
    sizes: I64 = np.sum([texts.lengths[rows] for texts, rows in parts], axis=0, dtype=np.int64)
    distinct, place = unique_inverse(sizes)
    head = texts_of(lengths(field, distinct).rows()), place
    return interleaved(*(texts.pieces[rows] for texts, rows in (head, *parts)))


def _concatenated(rows: Ragged, offsets: I64) -> Ragged:
    """Neighbouring rows made one: row i is rows[offsets[i]:offsets[i + 1]]; no byte moves."""
    return Ragged(rows.offsets[offsets], rows.values)
