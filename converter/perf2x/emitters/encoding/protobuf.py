"""Protobuf messages: fields of one, one by one, and columns of many, by one numpy pass for each field.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding).

Short rows are words, of which each uses the first few bytes (`Cells`); all columns are joined by one pass::

    words    08 97 01 00 ·· | 10 05 00 ··      sizes   3 2      one row: a tag and a number, a tag and a number
    folded   08 97 01 10 05 00 ··                      5        as long as all rows of both fit one word
    bytes    08 97 01 10 05

Rows of any length are a ListArray of uint8, one row for each message, glued with
list_array.side_by_side, which costs several times that where fields are as short as these.
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
"""Wire types: a number; eight bytes; bytes behind their length."""


@lru_cache(1 << 12)
def varint(value: int) -> bytes:
    """Encode a number: seven bits a byte, lowest first; a negative one as its 64-bit two's complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    octets = bytearray()
    while value > 127:
        octets.append(value & 127 | 128)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def number(field: int, value: int) -> bytes:
    """A field of one number, 0 included."""
    return varint(field << 3 | _VARINT) + varint(value)


def number_but_0(field: int, value: int) -> bytes:
    """A field of one number; nothing for 0, as proto3 has it."""
    return number(field, value) if value else b""


def fixed64_but_0(field: int, value: int) -> bytes:
    """A field of eight bytes, the lowest first; nothing for 0."""
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little") if value else b""


def message(field: int, payload: bytes) -> bytes:
    """A field of bytes: a message, or a text in UTF-8."""
    return varint(field << 3 | _LENGTH) + varint(len(payload)) + payload


def text(field: int, value: str) -> bytes:
    """A field of text, which must be printable; nothing for an empty one."""
    return message(field, value.encode()) if value else b""


def texts(field: int, values: Iterable[str]) -> bytes:
    """A repeated field of texts, empty ones included."""
    return b"".join(message(field, value.encode()) for value in values)


def entry(field: int, pieces: Iterable[bytes]) -> list[bytes]:
    """A message of the given pieces behind tag and length."""
    held = list(pieces)  # the length stands in front
    return [varint(field << 3 | _LENGTH) + varint(sum(map(len, held))), *held]


