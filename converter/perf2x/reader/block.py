"""A block: whole records in one aligned buffer, with their headers as columns."""

import numpy as np
import numpy.typing as npt

from perf2x.abi.layouts import ByteOrder
from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U8, U64
from perf2x.model.ragged import offsets_of, ranges


@dataclass(frozen=True, slots=True)
class Block:
    """``n`` records; every one starts at a word of ``words``, whatever it did in the file."""

    data: U8
    """The bytes as recorded."""
    words: U64
    """The same as 64-bit words in native byte order: two u32 fields share a word as the file's byte order has it."""
    order: ByteOrder
    starts: I64
    """(n,) first word of each record, its header."""
    sizes: I64
    """(n,) bytes of each record, header included."""
    types: npt.NDArray[np.uint32]
    misc: npt.NDArray[np.uint16]
    positions: I64
    """(n,) offset of each record in the stream."""


def make_block(data: U8, sizes: npt.NDArray[np.uint16], position: int, order: ByteOrder) -> Block:
    """Lay out ``data``, which holds records of these sizes and nothing else."""
    lengths = sizes.astype(np.int64)
    offsets = offsets_of(lengths)
    aligned = offsets
    if np.any(sizes % 8):
        data, aligned = _spread(data, offsets, lengths)
    words = _words(data, order)
    starts = aligned[:-1] >> 3
    headers = words.take(starts)
    types, misc = split_header(headers, order)
    return Block(data, words, order, starts, lengths, types, misc, offsets[:-1] + position)


def split_header(words: U64, order: ByteOrder) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint16]]:
    """Type and misc of struct perf_event_header, from its word."""
    if order == "<":
        return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint16)
    return (words >> np.uint64(32)).astype(np.uint32), (words >> np.uint64(16)).astype(np.uint16)


def _words(data: U8, order: ByteOrder) -> U64:
    """Native words; a copy when the file's byte order or the address in memory asks for one."""
    whole = data[: len(data) // 8 * 8]
    if whole.ctypes.data % 8:
        whole = whole.copy()
    words = whole.view(order + "u8")
    return words.astype(np.uint64, copy=False)


def _spread(data: U8, offsets: I64, lengths: I64) -> tuple[U8, I64]:
    """Move records of odd sizes to word boundaries.

    ::

        in    |rec1 …|rec2 ……|rec3|        sizes 13 16 8
        out   |rec1 …   |rec2 ……|rec3|    at 0 16 32
    """
    aligned = offsets_of(-(-lengths // 8) * 8)
    spread = np.zeros(aligned[-1], np.uint8)
    spread[ranges(aligned[:-1], lengths)] = data
    return spread, aligned
