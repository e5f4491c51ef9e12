"""Protobuf messages: single fields, and columns of fields with one numpy pass per field.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding).

Short fields are words of which the first few bytes are used (`Cells`); all columns are joined in one pass::

    words    08 97 01 00 ·· | 10 05 00 ··      sizes   3 2      one row: a tag and a number, a tag and a number
    folded   08 97 01 10 05 00 ··                      5        as long as all rows of both fit into one word
    bytes    08 97 01 10 05

Rows of any length are a ListArray of uint8, one row per message, joined by list_array.side_by_side, which is several
times slower for fields as short as these.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import pairwise

import numpy as np

from perf2x.base.columnar import (
    I64,
    U8,
    U64,
    AnyArray,
    Bools,
    Frozen,
    ListArray,
    arange,
    as_int64,
    as_intp,
    as_uint64,
    cumsum,
    offsets_of,
    searchsorted,
    side_by_side,
    unique_inverse,
)
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, without_nulls

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
"""Wire types: a varint; eight bytes; length-delimited bytes."""


@lru_cache(1 << 12)
def varint(value: int) -> bytes:
    """Encode a varint: seven bits per byte, lowest first; a negative number as its 64-bit two's complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def number(field: int, value: int) -> bytes:
    """Encode a varint field, even if it is 0."""
    return varint(field << 3 | _VARINT) + varint(value)


def number_but_0(field: int, value: int) -> bytes:
    """Encode a varint field; nothing for 0, as in proto3."""
    return number(field, value) if value else b""


def fixed64_but_0(field: int, value: int) -> bytes:
    """Encode a fixed64 field, little-endian; nothing for 0."""
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little") if value else b""


def message(field: int, payload: bytes) -> bytes:
    """Encode a length-delimited field: a message, or UTF-8 text."""
    return varint(field << 3 | _LENGTH) + varint(len(payload)) + payload


def text(field: int, value: str) -> bytes:
    """Encode a field of text, which must be printable; nothing for an empty text."""
    return message(field, value.encode()) if value else b""


def texts(field: int, values: Iterable[str]) -> bytes:
    """Encode a repeated field of texts, including empty ones."""
    return b"".join(message(field, value.encode()) for value in values)


def entry(field: int, pieces: Iterable[bytes]) -> list[bytes]:
    """Return a message field that consists of chunks: tag and length, then the chunks."""
    parts = list(pieces)  # their length is written first
    return [varint(field << 3 | _LENGTH) + varint(sum(map(len, parts))), *parts]


