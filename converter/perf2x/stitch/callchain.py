"""What the words of a callchain mean: context markers, instruction pointers, return addresses, cookies.

A chain is innermost first. A word at or above PERF_CONTEXT_MAX is a marker and gives the mode of the addresses behind
it (machine__resolve_callchain_sample and add_callchain_ip in tools/perf/util/machine.c). The first address of each part
is where execution was; the others are return addresses, which point behind the call::

    KERNEL  k0 k1 k2  USER  u0 u1 u2  USER_DEFERRED  cookie
            ip ra ra        ip ra ra                 (neither is ever a frame)
"""

from dataclasses import dataclass

import numpy as np

from perf2x.abi.uapi import CALLCHAIN_CONTEXT_MAX, CallchainContext, CpuMode
from perf2x.model.arrays import I64, U8, U64, Bools
from perf2x.model.ragged import Ragged, offsets_of, row_numbers

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


@dataclass(frozen=True, slots=True)
class Frames:
    """Addresses of many chains, innermost first, row by row."""

    offsets: I64
    address: U64
    mode: U8
    is_return: Bools
    """The address is a return address: it points behind the call."""

    @property
    def row(self) -> I64:
        """The chain that each address belongs to."""
        return row_numbers(np.diff(self.offsets))


def frames_of(chains: Ragged, mode: U8) -> tuple[Frames, int]:
    """Chains to frames; ``mode`` (rows,) holds until the first marker. Also the number of unknown markers met."""
    words = chains.values
    row = row_numbers(chains.lengths)
    is_marker = words >= np.uint64(CALLCHAIN_CONTEXT_MAX)
    index = np.arange(len(words))
    row_start = chains.offsets[:-1][row]
    # (words,) where the part that each word belongs to begins: behind the last marker, or at the row's start
    part_start = np.maximum(np.maximum.accumulate(np.where(is_marker, index + 1, 0)), row_start)
    in_marked_part = part_start > row_start
    marker = words[np.where(in_marked_part, part_start - 1, 0)] if len(words) else words
    modes = np.where(in_marked_part, _marker_modes(marker), mode[row]).astype(np.uint8)
    keep = ~is_marker
    unknown = int(np.sum(~np.isin(words[is_marker], list(_MARKER_MODES))))
    offsets = offsets_of(np.bincount(row[keep], minlength=len(chains)))
    return Frames(offsets, words[keep], modes[keep], index[keep] > part_start[keep]), unknown


def _marker_modes(marker: U64) -> U8:
    modes = np.zeros(len(marker), np.uint8)
    for context, mode in _MARKER_MODES.items():
        modes[marker == np.uint64(context)] = mode
    return modes


def user_frames_of(chains: Ragged) -> Frames:
    """Chains of deferred records: all user addresses; markers that earlier kernels put in front are dropped."""
    frames, _ = frames_of(chains, np.full(len(chains), CpuMode.USER, np.uint8))
    return Frames(
        frames.offsets, frames.address, np.full(len(frames.address), CpuMode.USER, np.uint8), frames.is_return
    )
