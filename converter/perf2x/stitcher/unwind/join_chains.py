"""Inserts unwound user chains into the callchains of their samples.

With ``--call-graph dwarf`` the kernel records no user part (``exclude_callchain_user``), so a chain is the kernel's
part or nothing at all::

    recorded      KERNEL k0 k1 k2
    unwound       u0 u1 t2 u3 u4             t2: signal trampoline, u3: interrupted by the signal
    result        KERNEL k0 k1 k2 USER u0 u1 USER t2 USER u3 u4

In a callchain the first address after a marker is that of an instruction and the others are return addresses, so a
marker in front of every exact address carries ``UserChains.is_exact`` through all code that understands callchains.
"""

import numpy as np

from perf2x.base.abi.uapi import CallchainContext
from perf2x.base.columnar.arrays import I64, Bools, cumsum, flatnonzero
from perf2x.base.columnar.ragged import Ragged, offsets_of, ranges, row_numbers, side_by_side
from perf2x.stitcher.unwind.unwound_chains import UserChains

USER, DEFERRED = np.uint64(CallchainContext.USER), np.uint64(CallchainContext.USER_DEFERRED)


def with_user_part(recorded: Ragged, unwound: UserChains, use: Bools) -> Ragged:
    """Give the rows of ``use`` that were unwound their user part; other rows (of n) stay unchanged.

    Replaces a recorded user part, except a cookie, which refers to a deferred record.
    """
    user_at, is_deferred = words_before_user_part(recorded)
    use = use & (unwound.chain.lengths > 0) & ~is_deferred
    kept = np.where(use, user_at, recorded.lengths)
    head = Ragged(offsets_of(kept), recorded.values[ranges(recorded.offsets[:-1], kept)])
    return side_by_side([head, _mark_exact(unwound, use)])


def words_before_user_part(recorded: Ragged) -> tuple[I64, Bools]:
    """(n,) number of words before each row's user part, and whether that part is a cookie."""
    markers = flatnonzero((recorded.values == USER) | (recorded.values == DEFERRED))[::-1]
    row = row_numbers(recorded.lengths)[markers]
    before = recorded.lengths.copy()
    before[row] = markers - recorded.offsets[:-1][row]
    deferred = np.zeros(len(recorded), np.bool_)
    deferred[row] = recorded.values[markers] == DEFERRED
    return before, deferred


def _mark_exact(unwound: UserChains, use: Bools) -> Ragged:
    """Put a marker in front of every exact address of the rows of ``use``; other rows are empty."""
    lengths = np.where(use, unwound.chain.lengths, 0)
    entry = ranges(unwound.chain.offsets[:-1], lengths)
    size = 1 + unwound.is_exact[entry].astype(np.int64)
    end = cumsum(size)
    words = np.full(end[-1] if len(end) else 0, USER, np.uint64)
    words[end - 1] = unwound.chain.values[entry]
    return Ragged(np.append(0, end)[offsets_of(lengths)], words)