_WIDTH = 8
_HELD = np.array([(1 << 8 * size) // 255 for size in range(_WIDTH + 1)], "<u8")
"""A byte 1 for each of the first bytes of a word."""
_LIMITS = as_uint64([1 << (7 * size) for size in range(1, 10)])
"""The least value whose varint needs 2, 3, … 10 bytes."""
_MORE = _HELD << np.uint64(7)
"""The top bits of the first bytes of a word: more follows."""


class WordColumn(Frozen):
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


class Cells(Frozen):
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

    def rows(self) -> ListArray:
        """(n,) rows of bytes."""
        return ListArray(offsets_of(self.sizes), self._octets())

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
    """Cells with one text in every row."""
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
    cells = varints(values, varint(field << 3 | _VARINT))
    return cells if left_out is None else cells.without(left_out)


def numbers_but_0(field: int, values: AnyArray) -> Cells:
    """A varint field of every row, without 0, as proto3 has it."""
    return numbers(field, values, values == 0)


def packed(field: int, columns: Sequence[AnyArray]) -> Cells:
    """A packed field of as many numbers as there are columns."""
    return nested(field, beside([varints(column) for column in columns]))


def nested(field: int, message: Cells, behind: I64 | int = 0) -> Cells:
    """Every row as a message of its own, which goes on for so many bytes ``behind`` it."""
    return beside([_lengths(field, message.sizes + behind), message])


def _lengths(field: int, sizes: I64) -> Cells:
    """The beginning of a field of so many bytes in every row."""
    return varints(sizes, varint(field << 3 | _LENGTH))


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


class Ids:
    """Varints of the ids 1 … count, which are made once and picked: no byte of theirs is 0, so NULs can fill cells.

    With ``field``, each stands behind its tag: a repeated field that is not packed.
    """

    def __init__(self, count: int, field: int = 0) -> None:
        tag = varint(field << 3 | _VARINT) if field else b""
        (self._column,) = varints(arange(1, count + 1), tag).columns

    def rows(self, rows: ListArray) -> ListArray:
        """The ids of every row end to end, as bytes; numbers count from 0."""
        data = without_nulls(self._column.words[rows.values])
        return ListArray(self._ends(rows), np.frombuffer(data, np.uint8))

    def packed(self, field: int, rows: ListArray) -> ListArray:
        """`packed_field` of the ids of every row; tag and length are one more cell in front of them."""
        sizes = np.diff(self._ends(rows))
        (head,) = _lengths(field, sizes).without(sizes == 0).columns
        words = np.insert(self._column.words[rows.values], as_intp(rows.offsets[:-1]), head.words)
        return ListArray(offsets_of(sizes + head.sizes), np.frombuffer(without_nulls(words), np.uint8))

    def _ends(self, rows: ListArray) -> I64:
        return np.append(0, cumsum(self._column.sizes[rows.values]))[rows.offsets]


def number_field(field: int, values: AnyArray) -> ListArray:
    """A varint field of every message; value 0 is left out, as proto3 does."""
    return numbers_but_0(field, values).rows()


def number_fields(columns: Mapping[int, AnyArray]) -> ListArray:
    """Messages of varint fields, in this order; a value 0 is left out."""
    return beside([numbers_but_0(field, values) for field, values in columns.items()]).rows()


def packed_field(field: int, rows: ListArray) -> ListArray:
    """A repeated varint field in packed form; rows without values are left out."""
    return message_field(field, _concatenated(varints(rows.values).rows(), rows.offsets))


def message_field(field: int, messages: ListArray) -> ListArray:
    """Bytes as a length-delimited field; empty rows are left out."""
    sizes = messages.lengths
    return side_by_side([_lengths(field, sizes).without(sizes == 0).rows(), messages])


def nested_field(field: int, messages: ListArray, offsets: I64) -> ListArray:
    """A repeated message field: owner i holds ``messages[offsets[i]:offsets[i + 1]]``. Empty messages are kept."""
    return _concatenated(side_by_side([_lengths(field, messages.lengths).rows(), messages]), offsets)


def top_level(field: int, messages: ListArray) -> bytes:
    """All messages as one repeated field of the outermost message, ready to be written."""
    return bytes(side_by_side([_lengths(field, messages.lengths).rows(), messages]).values)


class EncodedRows(Frozen):
    """Rows of bytes as objects, each made once, for messages that share them."""

    pieces: AnyArray
    lengths: I64


Chosen = tuple[EncodedRows, I64]
"""DictionaryColumn, and the row of each message: message i holds row ``chosen[1][i]``."""


def texts_of(rows: ListArray) -> EncodedRows:
    """Return every row as an object."""
    data = rows.values.tobytes()
    return EncodedRows(chunk_array([data[start:end] for start, end in pairwise(rows.offsets.tolist())]), rows.lengths)


def whole(rows: ListArray) -> Chosen:
    """Choose every row once, in order."""
    return texts_of(rows), arange(len(rows))


def chosen_messages(field: int, parts: Sequence[Chosen]) -> bytes:
    """A repeated message field of the outermost message; each message is a text of every part, side by side."""
    sizes: I64 = np.sum([texts.lengths[rows] for texts, rows in parts], axis=0, dtype=np.int64)
    distinct, place = unique_inverse(sizes)
    head = texts_of(_lengths(field, distinct).rows()), place
    return interleaved(*(texts.pieces[rows] for texts, rows in (head, *parts)))


def _concatenated(rows: ListArray, offsets: I64) -> ListArray:
    """Neighbouring rows made one: row i is rows[offsets[i]:offsets[i + 1]]; no byte moves."""
    return ListArray(rows.offsets[offsets], rows.values)