_WIDTH = 8
_HELD = np.array([(1 << 8 * size) // 255 for size in range(_WIDTH + 1)], "<u8")
"""Mask of the lowest bit of each of a word's first bytes, by number of bytes."""
_LIMITS = as_uint64([1 << (7 * size) for size in range(1, 10)])
"""The smallest values whose varints need 2, 3, … 10 bytes."""
_MORE = _HELD << np.uint64(7)
"""Continuation bits of a word's first bytes, by number of bytes."""


class WordColumn(Frozen):
    """One word per row, lowest byte first, of which ``sizes`` bytes are used, at most ``width``.

    Unused bytes are 0.
    """

    words: U64
    sizes: I64
    width: int

    def and_then(self, other: "WordColumn") -> "WordColumn":
        """Concatenate two columns whose rows fit into one word."""
        words = other.words << (self.sizes.view(np.uint64) << np.uint64(3))
        return WordColumn(words | self.words, self.sizes + other.sizes, self.width + other.width)


class Cells(Frozen):
    """Columns side by side, and the number of bytes used in each row."""

    columns: tuple[WordColumn, ...]
    sizes: I64

    def without(self, left_out: Bools) -> "Cells":
        """Return these cells, empty in some rows."""
        columns = (
            WordColumn(np.where(left_out, np.uint64(0), one.words), np.where(left_out, 0, one.sizes), one.width)
            for one in self.columns
        )
        return Cells(tuple(columns), np.where(left_out, 0, self.sizes))

    def tobytes(self) -> bytes:
        """Return all rows, concatenated."""
        return self._octets().tobytes()

    def rows(self) -> ListArray:
        """Return the bytes of each row."""
        return ListArray(offsets_of(self.sizes), self._octets())

    def _octets(self) -> U8:
        columns = list(_folded(self.columns))
        dtype = "<u4" if len(columns) == 1 and columns[0].width <= _WIDTH // 2 else "<u8"
        words, used = (np.empty((len(self.sizes), len(columns)), dtype) for _ in range(2))
        for place, column in enumerate(columns):
            words[:, place], used[:, place] = column.words, _HELD[column.sizes]
        octets = words.view(np.uint8).reshape(-1)
        return octets.compress(used.view(np.bool_).reshape(-1))  # a third of the time of boolean indexing


def _folded(columns: Sequence[WordColumn]) -> Iterator[WordColumn]:
    """Merge neighbouring columns wherever both fit into one word."""
    folded = columns[0]
    for column in columns[1:]:
        if folded.width + column.width <= _WIDTH:
            folded = folded.and_then(column)
        else:
            yield folded
            folded = column
    yield folded


def constant(count: int, text: bytes) -> Cells:
    """Return the same text in every row."""
    parts = [text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH)]
    columns = (
        WordColumn(
            np.full(count, int.from_bytes(part, "little"), np.uint64), np.full(count, len(part), np.int64), len(part)
        )
        for part in parts
    )
    return Cells(tuple(columns), np.full(count, len(text), np.int64))


def numbers(field: int, values: AnyArray) -> Cells:
    """Encode a varint field in every row, including rows with 0."""
    return varints(values, varint(field << 3 | _VARINT))


def numbers_but_0(field: int, values: AnyArray) -> Cells:
    """Encode a varint field in every row; nothing for 0, as in proto3."""
    return numbers(field, values).without(values == 0)


def packed(field: int, columns: Sequence[AnyArray]) -> Cells:
    """Encode a packed field with one number per column."""
    return nested(field, beside([varints(column) for column in columns]))


def nested(field: int, message: Cells, behind: I64 | int = 0) -> Cells:
    """Encode every row as a nested message; its length includes ``behind`` bytes, which follow the row."""
    return beside([_lengths(field, message.sizes + behind), message])


def _lengths(field: int, sizes: I64) -> Cells:
    """Encode tag and length of a length-delimited field in every row."""
    return varints(sizes, varint(field << 3 | _LENGTH))


def beside(parts: Sequence[Cells]) -> Cells:
    """Concatenate the fields of one message."""
    sizes = reduce(np.add, (part.sizes for part in parts))
    return Cells(tuple(column for part in parts for column in part.columns), sizes)


def varints(values: AnyArray, tag: bytes = b"") -> Cells:
    """Encode numbers below 2**64 after a tag; `varint` encodes a single number.

    Seven bits per byte, lowest first, with the top bit set on all bytes but the last; signed values as 64-bit two's
    complement. Up to eight bytes are made as one word::

        value   1 0010111         word   0000 0001 | 1001 0111      bytes, the lowest first   97 01
    """
    rest = as_int64(values).view(np.uint64) if values.dtype.kind == "i" else as_uint64(values)
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
        above = rest >> np.uint64(7 * _WIDTH)  # eight bits, so at most two bytes
        above += (above >> np.uint64(7)) << np.uint64(8)
        whole = Cells((*whole.columns, WordColumn(above, np.maximum(sizes - _WIDTH, 0), width - _WIDTH)), sizes)
    return beside([constant(len(rest), tag), whole]) if tag else whole


def _varint_sizes(values: U64) -> I64:
    """Return (n,) the encoded size of each value in bytes."""
    ends = values[[values.argmin(), values.argmax()]] if len(values) else values
    least, most = searchsorted(_LIMITS, ends, side="right").tolist() or (0, 0)
    sizes = np.full(len(values), 1 + least, np.int64)
    for limit in _LIMITS[least:most]:
        sizes += values >= limit
    return sizes


class Ids:
    """Varints of the ids 1 … count, made once and then gathered. None of their bytes is 0, so NULs can pad cells.

    With ``field``, each follows its tag: a repeated field that is not packed.
    """

    def __init__(self, count: int, field: int = 0) -> None:
        tag = varint(field << 3 | _VARINT) if field else b""
        (self._column,) = varints(arange(1, count + 1), tag).columns

    def rows(self, rows: ListArray) -> ListArray:
        """Encode the ids of every row; the numbers in ``rows`` count from 0, ids from 1."""
        data = without_nulls(self._column.words[rows.values])
        return ListArray(self._ends(rows), np.frombuffer(data, np.uint8))

    def packed(self, field: int, rows: ListArray) -> ListArray:
        """Return `packed_field` of the ids of every row; tag and length are one more cell before them."""
        sizes = np.diff(self._ends(rows))
        (head,) = _lengths(field, sizes).without(sizes == 0).columns
        words = np.insert(self._column.words[rows.values], as_intp(rows.offsets[:-1]), head.words)
        return ListArray(offsets_of(sizes + head.sizes), np.frombuffer(without_nulls(words), np.uint8))

    def _ends(self, rows: ListArray) -> I64:
        return np.append(0, cumsum(self._column.sizes[rows.values]))[rows.offsets]


def number_field(field: int, values: AnyArray) -> ListArray:
    """Encode a varint field of every message; value 0 is omitted, as in proto3."""
    return numbers_but_0(field, values).rows()


def number_fields(columns: Mapping[int, AnyArray]) -> ListArray:
    """Encode messages of varint fields, in this order; value 0 is omitted."""
    return beside([numbers_but_0(field, values) for field, values in columns.items()]).rows()


def packed_field(field: int, rows: ListArray) -> ListArray:
    """Encode a repeated varint field, packed; empty rows are omitted."""
    return message_field(field, _concatenated(varints(rows.values).rows(), rows.offsets))


def message_field(field: int, messages: ListArray) -> ListArray:
    """Encode bytes as a length-delimited field; empty rows are omitted."""
    sizes = messages.lengths
    return side_by_side([_lengths(field, sizes).without(sizes == 0).rows(), messages])


def nested_field(field: int, messages: ListArray, offsets: I64) -> ListArray:
    """Encode a repeated message field: owner i has ``messages[offsets[i]:offsets[i + 1]]``. Empty messages are kept."""
    return _concatenated(side_by_side([_lengths(field, messages.lengths).rows(), messages]), offsets)


def top_level(field: int, messages: ListArray) -> bytes:
    """Return all messages as one repeated field of the outermost message, ready to write."""
    return bytes(side_by_side([_lengths(field, messages.lengths).rows(), messages]).values)


class EncodedRows(Frozen):
    """Rows of bytes as Python objects, each made once, for messages that share them."""

    pieces: AnyArray
    lengths: I64


Chosen = tuple[EncodedRows, I64]
"""Encoded rows, and the row of each message: message i has row ``chosen[1][i]``."""


def texts_of(rows: ListArray) -> EncodedRows:
    """Return every row as an object."""
    data = rows.values.tobytes()
    return EncodedRows(chunk_array([data[start:end] for start, end in pairwise(rows.offsets.tolist())]), rows.lengths)


def whole(rows: ListArray) -> Chosen:
    """Select every row once, in order."""
    return texts_of(rows), arange(len(rows))


def chosen_messages(field: int, parts: Sequence[Chosen]) -> bytes:
    """Encode a repeated field of the outermost message; each message concatenates one row of every part."""
    sizes: I64 = np.sum([texts.lengths[rows] for texts, rows in parts], axis=0, dtype=np.int64)
    distinct, place = unique_inverse(sizes)
    head = texts_of(_lengths(field, distinct).rows()), place
    return interleaved(*(texts.pieces[rows] for texts, rows in (head, *parts)))


def _concatenated(rows: ListArray, offsets: I64) -> ListArray:
    """Merge neighbouring rows without copying: row i is rows[offsets[i]:offsets[i + 1]]."""
    return ListArray(rows.offsets[offsets], rows.values)
