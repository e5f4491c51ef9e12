"""Finds record boundaries in bytes by following the sizes in record headers.

The start of a record is only known once the one before it is read: this is the only loop over records.

::

    struct perf_event_header { u32 type; u16 misc; u16 size; }      include/uapi/linux/perf_event.h
    |type|misc|size| payload …… |type|misc|size| payload ……
    <──────── size ─────────────>
"""

import struct
from array import array

import numpy as np
import numpy.typing as npt

from perf2x.base.abi import HEADER_SIZE, ByteOrder, SimpleperfRecordType, UserRecordType
from perf2x.base.columnar import I64, U8, U32, U64, Frozen, as_uint64, flatnonzero, take

WIDE = frozenset(
    {
        SimpleperfRecordType.SIMPLEPERF_KERNEL_SYMBOL,
        SimpleperfRecordType.SIMPLEPERF_SPLIT,
        SimpleperfRecordType.SIMPLEPERF_SPLIT_END,
        SimpleperfRecordType.SIMPLEPERF_TRACING_DATA,
    }
)
"""simpleperf's records that may exceed 64 KiB: framing stops before them."""
SPECIAL: frozenset[int] = WIDE | frozenset(
    {
        UserRecordType.HEADER_TRACING_DATA,
        UserRecordType.AUXTRACE,
        UserRecordType.COMPRESSED,
        UserRecordType.COMPRESSED2,
    }
)
"""Records after which bytes must be read differently: framing stops after them, or before them for WIDE."""

_STEPS = 32
"""Number of records to follow one by one before looking for a run again."""
_SHORT_RUN = 8
"""Shorter runs are not worthwhile: a payload full of lookalikes must not cost more than one without."""
_LARGE = 128
"""Words per record above which following sizes one by one is cheaper than examining every word."""
_USER_TYPES = 64
"""Record types from here on are perf's own, lower ones are the kernel's (PERF_RECORD_USER_TYPE_START)."""


class FramedRecords(Frozen):
    """Complete records from the start of some bytes."""

    headers: U64
    """(n,) struct perf_event_header of each record, as a word in native byte order."""
    sizes: npt.NDArray[np.uint16]
    """(n,) bytes of each record, header included."""
    length: int
    """Sum of the sizes."""
    special: int
    """Type of the last record if it is in SPECIAL, or of the next one if that is in WIDE; otherwise 0."""
    broken: bool
    """The bytes after ``length`` start with an impossible header."""


