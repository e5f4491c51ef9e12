"""Makes call stacks from the processor's last branch records (``perf record --call-graph lbr``).

In call-stack mode (PERF_SAMPLE_BRANCH_CALL_STACK), a return removes the record of its call. What is left are the calls
that have not returned, newest first: ``from`` is the call instruction, ``to`` the called function. Source of truth:
resolve_lbr_callchain_sample and has_stitched_lbr in tools/perf/util/machine.c.

::

    recorded chain      KERNEL k0 k1 USER u0 u1 …          (or no KERNEL part)
    branches            from0→to0  from1→to1  from2→to2
    result              KERNEL k0 k1 USER u0 USER from0 USER from1 USER from2

A USER marker precedes each ``from``, because the first address after a marker is an instruction (see ``callchain.py``).
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CALLCHAIN_CONTEXT_MAX, CallchainContext
from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
    Frozen,
    ListArray,
    arange,
    argsort,
    begins_run,
    ends_run,
    flatnonzero,
    lexsort,
    minus_ones,
    offsets_of,
    repeat,
    row_numbers,
    side_by_side,
    zeros,
)
from perf2x.model.recording import Branches

_USER_MARKER = np.uint64(CallchainContext.USER)
_NO_INDEX = np.uint64(2**64 - 1)
_UPPER_HALF = np.uint64(1 << 63)
"""Start of the kernel's addresses.

