"""Finds record boundaries in bytes by following the sizes in record headers.

::

    struct perf_event_header { u32 type; u16 misc; u16 size; }      include/uapi/linux/perf_event.h
    |type|misc|size| payload …… |type|misc|size| payload ……
    <──────── size ─────────────>

A Python loop over tens of millions of records would take too long. So numpy finds all words that look like a header.
Most of them lead exactly to the next one: these runs of records take no loop. Only between runs are sizes followed one
by one.
"""

import struct
from array import array

import numpy as np
import numpy.typing as npt

from perf2x.base.abi import HEADER_SIZE, ByteOrder, SimpleperfRecordType, UserRecordType
from perf2x.base.columnar import I64, U8, U32, U64, Frozen, as_uint64, flatnonzero, take

WIDE_TYPES = frozenset(
    {
        SimpleperfRecordType.SIMPLEPERF_KERNEL_SYMBOL,
        SimpleperfRecordType.SIMPLEPERF_SPLIT,
        SimpleperfRecordType.SIMPLEPERF_SPLIT_END,
        SimpleperfRecordType.SIMPLEPERF_TRACING_DATA,
    }
)
"""Types of simpleperf's records that may exceed 64 KiB, so that header.size alone does not say where they end.

Framing stops before them.
"""
SPECIAL_TYPES: frozenset[int] = WIDE_TYPES | frozenset(
    {
        UserRecordType.HEADER_TRACING_DATA,
        UserRecordType.AUXTRACE,
        UserRecordType.COMPRESSED,
        UserRecordType.COMPRESSED2,
    }
)
"""Types of records that must be handled before the next record can be found: framing stops there.

It stops before a record of ``WIDE_TYPES``, and after one of the other types: those are compressed, or followed by data
that header.size does not include.
"""

# Records to follow one by one before runs are looked for.
_RECORDS_PER_STEP = 32
_MIN_RUN = 8
"""After a run of at least this many records, another run is looked for at once.

After a shorter run, ``_RECORDS_PER_STEP`` records are followed one by one first, so that payloads full of words that
look like headers do not take more time.
"""
_LARGE_RECORD_WORDS = 128
"""Records of this many words or more, on average, are only followed one by one, without looking for runs.

That takes less time than examining every word.
"""
# PERF_RECORD_USER_TYPE_START.
_FIRST_USER_TYPE = 64


class FramedRecords(Frozen):
    """The complete records at the start of some bytes."""

    headers: U64
    """(n,) struct perf_event_header of each record, as a word in native byte order."""
    sizes: npt.NDArray[np.uint16]
    """(n,) bytes of each record, header included."""
    length: int
    """Sum of the sizes."""
    special_type: int
    """Type of the special record at which framing stopped, 0 if none: the last record or, if wide, the next one."""
    has_impossible_header: bool
    """Whether the bytes after ``length`` start with an impossible header."""


