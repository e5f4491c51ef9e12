"""Decodes the words of callchains: context markers, instruction pointers, return addresses, cookies.

A chain is innermost first. A word at or above PERF_CONTEXT_MAX is a marker and gives the mode of the addresses after it
(machine__resolve_callchain_sample and add_callchain_ip in tools/perf/util/machine.c). The first address of each part is
an instruction pointer; the others are return addresses, which point after the call::

    KERNEL  k0 k1 k2  USER  u0 u1 u2  USER_DEFERRED  cookie
            ip ra ra        ip ra ra                 (neither becomes a frame)
"""

import numpy as np

from perf2x.base.abi import CALLCHAIN_CONTEXT_MAX, CallchainContext, CpuMode
from perf2x.base.columnar import (
    I64,
    U8,
    U64,
    Bools,
    Frozen,
    ListArray,
    arange,
    cumsum,
    falses,
    flatnonzero,
    offsets_of,
    row_numbers,
    side_by_side,
    take,
    zeros,
)

_MARKER_MODES = {
    CallchainContext.HV: CpuMode.HYPERVISOR,
    CallchainContext.KERNEL: CpuMode.KERNEL,
    CallchainContext.USER: CpuMode.USER,
    CallchainContext.USER_DEFERRED: CpuMode.USER,
    CallchainContext.GUEST: CpuMode.GUEST_KERNEL,
    CallchainContext.GUEST_KERNEL: CpuMode.GUEST_KERNEL,
    CallchainContext.GUEST_USER: CpuMode.GUEST_USER,
}
_LAST = 2**64 - 1
_MODES_FROM_LAST = np.zeros(_LAST - CALLCHAIN_CONTEXT_MAX + 1, np.uint8)
"""(markers,) the mode that each possible marker announces, in descending order; UNKNOWN for others."""
_MODES_FROM_LAST[[_LAST - context for context in _MARKER_MODES]] = list(_MARKER_MODES.values())


def split_cookies(words: U64, starts: I64, lengths: I64) -> tuple[I64, U64, Bools]:
    """Split the marker and cookie off chains that end with them.

    Returns (n,) the lengths without them, the cookies (0 for none), and whether each chain has one.
    """
    marker = np.uint64(CallchainContext.USER_DEFERRED)
    if not (words == marker).any():
        return lengths, np.zeros(len(starts), np.uint64), falses(len(starts))
    has = lengths >= 2
    ends = (starts + lengths)[has]
    has[has] = words[ends - 2] == marker
    cookies = np.zeros(len(starts), np.uint64)
    cookies[has] = words[(starts + lengths)[has] - 1]
    return lengths - 2 * has, cookies, has


class ChainParts(Frozen):
    """Runs of frames of one mode, in order, never empty. A part begins at the start of a row or at a marker."""

    row: I64
    mode: U8
    begins: I64
    """Index of each part's first frame."""

    def of_frames(self, frames: int) -> I64:
        """Return (frames,) the part of each frame.

        Several times faster than np.repeat, because most parts are short.
        """
        part = zeros(frames)
        part[self.begins[1:]] = 1
        return cumsum(part)


class ChainFrames(Frozen):
    """Addresses of many chains, innermost first, row by row.

    All addresses but the first of each part are return addresses.
    """

    offsets: I64
    address: U64
    parts: ChainParts


def decode_chains(chains: ListArray, mode: U8) -> ChainFrames:
    """Decode chains; ``mode`` (rows,) applies up to the first marker.

    Frames after an unknown marker (a stray word in programs without frame pointers) have mode UNKNOWN; perf drops the
    whole chain (add_callchain_ip).
    """
    is_marker = chains.values >= np.uint64(CALLCHAIN_CONTEXT_MAX)
    marker_at = flatnonzero(is_marker)
    before = take(offsets_of(is_marker), chains.offsets)  # number of markers before each row
    row_of_marker = row_numbers(np.diff(before))
    # indices of parts that begin at a row's start, and at a marker
    of_row = arange(len(chains)) + before[:-1]
    of_marker = arange(len(marker_at)) + row_of_marker + 1
    count = len(of_row) + len(of_marker)
    row, modes = np.empty(count, np.int64), np.empty(count, np.uint8)
    row[of_row], row[of_marker] = arange(len(chains)), row_of_marker
    back = np.uint64(_LAST) - chains.values[marker_at]
    modes[of_row], modes[of_marker] = mode, take(_MODES_FROM_LAST, back.view(np.int64))
    begin = np.empty(count + 1, np.int64)  # index of frames, not counting markers
    begin[of_row] = chains.offsets[:-1] - before[:-1]
    begin[of_marker] = marker_at - arange(len(marker_at))
    begin[-1] = len(is_marker) - len(marker_at)
    filled = flatnonzero(begin[1:] > begin[:-1])
    parts = ChainParts(take(row, filled), take(modes, filled), take(begin, filled))
    # compress takes a third of the time of boolean indexing
    return ChainFrames(chains.offsets - before, chains.values.compress(~is_marker), parts)


def decode_user_chains(chains: ListArray) -> ChainFrames:
    """Decode chains of deferred records: all addresses are user addresses, whatever markers older kernels wrote."""
    frames = decode_chains(chains, np.full(len(chains), CpuMode.USER, np.uint8))
    frames.parts.mode[:] = CpuMode.USER
    return frames


def with_lone_addresses(chains: ListArray, address: U64, alone: Bools) -> ListArray:
    """Fill the empty rows in ``alone`` with their instruction pointer, unless that is 0."""
    has = alone & (address != np.uint64(0))
    if not has.any():
        return chains
    return side_by_side([chains, ListArray(offsets_of(has), address[has])])
