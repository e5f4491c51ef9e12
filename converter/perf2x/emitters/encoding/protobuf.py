"""Protobuf messages: single fields, and columns of fields with one numpy pass per field.

Source of truth: the protobuf encoding guide (protobuf.dev/programming-guides/encoding). Functions whose names end in
_cells or _field encode a field of many messages: one message per row. `Cells` suit short fields: rows of 64-bit words,
of which only the first bytes are used. This is one row of two fields, each a tag and a number::

    words    08 97 01 00 ·· | 10 05 00 ··      sizes   3 2
    merged   08 97 01 10 05 00 ··                      5        if all rows of both columns fit into one word
    bytes    08 97 01 10 05

Functions whose names end in _field return a ListArray of uint8, whose rows have any length. In a `SharedColumn`, many
messages share few long values.
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
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, without_nuls

_VARINT, _FIXED64, _LENGTH = 0, 1, 2


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


def nonzero_number(field: int, value: int) -> bytes:
    """Encode a varint field; nothing for 0, as in proto3."""
    return number(field, value) if value else b""


def nonzero_fixed64(field: int, value: int) -> bytes:
    """Encode a fixed64 field, little-endian; nothing for 0."""
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little") if value else b""


def message(field: int, payload: bytes) -> bytes:
    """Encode a length-delimited field: a message, or UTF-8 text."""
    return varint(field << 3 | _LENGTH) + varint(len(payload)) + payload


def string(field: int, value: str) -> bytes:
    """Encode a string field; nothing for "". ``value`` must be encodable as UTF-8 (`printable`)."""
    return message(field, value.encode()) if value else b""


def repeated_string(field: int, values: Iterable[str]) -> bytes:
    """Encode a repeated string field, including empty strings."""
    return b"".join(message(field, value.encode()) for value in values)


def message_chunks(field: int, payload: Iterable[bytes]) -> list[bytes]:
    """Return a length-delimited field in chunks: tag and length, then the payload."""
    chunks = list(payload)
    return [varint(field << 3 | _LENGTH) + varint(sum(map(len, chunks))), *chunks]


_WORD_BYTES = 8
# Words with 01 in each of their first bytes, by number of bytes: 0, 01, 0101 …
_USED_BYTES = np.array([(1 << 8 * size) // 255 for size in range(_WORD_BYTES + 1)], "<u8")
# The smallest values whose varints need 2, 3, … 10 bytes.
_LIMITS = as_uint64([1 << (7 * size) for size in range(1, 10)])
_CONTINUATION_BITS = _USED_BYTES << np.uint64(7)


class WordColumn(Frozen):
    """One 64-bit word per row, lowest byte first; unused bytes are 0."""

    words: U64
    sizes: I64
    """Number of used bytes of each word."""
    width: int
    """Upper bound of ``sizes``."""

    def and_then(self, other: "WordColumn") -> "WordColumn":
        """Concatenate two columns whose rows fit into one word."""
        words = other.words << (self.sizes.view(np.uint64) << np.uint64(3))
        return WordColumn(words | self.words, self.sizes + other.sizes, self.width + other.width)


class Cells(Frozen):
    """The encoded fields of many messages, side by side; a row is the bytes of one message."""

    columns: tuple[WordColumn, ...]
    sizes: I64
    """(rows,) bytes of each row, in all columns together."""

    def without(self, is_left_out: Bools) -> "Cells":
        """Return these cells, without any bytes in rows that are left out."""
        columns = (
            WordColumn(
                np.where(is_left_out, np.uint64(0), column.words), np.where(is_left_out, 0, column.sizes), column.width
            )
            for column in self.columns
        )
        return Cells(tuple(columns), np.where(is_left_out, 0, self.sizes))

    def tobytes(self) -> bytes:
        """Return all rows, concatenated."""
        return self._octets().tobytes()

    def rows(self) -> ListArray:
        """Return the bytes of each row."""
        return ListArray(offsets_of(self.sizes), self._octets())

    def _octets(self) -> U8:
        columns = list(_merged(self.columns))
        dtype = "<u4" if len(columns) == 1 and columns[0].width <= _WORD_BYTES // 2 else "<u8"
        # (rows, columns) words; bytes of ``is_used`` are 1 where those of ``words`` are used
        words, is_used = (np.empty((len(self.sizes), len(columns)), dtype) for _ in range(2))
        for index, column in enumerate(columns):
            words[:, index], is_used[:, index] = column.words, _USED_BYTES[column.sizes]
        octets = words.view(np.uint8).reshape(-1)
        return octets.compress(is_used.view(np.bool_).reshape(-1))  # a third of the time of boolean indexing


def _merged(columns: Sequence[WordColumn]) -> Iterator[WordColumn]:
    merged = columns[0]
    for column in columns[1:]:
        if merged.width + column.width <= _WORD_BYTES:
            merged = merged.and_then(column)
        else:
            yield merged
            merged = column
    yield merged


def constant_cells(count: int, data: bytes) -> Cells:
    """Return the same bytes in each of ``count`` rows."""
    parts = [data[start : start + _WORD_BYTES] for start in range(0, len(data), _WORD_BYTES)]
    columns = (
        WordColumn(
            np.full(count, int.from_bytes(part, "little"), np.uint64), np.full(count, len(part), np.int64), len(part)
        )
        for part in parts
    )
    return Cells(tuple(columns), np.full(count, len(data), np.int64))


def number_cells(field: int, values: AnyArray) -> Cells:
    """Encode a varint field in every row, including rows with 0."""
    return varints(values, varint(field << 3 | _VARINT))


def nonzero_cells(field: int, values: AnyArray) -> Cells:
    """Encode a varint field in every row; nothing for 0, as in proto3."""
    return number_cells(field, values).without(values == 0)


def packed_cells(field: int, columns: Sequence[AnyArray]) -> Cells:
    """Encode a packed field with one number per column."""
    return message_cells(field, join_fields([varints(column) for column in columns]))


def message_cells(field: int, message: Cells, bytes_after: I64 | int = 0) -> Cells:
    """Encode every row as a nested message; its length includes ``bytes_after``, which the caller adds."""
    return join_fields([_lengths(field, message.sizes + bytes_after), message])


def _lengths(field: int, sizes: I64) -> Cells:
    return varints(sizes, varint(field << 3 | _LENGTH))


def join_fields(parts: Sequence[Cells]) -> Cells:
    """Concatenate the fields of each row."""
    sizes = reduce(np.add, (part.sizes for part in parts))
    return Cells(tuple(column for part in parts for column in part.columns), sizes)


def varints(values: AnyArray, tag: bytes = b"") -> Cells:
    """Encode numbers below 2**64 after a tag; signed values as 64-bit two's complement.

    Up to eight bytes are made as one word::

        value   1 0010111         word   0000 0001 | 1001 0111      bytes, the lowest first   97 01
    """
    unsigned = as_int64(values).view(np.uint64) if values.dtype.kind == "i" else as_uint64(values)
    sizes = _varint_sizes(unsigned)
    width = int(sizes.max(initial=1))
    words = _CONTINUATION_BITS[np.minimum(sizes - 1, _WORD_BYTES)]
    for byte in range(min(width, _WORD_BYTES)):  # each group of seven bits moves up by one bit per byte below it
        words |= (unsigned & np.uint64(0x7F << 7 * byte)) << np.uint64(byte)
    if len(tag) + width <= _WORD_BYTES:
        words <<= np.uint64(8 * len(tag))
        words |= np.uint64(int.from_bytes(tag, "little"))
        sizes = sizes + len(tag)
        return Cells((WordColumn(words, sizes, len(tag) + width),), sizes)
    columns = [WordColumn(words, np.minimum(sizes, _WORD_BYTES), min(width, _WORD_BYTES))]
    if width > _WORD_BYTES:
        # the highest bit is the tenth byte; it also stays in the ninth, where it says that another byte follows
        top = unsigned >> np.uint64(7 * _WORD_BYTES)
        top += (top >> np.uint64(7)) << np.uint64(8)
        columns.append(WordColumn(top, np.maximum(sizes - _WORD_BYTES, 0), width - _WORD_BYTES))
    cells = Cells(tuple(columns), sizes)
    return join_fields([constant_cells(len(unsigned), tag), cells]) if tag else cells


def _varint_sizes(values: U64) -> I64:
    extremes = values[[values.argmin(), values.argmax()]] if len(values) else values
    # limits between the sizes of the least and of the largest value suffice
    least, most = searchsorted(_LIMITS, extremes, side="right").tolist() or (0, 0)
    sizes = np.full(len(values), 1 + least, np.int64)
    for limit in _LIMITS[least:most]:
        sizes += values >= limit
    return sizes


class EncodedIds:
    """Varints of the ids 1 … count, made once; with ``field``, each follows its tag.

    None of their bytes is 0, so NULs can pad the words.
    """

    def __init__(self, count: int, field: int = 0) -> None:
        tag = varint(field << 3 | _VARINT) if field else b""
        (self._column,) = varints(arange(1, count + 1), tag).columns

    def rows(self, rows: ListArray) -> ListArray:
        """Encode the ids of every row; the numbers in ``rows`` count from 0, ids from 1."""
        data = without_nuls(self._column.words[rows.values])
        return ListArray(self._byte_offsets(rows), np.frombuffer(data, np.uint8))

    def packed_field(self, field: int, rows: ListArray) -> ListArray:
        """Encode the ids of every row as the function `packed_field` does."""
        sizes = np.diff(self._byte_offsets(rows))
        (head,) = _lengths(field, sizes).without(sizes == 0).columns
        words = np.insert(self._column.words[rows.values], as_intp(rows.offsets[:-1]), head.words)
        return ListArray(offsets_of(sizes + head.sizes), np.frombuffer(without_nuls(words), np.uint8))

    def _byte_offsets(self, rows: ListArray) -> I64:
        return np.append(0, cumsum(self._column.sizes[rows.values]))[rows.offsets]


def number_field(field: int, values: AnyArray) -> ListArray:
    """Encode a varint field of every message; value 0 is omitted, as in proto3."""
    return nonzero_cells(field, values).rows()


def number_fields(columns: Mapping[int, AnyArray]) -> ListArray:
    """Encode messages of varint fields, by field number, in the order of ``columns``; value 0 is omitted."""
    return join_fields([nonzero_cells(field, values) for field, values in columns.items()]).rows()


def packed_field(field: int, rows: ListArray) -> ListArray:
    """Encode a repeated varint field, packed; empty rows are omitted."""
    return message_field(field, _concatenate_rows(varints(rows.values).rows(), rows.offsets))


def message_field(field: int, messages: ListArray) -> ListArray:
    """Encode bytes as a length-delimited field; empty rows are omitted."""
    sizes = messages.lengths
    return side_by_side([_lengths(field, sizes).without(sizes == 0).rows(), messages])


def nested_field(field: int, messages: ListArray, offsets: I64) -> ListArray:
    """Encode a repeated message field: row i has ``messages[offsets[i]:offsets[i + 1]]``. Empty messages are kept."""
    return _concatenate_rows(side_by_side([_lengths(field, messages.lengths).rows(), messages]), offsets)


def top_level(field: int, messages: ListArray) -> bytes:
    """Return all messages as one repeated field of the outermost message."""
    return bytes(side_by_side([_lengths(field, messages.lengths).rows(), messages]).values)


class EncodedValues(Frozen):
    """Encoded values as Python objects, each for any number of messages."""

    chunks: AnyArray
    """(values,) bytes objects."""
    lengths: I64


# values, and (messages,) the index of each message's value
SharedColumn = tuple[EncodedValues, I64]


def encoded_values(rows: ListArray) -> EncodedValues:
    """Return each row of bytes as a value."""
    data = rows.values.tobytes()
    return EncodedValues(chunk_array([data[start:end] for start, end in pairwise(rows.offsets.tolist())]), rows.lengths)


def unshared_column(rows: ListArray) -> SharedColumn:
    """Return a column in which message i has row i."""
    return encoded_values(rows), arange(len(rows))


def messages_of_columns(field: int, columns: Sequence[SharedColumn]) -> bytes:
    """Encode a repeated field of the outermost message; a message concatenates its values of all columns."""
    sizes: I64 = np.sum([values.lengths[index] for values, index in columns], axis=0, dtype=np.int64)
    distinct, size_index = unique_inverse(sizes)
    head = encoded_values(_lengths(field, distinct).rows()), size_index
    return interleaved(*(values.chunks[index] for values, index in (head, *columns)))


def _concatenate_rows(rows: ListArray, offsets: I64) -> ListArray:
    return ListArray(rows.offsets[offsets], rows.values)