def frame_records(
    data: U8, order: ByteOrder, careful: bool = False, specials: frozenset[int] = SPECIAL
) -> FramedRecords:
    """Follow the sizes to the last complete record of ``data``, a special record or an impossible one (size below 8).

    ``careful``: expect special records, and frame nothing after one.
    """
    if careful:
        return _follow_carefully(data, order, specials)
    words = np.require(data[: len(data) // 8 * 8].view(order + "u8"), np.uint64, "A")
    headers = _follow_words(words, order)
    sizes = _size(headers, order).astype(np.uint16)
    stop = _first_irregular(headers, sizes, order, specials)
    kept = sizes[:stop]
    length = int(kept.sum(dtype=np.int64))
    if stop == len(sizes) and len(data) - length < HEADER_SIZE:
        return FramedRecords(headers[:stop], kept, length, 0, False)
    rest = _follow_carefully(data[length:], order, specials)
    headers, sizes = np.concatenate([headers[:stop], rest.headers]), np.concatenate([kept, rest.sizes])
    return FramedRecords(headers, sizes, length + rest.length, rest.special, rest.broken)


def header_types(headers: U64, order: ByteOrder) -> U32:
    """Return (n,) header.type of each record."""
    return (headers if order == "<" else headers >> np.uint64(32)).astype(np.uint32)


def _first_irregular(headers: U64, sizes: npt.NDArray[np.uint16], order: ByteOrder, specials: frozenset[int]) -> int:
    """Return the first row that is special, or whose size is not a multiple of 8; the number of rows if none is."""
    types = header_types(headers, order)
    perfs = flatnonzero(types >= _USER_TYPES)
    special = (row for row, kind in zip(perfs.tolist(), types[perfs].tolist(), strict=True) if kind in specials)
    first = int(next(special, len(sizes)))
    return min(first, int(np.argmax(sizes & 7 != 0))) if np.bitwise_or.reduce(sizes) & 7 else first


def _follow_words(words: U64, order: ByteOrder) -> U64:
    """Return the headers of complete records.

    They are wrong from the first record whose size is not a multiple of 8. Small records are found in runs; large ones
    are followed one by one.
    """
    parts = [np.zeros(0, np.uint64)]
    at, end, going = 0, len(words), True
    runs: _HeaderRuns | None = None
    while going and at < end:
        if runs is not None:
            run, at = runs.at(at)
            parts.append(run)
            if len(run) >= _SHORT_RUN:
                continue
        before = at
        some, at, going = _follow_some(words, order, at)
        parts.append(some)
        if runs is None and at - before < _LARGE * len(some):
            runs = _HeaderRuns(words, order)
    found = np.concatenate(parts)
    return found[:-1] if at > end else found


class _HeaderRuns:
    """Runs of words that look like headers, as headers do and few other words.

    If each lookalike's size leads exactly to the next, the whole run is proven once the first is known to be a header.
    Between runs the sizes are followed one by one::

        looks like a header   a     b   c      x  d     e          x lies inside c
        leads to              b     c   d      ?  e     …
        runs                  a     b   c      |  d     e
    """

    def __init__(self, words: U64, order: ByteOrder) -> None:
        self.words = _lookalikes(words, order)
        self._headers = take(words, self.words, mode="clip")
        self.following = self.words + (_size(self._headers, order) >> 3)
        self._ends = flatnonzero(np.append(self.following[:-1] != self.words[1:], True))

    def at(self, start: int) -> tuple[U64, int]:
        """Return the headers of the run that begins at word ``start``, and the word after it.

        If no run begins there, there are no headers, and the word is ``start``.
        """
        first = int(self.words.searchsorted(start))
        if first == len(self.words) or self.words[first] != start:
            return self._headers[:0], start
        last = self._ends[int(self._ends.searchsorted(first))]
        return self._headers[first : last + 1], int(self.following[last])


def _lookalikes(words: U64, order: ByteOrder) -> I64:
    """Return the indices of words that could be headers: type 1 to 128, size a multiple of 8 from 8 to 32768.

    One subtraction and one mask: fields that are too small wrap around and set bits that must be clear::

        type | misc | size     less     1 | 0 | 8     →     type below 128, size a multiple of 8 below 32768
    """
    little = order == "<"
    rest = words - np.uint64(0x0008_0000_0000_0001 if little else 0x0000_0001_0000_0008)
    rest &= np.uint64(0x8007_0000_FFFF_FF80 if little else 0xFFFF_FF80_0000_8007)
    return flatnonzero(rest == 0)


def _size(header: U64, order: ByteOrder) -> I64:
    return (header >> np.uint64(48) if order == "<" else header & np.uint64(0xFFFF)).view(np.int64)


def _follow_some(words: U64, order: ByteOrder, at: int) -> tuple[U64, int, bool]:
    """Return up to ``_STEPS`` headers, the word after them, and False if that word is not a header."""
    shift, view, end = 48 if order == "<" else 0, words.data, len(words)
    headers = array("Q")
    while at < end and len(headers) < _STEPS:
        header = view[at]
        size = header >> shift & 0xFFFF
        if size < HEADER_SIZE:
            return as_uint64(headers), at, False
        headers.append(header)
        at += size >> 3
    return as_uint64(headers), at, True


def _follow_carefully(data: U8, order: ByteOrder, specials: frozenset[int]) -> FramedRecords:
    """Frame records of any size one by one, up to a special record; slower than ``_follow_words``."""
    fields, whole = struct.Struct(order + "IHH").unpack_from, struct.Struct(order + "Q").unpack_from
    view, wide = data.data, WIDE & specials
    headers, sizes = array("Q"), array("H")
    at, found, end = 0, 0, len(data)
    while at + HEADER_SIZE <= end and not found:
        kind, _, size = fields(view, at)
        if kind in wide:
            found = kind
            break
        if size < HEADER_SIZE or at + size > end:
            break
        headers.append(whole(view, at)[0])
        sizes.append(size)
        at += size
        found = kind if kind in specials else 0
    broken = not found and at + HEADER_SIZE <= end and fields(view, at)[2] < HEADER_SIZE
    return FramedRecords(as_uint64(headers), np.array(sizes, np.uint16), at, found, broken)
