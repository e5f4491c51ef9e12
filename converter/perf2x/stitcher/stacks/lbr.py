"""Makes call stacks from the processor's last branch records (``perf record --call-graph lbr``).

In call-stack mode (PERF_SAMPLE_BRANCH_CALL_STACK) a return removes the record of its call, so that the records of calls
that have not returned remain: ``from`` is the call instruction, ``to`` the called function, newest first. Source of
truth: resolve_lbr_callchain_sample and has_stitched_lbr in tools/perf/util/machine.c.

::

    recorded chain      KERNEL k0 k1 USER u0 u1 …          (or no KERNEL part)
    branches            from0→to0  from1→to1  from2→to2
    result              KERNEL k0 k1 USER u0 USER from0 USER from1 USER from2

Here ``from`` addresses are call instructions, not return addresses, so nothing may be subtracted from them for the
lookup of symbols. Therefore a USER marker precedes each: the first address after a marker is an instruction (see
``callchain.py``).
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
"""Start of the kernel's addresses. The ip of a sample whose chain has only a user part can be in the kernel, if an
interrupt delayed the sample; it must not replace the innermost user address.
"""
# Maximum number of calls added to one sample: a stack that seems to grow forever must not exhaust memory.
_MAX_STITCHED = 1024


class LbrState(Frozen):
    """The last sample of each thread so far, with its branch records; the next batch continues from these."""

    thread: I64
    branches: Branches
    older_calls: ListArray
    """The older calls that were added to the sample: uint64 ``from`` addresses."""


def empty_lbr_state() -> LbrState:
    """The state before the first batch."""
    empty = np.zeros(0, np.uint64)
    offsets = zeros(1)
    return LbrState(zeros(0), Branches(offsets, empty, empty, empty, empty), ListArray(offsets, empty))


def call_stack_chains(chain: ListArray, ip: U64, branches: Branches, older_calls: ListArray | None) -> ListArray:
    """Replace the user part of each chain by the sampled user address and the calls in the sample's branch records.

    Chains without a user part stay as they are; without branches, only the sampled user address is replaced.
    ``older_calls`` has further calls to append to each chain, from ``stitch_older_calls``.

    For a sample taken in user mode, the sampled user address is ``ip``, which is precise (PEBS), while the recorded
    chain begins where the interrupt arrived, some instructions later. For a sample taken in the kernel, it is the
    address recorded after PERF_CONTEXT_USER or, if there is none, the ``to`` of the newest branch.
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
    """Return the chains; if a sample was taken in user mode, ``ip`` replaces the first address of its chain.

    A sample is in user mode if its chain begins with the USER marker. ``marker`` (n,) is from ``_first_user_marker``.
    """
    rows = flatnonzero((marker == chain.offsets[:-1]) & (chain.lengths > 1) & (ip != 0) & (ip < _UPPER_HALF))
    rows = rows[chain.values[marker[rows] + 1] < np.uint64(CALLCHAIN_CONTEXT_MAX)]
    values = chain.values.copy()
    values[marker[rows] + 1] = ip[rows]
    return ListArray(chain.offsets, values)


def _first_user_marker(chain: ListArray) -> I64:
    """Return the index in ``chain.values`` of each row's first PERF_CONTEXT_USER, −1 for none; shape (n,)."""
    markers = flatnonzero(chain.values == _USER_MARKER)
    row = row_numbers(chain.lengths)[markers]
    first = minus_ones(len(chain))
    first[row[::-1]] = markers[::-1]  # backwards, so that a row's first marker is written last
    return first


def _innermost_user_addresses(chain: ListArray, marker: I64, ip: U64, branches: Branches) -> U64:
    """Return (n,) the innermost user address of each sample: the word after ``marker``, else ``ip`` or ``to``."""
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
    """Put a USER marker before every entry."""
    pairs = np.full((len(rows.values), 2), _USER_MARKER, np.uint64)
    pairs[:, 1] = rows.values
    return ListArray(rows.offsets * 2, pairs.reshape(-1))


def stitch_older_calls(
    branches: Branches, thread: I64, rank: I64, register_count: int, state: LbrState
) -> tuple[ListArray, LbrState]:
    """Find older calls, overwritten in the registers but present in the thread's previous sample (``--stitch-lbr``).

    ``thread`` (n,) identifies threads, ``rank`` (n,) is each sample's rank by time, ``register_count`` is the number
    of branch records that the processor keeps. Returns (n,) the calls to append to the calls of each sample, and the
    state for the next batch.

    Let P be the thread's previous sample. A sample continues P if the sample's oldest record is also in P, unchanged
    and in the same register. Then P's records that are older than this record belong to the sample as well; they are
    the sample's *chunk*. So do the calls that were added to P: its chunk, then the chunk of the sample that P
    continues, and so on. With the chunks of a thread laid out newest first, every result is one slice. Of four samples
    in order of time, b continues a, c continues nothing, d continues c; a is the thread's last sample before the batch,
    whose chunk is the calls that were added to it then::

        laid out       [d's chunk] [c's: empty] [b's chunk] [a's chunk]
        added to b                              ^---------- ----------^
        added to d     ^---------- -----------^
    """
    # rows of the state, followed by those of the batch
    all_branches = Branches.joined([state.branches, replace(branches, hw_index=_indices(branches))])
    offsets = np.append(state.older_calls.offsets, repeat(state.older_calls.offsets[-1:], len(thread)))
    older_calls = ListArray(offsets, state.older_calls.values)
    thread = np.concatenate([state.thread, thread])
    # by thread, then by time; those of the state come first. From here on, columns are in this order.
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
    """Return (n,) which hardware register has each sample's newest record (hw_idx), _NO_INDEX if unknown."""
    unknown = np.full(len(branches.offsets) - 1, _NO_INDEX, np.uint64)
    return unknown if branches.hw_index is None else branches.hw_index


def _compare_with_previous(branches: Branches, rows: I64, previous: I64, register_count: int) -> tuple[I64, Bools]:
    """Compare each sample's oldest record with the record in the same register of the previous sample.

    Returns the position of that record among the previous sample's, newest first, and whether the two are equal.
    Shapes: all (n,).

    The registers are a ring. The register hw_idx has the newest record, so the oldest of ``nr`` records is ``nr − 1``
    registers before it.
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
    """Return the chunk of each sample: the previous sample's records after the one at position ``position``.

    The chunk of a sample that continues none is empty. The chunk of a row of the state is the older calls that were
    added to it in an earlier batch.
    """
    first = branches.offsets[previous] + position + 1
    lengths = np.where(is_continuation, branches.offsets[previous + 1] - first, older_calls.lengths[rows])
    # calls of the state follow those of all samples in the array that the chunks are taken from
    starts = np.where(is_continuation, first, len(branches.from_ip) + older_calls.offsets[:-1][rows])
    return ListArray.of(np.concatenate([branches.from_ip, older_calls.values]), starts, lengths)


def _concatenate_runs(chunks: ListArray, is_continuation: Bools) -> ListArray:
    """Concatenate each row's chunk and the chunks of the rows that it continues, newest first, up to _MAX_STITCHED."""
    count = len(chunks)
    newest_first = chunks[arange(count)[::-1]]
    run_begin = np.maximum.accumulate(np.where(is_continuation, 0, arange(count)))  # first row of each row's run
    starts = newest_first.offsets[:-1][::-1]
    ends = newest_first.offsets[count - run_begin]
    lengths = np.minimum(ends - starts, _MAX_STITCHED)
    return ListArray.of(newest_first.values, starts, lengths)