def frame_records(
    data: U8, byte_order: ByteOrder, one_by_one: bool = False, special_types: frozenset[int] = SPECIAL_TYPES
) -> FramedRecords:
    """Frame the records from the start of ``data`` to its end, to a special one, or to an impossible one (size < 8).

    ``one_by_one`` is faster if a special record comes soon; the result is the same.
    """
    if one_by_one:
        return _frame_one_by_one(data, byte_order, special_types)
    words = np.require(data[: len(data) // 8 * 8].view(byte_order + "u8"), np.uint64, "A")
    headers = _follow_words(words, byte_order)
    sizes = _record_sizes(headers, byte_order).astype(np.uint16)
    stop = _first_irregular(headers, sizes, byte_order, special_types)
    regular_sizes = sizes[:stop]
    length = int(regular_sizes.sum(dtype=np.int64))
    if stop == len(sizes) and len(data) - length < HEADER_SIZE:
        return FramedRecords(headers[:stop], regular_sizes, length, 0, False)
    tail = _frame_one_by_one(data[length:], byte_order, special_types)
    headers, sizes = np.concatenate([headers[:stop], tail.headers]), np.concatenate([regular_sizes, tail.sizes])
    return FramedRecords(headers, sizes, length + tail.length, tail.special_type, tail.has_impossible_header)


def header_types(headers: U64, byte_order: ByteOrder) -> U32:
    """Return (n,) header.type of each record."""
    return (headers if byte_order == "<" else headers >> np.uint64(32)).astype(np.uint32)


def _first_irregular(
    headers: U64, sizes: npt.NDArray[np.uint16], byte_order: ByteOrder, special_types: frozenset[int]
) -> int:
    """The first record that is special, or whose size is not a multiple of 8."""
    types = header_types(headers, byte_order)
    user_rows = flatnonzero(types >= _FIRST_USER_TYPE)
    special_rows = (
        row for row, kind in zip(user_rows.tolist(), types[user_rows].tolist(), strict=True) if kind in special_types
    )
    first = int(next(special_rows, len(sizes)))
    return min(first, int(np.argmax(sizes & 7 != 0))) if np.bitwise_or.reduce(sizes) & 7 else first


def _follow_words(words: U64, byte_order: ByteOrder) -> U64:
    """Find the headers of all records; they are meaningless after the first size that is not a multiple of 8."""
    parts = [np.zeros(0, np.uint64)]
    word, end, is_header = 0, len(words), True
    runs: _HeaderRuns | None = None
    while is_header and word < end:
        if runs is not None:
            run, word = runs.run_from(word)
            parts.append(run)
            if len(run) >= _MIN_RUN:
                continue
        start = word
        headers, word, is_header = _follow_some(words, byte_order, start)
        parts.append(headers)
        if runs is None and word - start < _LARGE_RECORD_WORDS * len(headers):
            runs = _HeaderRuns(words, byte_order)
    headers = np.concatenate(parts)
    return headers[:-1] if word > end else headers  # without a last record that is cut off


class _HeaderRuns:
    """Runs of words that look like headers (lookalikes): the size in each word of a run leads exactly to the next word.

    If the first word of a run is a header, all are. A word of a payload that looks like a header interrupts the run::

        looks like a header   a     b   c      x  d     e          x lies inside c, which leads to d
        leads to              b     c   d      ?  e     …
        runs                  a     b   c   |  x  |  d     e
    """

    def __init__(self, words: U64, byte_order: ByteOrder) -> None:
        # per lookalike: its index, the word, and the index to which it leads
        self._indices = _lookalikes(words, byte_order)
        self._headers = take(words, self._indices, mode="clip")
        self._following = self._indices + (_record_sizes(self._headers, byte_order) >> 3)
        # (runs,) last lookalike of each run
        self._ends = flatnonzero(np.append(self._following[:-1] != self._indices[1:], True))

    def run_from(self, start: int) -> tuple[U64, int]:
        """The headers from word ``start``, a header, to the end of its run, and the next record's word.

        If ``start`` does not look like a header, there are none.
        """
        first = int(self._indices.searchsorted(start))
        if first == len(self._indices) or self._indices[first] != start:
            return self._headers[:0], start
        last = self._ends[int(self._ends.searchsorted(first))]
        return self._headers[first : last + 1], int(self._following[last])


def _lookalikes(words: U64, byte_order: ByteOrder) -> I64:
    """Indices of words that could be headers: type 1 to 128, size a multiple of 8 from 8 to 32768.

    One subtraction moves both ranges to 0, where one mask can test them. Fields that were too small wrap around, and so
    have high bits set::

        type | misc | size     less     1 | 0 | 8     →     type below 128, size a multiple of 8 below 32768

    Other real records only interrupt a run.
    """
    is_little = byte_order == "<"
    reduced = words - np.uint64(0x0008_0000_0000_0001 if is_little else 0x0000_0001_0000_0008)
    reduced &= np.uint64(0x8007_0000_FFFF_FF80 if is_little else 0xFFFF_FF80_0000_8007)
    return flatnonzero(reduced == 0)


def _record_sizes(headers: U64, byte_order: ByteOrder) -> I64:
    """header.size in bytes."""
    return (headers >> np.uint64(48) if byte_order == "<" else headers & np.uint64(0xFFFF)).view(np.int64)


def _follow_some(words: U64, byte_order: ByteOrder, word: int) -> tuple[U64, int, bool]:
    """The headers of some records, the word after them, and whether to go on."""
    shift, view, end = 48 if byte_order == "<" else 0, words.data, len(words)
    headers = array("Q")
    while word < end and len(headers) < _RECORDS_PER_STEP:
        header = view[word]
        size = header >> shift & 0xFFFF
        if size < HEADER_SIZE:
            return as_uint64(headers), word, False
        headers.append(header)
        word += size >> 3
    return as_uint64(headers), word, True


def _frame_one_by_one(data: U8, byte_order: ByteOrder, special_types: frozenset[int]) -> FramedRecords:
    unpack_fields = struct.Struct(byte_order + "IHH").unpack_from
    unpack_word = struct.Struct(byte_order + "Q").unpack_from
    view, wide = data.data, WIDE_TYPES & special_types
    headers, sizes = array("Q"), array("H")
    offset, special_type, end = 0, 0, len(data)
    while offset + HEADER_SIZE <= end and not special_type:
        kind, _, size = unpack_fields(view, offset)
        if kind in wide:
            special_type = kind
            break
        if size < HEADER_SIZE or offset + size > end:
            break
        headers.append(unpack_word(view, offset)[0])
        sizes.append(size)
        offset += size
        special_type = kind if kind in special_types else 0
    has_impossible_header = (
        not special_type and offset + HEADER_SIZE <= end and unpack_fields(view, offset)[2] < HEADER_SIZE
    )
    return FramedRecords(as_uint64(headers), np.array(sizes, np.uint16), offset, special_type, has_impossible_header)
