"""Protobuf messages from columns: one numpy pass per field instead of one Python object per message.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding). Every function makes a Ragged
of uint8, one row of bytes per message; rows are glued with ragged.side_by_side.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import (
    I64,
    U8,
    U64,
    AnyArray,
    Bools,
    arange,
    as_intp,
    cumsum,
    flatnonzero,
    searchsorted,
)
from perf2x.base.columnar.ragged import Ragged, offsets_of, side_by_side
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, without_nulls

VARINT, FIXED64, LENGTH = 0, 1, 2
"""Wire types: a number; eight bytes; bytes behind their length."""

_LIMITS = np.array([1 << (7 * size) for size in range(1, 10)], np.uint64)
"""The least value that needs 2, 3, … 10 bytes."""
_MORE = np.array([(1 << 8 * size) // 255 * 0x80 for size in range(8)], np.uint64)
"""The top bits of 1, 2, … 8 bytes, set on all but the last."""


def varints(values: AnyArray) -> Ragged:
    """Encode each value as a varint: seven bits a byte, lowest first, the top bit set on all but the last.

    Signed values are written as their 64-bit two's complement, as int64 fields are. Up to eight bytes are made as one
    word::

        value   1 0010111         word   0000 0001 | 1001 0111      bytes, the lowest first   97 01
    """
    rest, size = _with_sizes(values)
    if size.max(initial=1) > 8:
        return _long_varints(rest, size)
    cells = _narrowed(_varint_words(rest, size), int(size.max(initial=1)))
    held = arange(cells.itemsize) < size[:, None]
    return Ragged(offsets_of(size), cells.view(np.uint8).compress(held.reshape(-1)))


def _varint_cells(values: AnyArray, tag: bytes = b"") -> tuple[U8, I64]:
    """Encode values as varints behind a tag in (n, width) bytes, of which the first of each row count; (n,) how many.

    Half as many columns are joined as with tags beside them.
    """
    words, size, width = varint_words(values, tag)
    octets = np.column_stack(words) if len(words) > 1 else _narrowed(words[0], width)
    return octets.view(np.uint8).reshape(len(size), len(words) * octets.itemsize)[:, :width], size


def varint_words(values: AnyArray, tag: bytes = b"") -> tuple[list[U64], I64, int]:
    """Encode values as varints behind a tag of few bytes; return each row's bytes, how many they are, and the most.

    They are one word, the first byte lowest, or two where any row has more than eight; what lies above is 0.
    """
    rest, size = _with_sizes(values)
    width = len(tag) + int(size.max(initial=1))
    if width <= 8:
        words = _varint_words(rest, size)
        if tag:
            words <<= np.uint64(8 * len(tag))
            words |= np.uint64(int.from_bytes(tag, "little"))
        return [words], size + len(tag), width
    octets = np.zeros((len(rest), 16), np.uint8)
    octets[:, : len(tag)] = np.frombuffer(tag, np.uint8)
    octets[:, len(tag) :][arange(16 - len(tag)) < size[:, None]] = _long_varints(rest, size).values
    return list(octets.view("<u8").T.astype(np.uint64)), size + len(tag), width


def _with_sizes(values: AnyArray) -> tuple[U64, I64]:
    """Return values as unsigned numbers, and how many bytes each takes."""
    rest = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values.astype(np.uint64)
    ends = rest[[rest.argmin(), rest.argmax()]] if len(rest) else rest
    least, most = searchsorted(_LIMITS, ends, side="right").tolist() or (0, 0)
    size = np.full(len(rest), 1 + least, np.int64)
    for limit in _LIMITS[least:most]:
        size += rest >= limit
    return rest, size


@lru_cache(1 << 12)
def varint(value: int) -> bytes:
    """Encode one number from 0 to 2**64 − 1; `varints` is for columns."""
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def _varint_words(rest: U64, size: I64) -> U64:
    """Return each varint of up to eight bytes as a word, its first byte lowest."""
    width = int(size.max(initial=1))
    words = _MORE[size - 1]
    for place in range(width):
        words |= (rest & np.uint64(0x7F << 7 * place)) << np.uint64(place)
    return words


def _narrowed(words: U64, width: int) -> AnyArray:
    """Return words as the bytes of four or eight, lowest first."""
    return words.astype("<u4" if width <= 4 else "<u8")


class Ids:
    """Varints of the ids 1 … count, which are made once and picked: no byte of theirs is 0, so NULs can fill cells.

    With ``field``, each stands behind its tag: a repeated field that is not packed.
    """

    def __init__(self, count: int, field: int = 0) -> None:
        numbers, self._size = _with_sizes(np.arange(1, count + 1, dtype=np.uint64))
        self._cells = _varint_words(numbers, self._size)
        if field:
            self._cells = (self._cells.astype("<u8") << np.uint64(8)) | np.uint64(field << 3 | VARINT)
            self._size = self._size + 1

    def rows(self, rows: Ragged) -> Ragged:
        """The ids of every row end to end, as bytes; numbers count from 0."""
        ends = np.append(0, cumsum(self._size[rows.values]))
        data = without_nulls(self._cells[rows.values])
        return Ragged(ends[rows.offsets], np.frombuffer(data, np.uint8))

    def packed(self, field: int, rows: Ragged) -> Ragged:
        """`packed_field` of the ids of every row; tag and length are one more cell in front of them."""
        ends = np.append(0, cumsum(self._size[rows.values]))
        lengths = np.diff(ends[rows.offsets])
        rest, size = _with_sizes(lengths)
        heads = _varint_words(rest, size) << np.uint64(8) | np.uint64(field << 3 | LENGTH)
        heads[lengths == 0] = 0
        data = without_nulls(np.insert(self._cells[rows.values], as_intp(rows.offsets[:-1]), heads))
        return Ragged(offsets_of(np.where(lengths, lengths + size + 1, 0)), np.frombuffer(data, np.uint8))


def _long_varints(rest: U64, size: I64) -> Ragged:
    """Encode byte by byte, for any length."""
    offsets = offsets_of(size)
    out = np.empty(offsets[-1], np.uint8)
    at, rows = offsets[:-1].copy(), arange(len(rest))
    while len(rows):
        last = rest < 128
        out[at] = (rest & np.uint64(127)).astype(np.uint8) | (~last).astype(np.uint8) << 7
        rows, at, rest = rows[~last], at[~last] + 1, rest[~last] >> np.uint64(7)
    return Ragged(offsets, out)


def number_field(field: int, values: AnyArray, held: Bools | None = None) -> Ragged:
    """A varint field of every message; value 0 is left out, as proto3 does, unless ``held`` says what is written."""
    present = flatnonzero(values if held is None else held)
    return _scattered(len(values), present, _tagged_varints(field, VARINT, values[present]))


def number_fields(columns: Mapping[int, AnyArray]) -> Ragged:
    """Messages of varint fields, in this order; a value 0 is left out."""
    cells = [_varint_cells(values, varint(field << 3 | VARINT)) for field, values in columns.items()]
    sizes = [np.where(values, size, 0) for values, (_, size) in zip(columns.values(), cells, strict=True)]
    return _held([octets for octets, _ in cells], sizes)


def fixed_field(field: int, values: AnyArray, held: Bools | None = None) -> Ragged:
    """A fixed64 field of every message: eight bytes, the lowest first; as `number_field` otherwise."""
    present = flatnonzero(values if held is None else held)
    words = Ragged(arange(len(present) + 1) * 8, values[present].astype("<u8").view(np.uint8))
    return _scattered(len(values), present, _tagged(field, FIXED64, words))


def packed_field(field: int, rows: Ragged) -> Ragged:
    """A repeated varint field in packed form; rows without values are left out."""
    return message_field(field, _concatenated(varints(rows.values), rows.offsets))


def message_field(field: int, messages: Ragged) -> Ragged:
    """Bytes as a length-delimited field; empty rows are left out."""
    present = flatnonzero(messages.lengths)
    held = messages.take(present)
    return _scattered(len(messages), present, side_by_side([_tagged_varints(field, LENGTH, held.lengths), held]))


def nested_field(field: int, messages: Ragged, offsets: I64) -> Ragged:
    """A repeated message field: owner i holds ``messages[offsets[i]:offsets[i + 1]]``. Empty messages are kept."""
    delimited = side_by_side([_tagged_varints(field, LENGTH, messages.lengths), messages])
    return _concatenated(delimited, offsets)


def top_level(field: int, messages: Ragged) -> bytes:
    """All messages as one repeated field of the outermost message, ready to be written."""
    return bytes(nested_field(field, messages, np.array([0, len(messages)], np.int64)).values)


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


def chosen_packed(field: int, rows: Ragged, chosen: I64) -> Chosen:
    """``packed_field`` of the chosen rows, as a part of a message."""
    return texts_of(packed_field(field, rows)), chosen


def chosen_messages(field: int, parts: Sequence[Chosen]) -> bytes:
    """A repeated message field of the outermost message; each message is a text of every part, side by side."""
    sizes: I64 = np.sum([texts.lengths[rows] for texts, rows in parts], axis=0, dtype=np.int64)
    distinct, place = unique_inverse(sizes)
    head = texts_of(_tagged_varints(field, LENGTH, distinct)), place
    return interleaved(*(texts.pieces[rows] for texts, rows in (head, *parts)))


def text_fields(field: int, texts: Sequence[str]) -> bytes:
    """A repeated string field of the outermost message."""
    encoded = [text.encode() for text in texts]
    lengths = varints(np.array([len(text) for text in encoded], np.int64))
    sizes, ends = lengths.values.tobytes(), lengths.offsets.tolist()
    tag = varint(field << 3 | LENGTH)
    return b"".join(
        piece for row, text in enumerate(encoded) for piece in (tag, sizes[ends[row] : ends[row + 1]], text)
    )


def _tagged(field: int, wire_type: int, rows: Ragged) -> Ragged:
    """Every row behind the field's tag."""
    tag = np.frombuffer(varint(field << 3 | wire_type), np.uint8)
    return side_by_side([Ragged(arange(len(rows) + 1) * len(tag), np.tile(tag, len(rows))), rows])


