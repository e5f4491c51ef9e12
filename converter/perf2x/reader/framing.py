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

from perf2x.abi.layouts import HEADER_SIZE, ByteOrder
from perf2x.abi.perffile import UserRecordType
from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U8, U64

SPECIAL: frozenset[int] = frozenset(
    {
        UserRecordType.HEADER_TRACING_DATA,
        UserRecordType.AUXTRACE,
        UserRecordType.COMPRESSED,
        UserRecordType.COMPRESSED2,
    }
)
"""Records that change how the bytes after or inside them are read: a frame never goes on past one of them."""


_STEPS = 64
"""Records that are followed one by one before looking for a run again."""
_SHORT_RUN = 8
"""Runs below it do not pay: a payload that is full of headers must not cost more than one that has none."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Whole records from the start of a stretch of bytes."""

    sizes: npt.NDArray[np.uint16]
    length: int
    """Sum of the sizes."""
    special: int
    """Type of the last record when it is one of SPECIAL, else 0."""
    broken: bool
    """The bytes after ``length`` start with an impossible header."""


def frame(data: U8, order: ByteOrder, careful: bool = False, specials: frozenset[int] = SPECIAL) -> Frame:
    """Follow the sizes until the last whole record of ``data``, a special or an impossible one (size below 8).

    ``careful`` is for stretches where special records are expected, so that nothing is framed that lies behind them.
    """
    if careful:
        return _follow_carefully(data, order, specials)
    headers = _headers(data, _follow_words(data, order), order)
    sizes = headers["size"]
    stop = np.flatnonzero((sizes % 8 != 0) | np.isin(headers["type"], list(specials)))
    kept = sizes[: stop[0]] if len(stop) else sizes
    length = int(kept.sum(dtype=np.int64))
    if not len(stop) and len(data) - length < HEADER_SIZE:
        return Frame(kept, length, 0, False)
    rest = _follow_carefully(data[length:], order, specials)
    return Frame(np.concatenate([kept, rest.sizes]), length + rest.length, rest.special, rest.broken)


def _follow_words(data: U8, order: ByteOrder) -> I64:
    """Starts of whole records, in words; wrong from the first record on whose size is no multiple of 8.

    Most words that look like headers are headers. Where each one's size leads exactly to the next, a whole run of them
    is proven by the first, which is known to be one; between runs the sizes are followed one by one::

        looks like a header   a     b   c      x  d     e          x lies inside c
        leads to              b     c   d      ?  e     …
        runs                  a     b   c      |  d     e
    """
    words = np.require(data[: len(data) // 8 * 8].view(order + "u8"), np.uint64, "A")
    headers, following = _lookalikes(words, order)
    run_ends = np.flatnonzero(np.append(following[:-1] != headers[1:], True))
    parts = [np.zeros(0, np.int64)]
    at, end, going = 0, len(words), True
    while going and at < end:
        first = int(headers.searchsorted(at))
        run = headers[:0]
        if first < len(headers) and headers[first] == at:
            last = run_ends[run_ends.searchsorted(first)]
            run, at = headers[first : last + 1], int(following[last])
            parts.append(run)
        if len(run) < _SHORT_RUN:
            starts, at, going = _follow_some(words, order, at)
            parts.append(starts)
    found = np.concatenate(parts)
    return found[:-1] if at > end else found


def _lookalikes(words: U64, order: ByteOrder) -> tuple[I64, I64]:
    """Words that could be headers, type below 128 and size a multiple of 8, and the word that each leads to."""
    mask = 0x0007_0000_FFFF_FF80 if order == "<" else 0xFFFF_FF80_0000_0007
    headers = np.flatnonzero((words & np.uint64(mask)) == 0)
    sizes = _size(words[headers], order)
    headers, sizes = headers[sizes >= HEADER_SIZE], sizes[sizes >= HEADER_SIZE]
    return headers, headers + (sizes >> 3)


def _size(header: U64, order: ByteOrder) -> I64:
    return (header >> np.uint64(48) if order == "<" else header & np.uint64(0xFFFF)).view(np.int64)


def _follow_some(words: U64, order: ByteOrder, at: int) -> tuple[I64, int, bool]:
    """Up to ``_STEPS`` starts one by one, where that leads, and whether it goes on: what is no header ends it."""
    shift, view, end = 48 if order == "<" else 0, words.data, len(words)
    starts = array("q")
    while at < end and len(starts) < _STEPS:
        size = view[at] >> shift & 0xFFFF
        if size < HEADER_SIZE:
            return np.array(starts, np.int64), at, False
        starts.append(at)
        at += size >> 3
    return np.array(starts, np.int64), at, True


def _headers(data: U8, starts: I64, order: ByteOrder) -> npt.NDArray[np.void]:
    fields = np.dtype([("type", order + "u4"), ("misc", order + "u2"), ("size", order + "u2")])
    return data[: len(data) // 8 * 8].view(fields)[starts].astype(fields.newbyteorder("="))


def _follow_carefully(data: U8, order: ByteOrder, specials: frozenset[int]) -> Frame:
    """The same for sizes of any kind, up to and including a special record; slower, for the places that need it."""
    header = struct.Struct(order + "IHH").unpack_from
    view = data.data
    sizes = array("H")
    at, found, end = 0, 0, len(data)
    while at + HEADER_SIZE <= end and not found:
        kind, _, size = header(view, at)
        if size < HEADER_SIZE or at + size > end:
            break
        sizes.append(size)
        at += size
        found = kind if kind in specials else 0
    broken = not found and at + HEADER_SIZE <= end and header(view, at)[2] < HEADER_SIZE
    return Frame(np.array(sizes, np.uint16), at, found, broken)