An interrupt may delay a sample into the kernel, although its chain has only a user part. Its ip must not replace the
innermost user address.
"""
# calls added to one sample: a stack that seems to grow forever must not exhaust memory
_MAX_STITCHED = 1024


class LbrState(Frozen):
    """The last sample of each thread so far, with its branch records, for the next batch."""

    thread: I64
    branches: Branches
    older_calls: ListArray
    """Calls that were added to the sample: uint64 ``from`` addresses."""


def empty_lbr_state() -> LbrState:
    """State before the first batch."""
    empty = np.zeros(0, np.uint64)
    offsets = zeros(1)
    return LbrState(zeros(0), Branches(offsets, empty, empty, empty, empty), ListArray(offsets, empty))


def call_stack_chains(chain: ListArray, ip: U64, branches: Branches, older_calls: ListArray | None) -> ListArray:
    """Replace the user part of each chain by the sampled user address and the calls in the sample's branch records.

    Chains without a user part stay; without branches, only the sampled user address is replaced. ``older_calls`` are
    appended.

    In user mode, the sampled address is ``ip``, which is precise (PEBS); the recorded chain begins where the interrupt
    arrived. In the kernel, it is the address recorded after PERF_CONTEXT_USER or, if there is none, the ``to`` of the
    newest branch.
    """
    marker = _first_user_marker(chain)
    chain = _with_precise_leaf(chain, marker, ip)
    count = np.diff(branches.offsets)
    is_replaced = (marker >= 0) & (count > 0)
    kept_words = np.where(is_replaced, marker - chain.offsets[:-1], chain.lengths)
    head = chain.truncated(kept_words)
    leaf = _innermost_user_addresses(chain, marker, ip, branches)[is_replaced]
    calls = ListArray.of(branches.from_ip, branches.offsets[:-1], np.where(is_replaced, count, 0))
    parts = [head, _mark_each(ListArray(offsets_of(is_replaced), leaf)), _mark_each(calls)]
    if older_calls is not None:
        parts.append(_mark_each(older_calls.truncated(np.where(is_replaced, older_calls.lengths, 0))))
    return side_by_side(parts)


def _with_precise_leaf(chain: ListArray, marker: I64, ip: U64) -> ListArray:
    """Chains of samples in user mode begin with the USER marker."""
    rows = flatnonzero((marker == chain.offsets[:-1]) & (chain.lengths > 1) & (ip != 0) & (ip < _UPPER_HALF))
    rows = rows[chain.values[marker[rows] + 1] < np.uint64(CALLCHAIN_CONTEXT_MAX)]
    values = chain.values.copy()
    values[marker[rows] + 1] = ip[rows]
    return ListArray(chain.offsets, values)


def _first_user_marker(chain: ListArray) -> I64:
    markers = flatnonzero(chain.values == _USER_MARKER)
    row = row_numbers(chain.lengths)[markers]
    first = minus_ones(len(chain))
    first[row[::-1]] = markers[::-1]  # backwards, so that a row's first marker is written last
    return first


def _innermost_user_addresses(chain: ListArray, marker: I64, ip: U64, branches: Branches) -> U64:
    after_marker = marker + 1
    is_recorded = (marker >= 0) & (after_marker < chain.offsets[1:])
    word = np.zeros(len(marker), np.uint64)
    word[is_recorded] = chain.values[after_marker[is_recorded]]
    is_recorded &= word < np.uint64(CALLCHAIN_CONTEXT_MAX)
    has_branch = np.diff(branches.offsets) > 0
    newest_to = np.zeros(len(marker), np.uint64)
    newest_to[has_branch] = branches.to_ip[branches.offsets[:-1][has_branch]]
    is_user_mode = marker == chain.offsets[:-1]
    return np.where(is_recorded, word, np.where(is_user_mode, ip, newest_to))


def _mark_each(rows: ListArray) -> ListArray:
    pairs = np.full((len(rows.values), 2), _USER_MARKER, np.uint64)
    pairs[:, 1] = rows.values
    return ListArray(rows.offsets * 2, pairs.reshape(-1))


def stitch_older_calls(
    branches: Branches, thread: I64, rank: I64, register_count: int, state: LbrState
) -> tuple[ListArray, LbrState]:
    """Find older calls, overwritten in the registers but present in the thread's previous sample (``--stitch-lbr``).

    ``rank`` (n,) is each sample's rank by time, ``register_count`` the number of branch records that the processor
    keeps. Returns (n,) the calls to append to the calls of each sample, and the state for the next batch.

    A sample continues the thread's previous sample P if the sample's oldest record is also in P, unchanged and in the
    same register. P's records that are older than this record are the sample's *chunk*. The calls that were added to P
    belong to the sample as well: P's chunk, then that of the sample that P continues, and so on. With the chunks of a
    thread laid out newest first, every result is one slice. In order of time, b continues a, c continues nothing, d
    continues c. Sample a is in the state; its chunk is the calls that were added to it before::

        laid out       [d's chunk] [c's: empty] [b's chunk] [a's chunk]
        added to b                              ^---------- ----------^
        added to d     ^---------- -----------^
    """
    all_branches = Branches.joined([state.branches, replace(branches, hw_index=_indices(branches))])
    offsets = np.append(state.older_calls.offsets, repeat(state.older_calls.offsets[-1:], len(thread)))
    older_calls = ListArray(offsets, state.older_calls.values)
    thread = np.concatenate([state.thread, thread])
    # by thread, then by time, those of the state first; the columns below are in this order
    rows = lexsort([np.concatenate([minus_ones(len(state.thread)), rank]), thread])
    thread = thread[rows]
    previous = np.concatenate([rows[:1], rows[:-1]])
    position, is_continuation = _compare_with_previous(all_branches, rows, previous, register_count)
    is_continuation &= ~begins_run(thread)
    chunks = _chunks(all_branches, older_calls, rows, previous, position, is_continuation)
    added_calls = _concatenate_runs(chunks, is_continuation)
    added_in_batch = added_calls[argsort(rows)[len(state.thread) :]]
    last = flatnonzero(ends_run(thread))
    return added_in_batch, LbrState(thread[last], all_branches[rows[last]], added_calls[last])


def _indices(branches: Branches) -> U64:
    unknown = np.full(len(branches.offsets) - 1, _NO_INDEX, np.uint64)
    return unknown if branches.hw_index is None else branches.hw_index


def _compare_with_previous(branches: Branches, rows: I64, previous: I64, register_count: int) -> tuple[I64, Bools]:
    """Compare each sample's oldest record with the record in the same register of the previous sample.

    Returns (n,) that record's position, newest first, and (n,) whether both are equal. The registers are a ring: the
    oldest of ``nr`` records is ``nr − 1`` registers before hw_idx.
    """
    count, index = np.diff(branches.offsets), _indices(branches)
    has_index = (
        (index[rows] < np.uint64(register_count)) & (index[previous] < np.uint64(register_count)) & (count[rows] > 0)
    )
    oldest_register = register_count - count[rows] + index[rows].view(np.int64) + 1
    newest_register = index[previous].view(np.int64)  # of the previous sample
    position = (newest_register - oldest_register) % register_count  # perf misses position 0: it tests newest > oldest
    is_comparable = has_index & (position < count[previous]) & (count[rows] <= register_count)
    oldest, counterpart = branches.offsets[rows + 1] - 1, branches.offsets[previous] + position
    is_equal = is_comparable.copy()
    for column in (branches.from_ip, branches.to_ip, branches.flags):
        is_equal[is_comparable] &= column[oldest[is_comparable]] == column[counterpart[is_comparable]]
    return position, is_equal


def _chunks(
    branches: Branches, older_calls: ListArray, rows: I64, previous: I64, position: I64, is_continuation: Bools
) -> ListArray:  # fmt: skip
    """The previous sample's records after ``position``; for rows of the state, the calls added before."""
    first = branches.offsets[previous] + position + 1
    lengths = np.where(is_continuation, branches.offsets[previous + 1] - first, older_calls.lengths[rows])
    starts = np.where(is_continuation, first, len(branches.from_ip) + older_calls.offsets[:-1][rows])
    return ListArray.of(np.concatenate([branches.from_ip, older_calls.values]), starts, lengths)


def _concatenate_runs(chunks: ListArray, is_continuation: Bools) -> ListArray:
    count = len(chunks)
    newest_first = chunks[arange(count)[::-1]]
    run_begin = np.maximum.accumulate(np.where(is_continuation, 0, arange(count)))  # first row of each row's run
    starts = newest_first.offsets[:-1][::-1]
    ends = newest_first.offsets[count - run_begin]
    lengths = np.minimum(ends - starts, _MAX_STITCHED)
    return ListArray.of(newest_first.values, starts, lengths)
