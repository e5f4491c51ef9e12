"""Record boundaries: where each record of a stretch of bytes starts, found by following the sizes in their headers.

Where a record starts is only known once the one before it was read; loops over records are here and nowhere else.

::

    struct perf_event_header { u32 type; u16 misc; u16 size; }      include/uapi/linux/perf_event.h
    |type|misc|size| payload …… |type|misc|size| payload ……
    <──────── size ─────────────>
"""

import struct
from array import array

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from perf2x.abi.layouts import HEADER_SIZE, ByteOrder
from perf2x.abi.perffile import UserRecordType
from perf2x.columnar.arrays import I64, U8, U64

SPECIAL: frozenset[int] = frozenset(
    {
        UserRecordType.HEADER_TRACING_DATA,
        UserRecordType.AUXTRACE,
        UserRecordType.COMPRESSED,
        UserRecordType.COMPRESSED2,
    }
)
"""Records that change how the bytes after or inside them are read: a frame never goes on past one of them."""


_STEPS = 32
"""Records that are followed one by one before looking for a run again."""
_SHORT_RUN = 8
"""Runs below it do not pay: a payload that is full of headers must not cost more than one that has none."""
_LARGE = 128
"""Words in a record from which on following sizes one by one costs less than looking at every word."""
_USER_TYPES = 64
"""Record types from here on are perf's own, those below are the kernel's (PERF_RECORD_USER_TYPE_START)."""


class FramedRecords(Struct, frozen=True):
    """Whole records from the start of a stretch of bytes."""

    headers: U64
    """(n,) struct perf_event_header of each record, as a word in native byte order."""
    sizes: npt.NDArray[np.uint16]
    """(n,) bytes of each record, header included."""
    length: int
    """Sum of the sizes."""
    special: int
    """Type of the last record when it is one of SPECIAL, else 0."""
    broken: bool
    """The bytes after ``length`` start with an impossible header."""


def frame_records(
    data: U8, order: ByteOrder, careful: bool = False, specials: frozenset[int] = SPECIAL
) -> FramedRecords:
    """Follow the sizes until the last whole record of ``data``, a special or an impossible one (size below 8).

    ``careful`` is for stretches where special records are expected, so that nothing is framed that lies behind them.
    """
    if careful:
        return _follow_carefully(data, order, specials)
    words = np.require(data[: len(data) // 8 * 8].view(order + "u8"), np.uint64, "A")
    headers = _follow_words(words, order)
    sizes = _size(headers, order).astype(np.uint16)
    stop = _first_to_mind(headers, sizes, order, specials)
    kept = sizes[:stop]
    length = int(kept.sum(dtype=np.int64))
    if stop == len(sizes) and len(data) - length < HEADER_SIZE:
        return FramedRecords(headers[:stop], kept, length, 0, False)
    rest = _follow_carefully(data[length:], order, specials)
    headers, sizes = np.concatenate([headers[:stop], rest.headers]), np.concatenate([kept, rest.sizes])
    return FramedRecords(headers, sizes, length + rest.length, rest.special, rest.broken)


def _first_to_mind(headers: U64, sizes: npt.NDArray[np.uint16], order: ByteOrder, specials: frozenset[int]) -> int:
    """The first record that is special, or whose size is no multiple of 8; how many there are when none is."""
    types = (headers if order == "<" else headers >> np.uint64(32)).astype(np.uint32)
    perfs = np.flatnonzero(types >= _USER_TYPES)
    special = (row for row, kind in zip(perfs.tolist(), types[perfs].tolist(), strict=True) if kind in specials)
    first = int(next(special, len(sizes)))
    return min(first, int(np.argmax(sizes & 7 != 0))) if np.bitwise_or.reduce(sizes) & 7 else first


def _follow_words(words: U64, order: ByteOrder) -> U64:
    """Headers of whole records; wrong from the first record on whose size is no multiple of 8.

    Small records are looked for in runs, large ones are followed one by one.
    """
    parts = [np.zeros(0, np.uint64)]
    at, end, going = 0, len(words), True
    runs: _Runs | None = None
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
            runs = _Runs(words, order)
    found = np.concatenate(parts)
    return found[:-1] if at > end else found


class _Runs:
    """All words that look like headers. Most of them are.

    Where each one's size leads exactly to the next, a whole run of them is proven by the first, once that is known to
    be one; between runs the sizes are followed one by one::

        looks like a header   a     b   c      x  d     e          x lies inside c
        leads to              b     c   d      ?  e     …
        runs                  a     b   c      |  d     e
    """

    def __init__(self, words: U64, order: ByteOrder) -> None:
        self._places = _lookalikes(words, order)
        self._headers = words.take(self._places, mode="clip")
        self._following = self._places + (_size(self._headers, order) >> 3)
        self._ends = np.flatnonzero(np.append(self._following[:-1] != self._places[1:], True))

    def at(self, start: int) -> tuple[U64, int]:
        """Headers of the run that begins at word ``start``, and where it leads; no run where there is none."""
        first = int(self._places.searchsorted(start))
        if first == len(self._places) or self._places[first] != start:
            return self._headers[:0], start
        last = self._ends[self._ends.searchsorted(first)]
        return self._headers[first : last + 1], int(self._following[last])


def _lookalikes(words: U64, order: ByteOrder) -> I64:
    """Words that could be headers: type 1 to 128, size a multiple of 8 from 8 to 32768.

    One subtraction and one mask. What is too small wraps around and sets bits that must be clear::

        type | misc | size     less     1 | 0 | 8     →     type below 128, size a multiple of 8 below 32768
    """
    little = order == "<"
    rest = words - np.uint64(0x0008_0000_0000_0001 if little else 0x0000_0001_0000_0008)
    rest &= np.uint64(0x8007_0000_FFFF_FF80 if little else 0xFFFF_FF80_0000_8007)
    return np.flatnonzero(rest == 0)


def _size(header: U64, order: ByteOrder) -> I64:
    return (header >> np.uint64(48) if order == "<" else header & np.uint64(0xFFFF)).view(np.int64)


def _follow_some(words: U64, order: ByteOrder, at: int) -> tuple[U64, int, bool]:
    """Up to ``_STEPS`` headers one by one, where that leads, and whether it goes on: what is no header ends it."""
    shift, view, end = 48 if order == "<" else 0, words.data, len(words)
    headers = array("Q")
    while at < end and len(headers) < _STEPS:
        header = view[at]
        size = header >> shift & 0xFFFF
        if size < HEADER_SIZE:
            return np.array(headers, np.uint64), at, False
        headers.append(header)
        at += size >> 3
    return np.array(headers, np.uint64), at, True


def _follow_carefully(data: U8, order: ByteOrder, specials: frozenset[int]) -> FramedRecords:
    """The same for sizes of any kind, up to and including a special record; slower, for the places that need it."""
    fields, whole = struct.Struct(order + "IHH").unpack_from, struct.Struct(order + "Q").unpack_from
    view = data.data
    headers, sizes = array("Q"), array("H")
    at, found, end = 0, 0, len(data)
    while at + HEADER_SIZE <= end and not found:
        kind, _, size = fields(view, at)
        if size < HEADER_SIZE or at + size > end:
            break
        headers.append(whole(view, at)[0])
        sizes.append(size)
        at += size
        found = kind if kind in specials else 0
    broken = not found and at + HEADER_SIZE <= end and fields(view, at)[2] < HEADER_SIZE
    return FramedRecords(np.array(headers, np.uint64), np.array(sizes, np.uint16), at, found, broken)
