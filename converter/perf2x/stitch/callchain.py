"""What the words of a callchain mean: context markers, instruction pointers, return addresses, cookies.

A chain is innermost first. A word at or above PERF_CONTEXT_MAX is a marker and gives the mode of the addresses behind
it (machine__resolve_callchain_sample and add_callchain_ip in tools/perf/util/machine.c). The first address of each part
is where execution was; the others are return addresses, which point behind the call::

    KERNEL  k0 k1 k2  USER  u0 u1 u2  USER_DEFERRED  cookie
            ip ra ra        ip ra ra                 (neither is ever a frame)
"""

import numpy as np
from msgspec import Struct

from perf2x.abi.uapi import CALLCHAIN_CONTEXT_MAX, CallchainContext, CpuMode
from perf2x.columnar.arrays import I64, U8, U64, Bools
from perf2x.columnar.ragged import Ragged, offsets_of, row_numbers, side_by_side

_MARKER_MODES = {
    CallchainContext.HV: CpuMode.HYPERVISOR,
    CallchainContext.KERNEL: CpuMode.KERNEL,
    CallchainContext.USER: CpuMode.USER,
    CallchainContext.USER_DEFERRED: CpuMode.USER,
    CallchainContext.GUEST: CpuMode.GUEST_KERNEL,
    CallchainContext.GUEST_KERNEL: CpuMode.GUEST_KERNEL,
    CallchainContext.GUEST_USER: CpuMode.GUEST_USER,
}


def split_cookies(words: U64, starts: I64, lengths: I64) -> tuple[I64, U64, Bools]:
    """Take marker and cookie off the chains that end with them: (lengths without them, cookies or 0, which had one)."""
    marker = np.uint64(CallchainContext.USER_DEFERRED)
    has = lengths >= 2
    ends = (starts + lengths)[has]
    has[has] = words[ends - 2] == marker
    cookies = np.zeros(len(starts), np.uint64)
    cookies[has] = words[(starts + lengths)[has] - 1]
    return lengths - 2 * has, cookies, has


class Parts(Struct, frozen=True):
    """Runs of frames of one mode, in the order of the frames; every row begins one, every marker another."""

    row: I64
    mode: U8
    offsets: I64
    """(parts + 1,) where each begins among the frames; a part may be empty."""

    @property
    def lengths(self) -> I64:
        """(parts,) frames in each."""
        return np.diff(self.offsets)

    @property
    def begins(self) -> I64:
        """The first frame of every part that has any."""
        first: I64 = self.offsets[:-1][self.lengths > 0]
        return first


class Frames(Struct, frozen=True):
    """Addresses of many chains, innermost first, row by row. All but the first of each part are return addresses."""

    offsets: I64
    address: U64
    parts: Parts


def frames_of(chains: Ragged, mode: U8) -> Frames:
    """Chains to frames; ``mode`` (rows,) holds until the first marker.

    Behind a word that is neither an address nor a known marker (programs without frame pointers leave such words) the
    address itself tells the mode; perf gives the whole chain up (add_callchain_ip).
    """
    is_marker = chains.values >= np.uint64(CALLCHAIN_CONTEXT_MAX)
    marker_at = np.flatnonzero(is_marker)
    before = np.append(0, np.cumsum(is_marker))[chains.offsets]  # markers in front of each row
    row_of_marker = row_numbers(np.diff(before))
    # where the parts stand among all parts: those that rows begin, those that markers begin
    of_row = np.arange(len(chains)) + before[:-1]
    of_marker = np.arange(len(marker_at)) + row_of_marker + 1
    count = len(of_row) + len(of_marker)
    row, modes = np.empty(count, np.int64), np.empty(count, np.uint8)
    row[of_row], row[of_marker] = np.arange(len(chains)), row_of_marker
    modes[of_row], modes[of_marker] = mode, _marker_modes(chains.values[marker_at])
    begin = np.empty(count + 1, np.int64)  # in frames: words without the markers in front of them
    begin[of_row] = chains.offsets[:-1] - before[:-1]
    begin[of_marker] = marker_at - np.arange(len(marker_at))
    begin[-1] = len(is_marker) - len(marker_at)
    return Frames(chains.offsets - before, chains.values[~is_marker], Parts(row, modes, begin))


def _marker_modes(marker: U64) -> U8:
    """The mode that each marker announces; UNKNOWN for others."""
    modes = np.zeros(len(marker), np.uint8)
    for context, mode in _MARKER_MODES.items():
        modes[marker == np.uint64(context)] = mode
    return modes


def user_frames_of(chains: Ragged) -> Frames:
    """Chains of deferred records: all user addresses; markers that earlier kernels put in front are dropped."""
    frames = frames_of(chains, np.full(len(chains), CpuMode.USER, np.uint8))
    parts = frames.parts
    return Frames(
        frames.offsets,
        frames.address,
        Parts(parts.row, np.full(len(parts.mode), CpuMode.USER, np.uint8), parts.offsets),
    )


def with_lone_addresses(chains: Ragged, address: U64, alone: Bools) -> Ragged:
    """The chains, with one word for the (empty) rows that are ``alone``: where execution was, unless that is 0."""
    has = alone & (address != np.uint64(0))
    if not has.any():
        return chains
    return side_by_side([chains, Ragged(offsets_of(has.astype(np.int64)), address[has])])