def _tagged_varints(field: int, wire_type: int, values: AnyArray) -> Ragged:
    """Every value as a varint behind the field's tag."""
    octets, sizes = _varint_cells(values, varint(field << 3 | wire_type))
    return _held([octets], [sizes])


def _held(cells: Sequence[U8], sizes: Sequence[I64]) -> Ragged:
    """The first bytes of every row of cells (n, width), as many as ``sizes`` (n,) say, side by side."""
    held = [arange(octets.shape[1]) < size[:, None] for octets, size in zip(cells, sizes, strict=True)]
    values = np.hstack(cells).reshape(-1).compress(np.hstack(held).reshape(-1))
    total: I64 = np.sum(sizes, axis=0, dtype=np.int64)
    return Ragged(offsets_of(total), values)


def _scattered(count: int, present: I64, rows: Ragged) -> Ragged:
    """A table of ``count`` rows that are empty except the present ones."""
    lengths = np.zeros(count, np.int64)
    lengths[present] = rows.lengths
    return Ragged(offsets_of(lengths), rows.values)


def _concatenated(rows: Ragged, offsets: I64) -> Ragged:
    """Neighbouring rows made one: row i is rows[offsets[i]:offsets[i + 1]]; no byte moves."""
    return Ragged(rows.offsets[offsets], rows.values)
