"""Decodes the words of callchains: context markers, instruction pointers, return addresses, cookies.

A chain is innermost first. A word at or above PERF_CONTEXT_MAX is a marker: the mode of the addresses after it
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
# mode by a marker's distance from 2⁶⁴ − 1; UNKNOWN (0) for others
_MODES_FROM_LAST = np.zeros(_LAST - CALLCHAIN_CONTEXT_MAX + 1, np.uint8)
_MODES_FROM_LAST[[_LAST - context for context in _MARKER_MODES]] = list(_MARKER_MODES.values())


def split_cookies(words: U64, starts: I64, lengths: I64) -> tuple[I64, U64, Bools]:
    """Split off PERF_CONTEXT_USER_DEFERRED and the cookie at the ends of chains.

    Chain i is ``words[starts[i] : starts[i] + lengths[i]]``. Returns (n,) remaining lengths, cookies (0 for none), and
    whether each has one.
    """
    marker = np.uint64(CallchainContext.USER_DEFERRED)
    if not (words == marker).any():
        return lengths, np.zeros(len(starts), np.uint64), falses(len(starts))
    has_cookie = lengths >= 2
    ends = (starts + lengths)[has_cookie]
    has_cookie[has_cookie] = words[ends - 2] == marker
    cookies = np.zeros(len(starts), np.uint64)
    cookies[has_cookie] = words[(starts + lengths)[has_cookie] - 1]
    return lengths - 2 * has_cookie, cookies, has_cookie


class ChainParts(Frozen):
    """Runs of frames of one mode, in order and never empty; (parts,) columns.

    A part begins at the start of a chain or at a marker.
    """

    row: I64  # of the chain
    mode: U8
    begins: I64
    """Index of the first frame among the frames of all chains."""

    def of_frames(self, frame_count: int) -> I64:
        """Return (frames,) the part of each frame: begins 0 2 3 of five frames become 0 0 1 2 2.

        As most parts are short, this is several times faster than np.repeat.
        """
        part = zeros(frame_count)
        part[self.begins[1:]] = 1
        return cumsum(part)


class ChainFrames(Frozen):
    """The addresses in many chains, without markers, innermost first and chain by chain.

    All but the first of each part are return addresses. ``offsets`` (chains + 1,) are where chains begin in ``address``
    (frames,).
    """

    offsets: I64
    address: U64
    parts: ChainParts


def decode_chains(chains: ListArray, mode: U8) -> ChainFrames:
    """Decode ``n`` chains; ``mode`` (n,) is the mode of the frames before each chain's first marker.

    Frames after an unknown marker (a stray word in programs without frame pointers) have mode UNKNOWN; perf drops the
    whole chain (add_callchain_ip). Every start of a chain and every marker begins a part; empty parts are dropped.
    """
    is_marker = chains.values >= np.uint64(CALLCHAIN_CONTEXT_MAX)
    marker_index = flatnonzero(is_marker)
    markers_before = take(offsets_of(is_marker), chains.offsets)  # (n + 1,) markers in all chains before each
    row_of_marker = row_numbers(np.diff(markers_before))
    # numbers of the parts that begin at a chain's start, and of those that begin at a marker
    at_start = arange(len(chains)) + markers_before[:-1]
    at_marker = arange(len(marker_index)) + row_of_marker + 1
    count = len(at_start) + len(at_marker)
    row, modes = np.empty(count, np.int64), np.empty(count, np.uint8)
    row[at_start], row[at_marker] = arange(len(chains)), row_of_marker
    from_last = np.uint64(_LAST) - chains.values[marker_index]
    modes[at_start], modes[at_marker] = mode, take(_MODES_FROM_LAST, from_last.view(np.int64))
    begin = np.empty(count + 1, np.int64)
    begin[at_start] = chains.offsets[:-1] - markers_before[:-1]
    begin[at_marker] = marker_index - arange(len(marker_index))
    begin[-1] = len(is_marker) - len(marker_index)
    nonempty = flatnonzero(begin[1:] > begin[:-1])
    parts = ChainParts(take(row, nonempty), take(modes, nonempty), take(begin, nonempty))
    # compress takes a third of the time of boolean indexing
    return ChainFrames(chains.offsets - markers_before, chains.values.compress(~is_marker), parts)


def decode_user_chains(chains: ListArray) -> ChainFrames:
    """Decode chains of deferred records, which have user addresses, whatever markers older kernels wrote."""
    frames = decode_chains(chains, np.full(len(chains), CpuMode.USER, np.uint8))
    frames.parts.mode[:] = CpuMode.USER
    return frames


def fill_empty_chains(chains: ListArray, ip: U64, is_empty: Bools) -> ListArray:
    """Put the sampled instruction pointer into chains where ``is_empty`` (n,) holds, unless it is 0."""
    has_address = is_empty & (ip != np.uint64(0))
    if not has_address.any():
        return chains
    return side_by_side([chains, ListArray(offsets_of(has_address), ip[has_address])])
