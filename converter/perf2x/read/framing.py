"""Record boundaries: where each record of a stretch of bytes starts, found by following the sizes in their headers.

This is the one scalar loop of the reader: where a record starts is only known once the one before it was read.

::

    struct perf_event_header { u32 type; u16 misc; u16 size; }      include/uapi/linux/perf_event.h
    |type|misc|size| payload …… |type|misc|size| payload ……
    <──────── size ─────────────>
"""

import struct
from array import array
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf2x.abi.layouts import HEADER_SIZE, ByteOrder
from perf2x.abi.perffile import UserRecordType
from perf2x.model.arrays import U8

SPECIAL: frozenset[int] = frozenset(
    {
        UserRecordType.HEADER_TRACING_DATA,
        UserRecordType.AUXTRACE,
        UserRecordType.COMPRESSED,
        UserRecordType.COMPRESSED2,
    }
)
"""Records that change how the bytes after or inside them are read: a frame never goes on past one of them."""


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


def _follow_words(data: U8, order: ByteOrder) -> npt.NDArray[np.int64]:
    """Starts of whole records, in steps of 8 bytes; wrong from the first record on whose size is no multiple of 8."""
    words = len(data) // 8
    halves = np.require(data[: words * 8].view(order + "u2"), np.uint16, "A").data[3:]
    starts = array("q")
    add = starts.append
    at = 0
    end = words * 4
    while at < end:
        size = halves[at]
        if size < HEADER_SIZE:
            break
        add(at)
        at += size >> 3 << 2
    if at > end:
        starts.pop()
    return np.frombuffer(starts, np.int64) // 4 if starts else np.zeros(0, np.int64)


def _headers(data: U8, starts: npt.NDArray[np.int64], order: ByteOrder) -> npt.NDArray[np.void]:
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
