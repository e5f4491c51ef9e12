"""Call stacks from the processor's last branch records (``perf record --call-graph lbr``).

In call-stack mode (PERF_SAMPLE_BRANCH_CALL_STACK) a return removes the record of its call, so the calls that have not
returned remain: ``from`` is the call instruction, ``to`` the called function, newest first. Source of truth:
resolve_lbr_callchain_sample and has_stitched_lbr in tools/perf/util/machine.c.

::

    recorded chain      KERNEL k0 k1 USER u0 u1 …          (or no KERNEL part)
    branches            from0→to0  from1→to1  from2→to2
    result              KERNEL k0 k1 USER u0 USER from0 USER from1 USER from2

These are addresses of call instructions, not return addresses, so nothing may be subtracted from them for the lookup of
symbols. A USER marker before each one marks it as such (see ``callchain``).
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
_UNKNOWN_INDEX = np.uint64(2**64 - 1)
_UPPER_HALF = np.uint64(1 << 63)
"""Start of the kernel's addresses. The ip of a sample whose chain has only a user part can be in the kernel, if an
interrupt delayed the sample; it must not replace the innermost user address.
"""
_MAX_STITCHED = 1024
"""Maximum number of calls added to one sample: a stack that seems to grow forever must not exhaust memory."""


class LbrState(Frozen):
    """The last sample of every thread so far and the older calls added to it; the next batch continues from it."""

    thread: I64
    branches: Branches
    older: ListArray
    """uint64 ``from`` addresses"""


def empty_lbr_state() -> LbrState:
    """The state before the first batch."""
    none = np.zeros(0, np.uint64)
    start = zeros(1)
    return LbrState(zeros(0), Branches(start, none, none, none, none), ListArray(start, none))


def call_stack_chains(chain: ListArray, ip: U64, branches: Branches, older: ListArray | None) -> ListArray:
    """Replace the user part of each chain by the calls in its branch records.

    Chains without a user part or without branches stay as they are.

    The innermost user address of a sample taken in user mode is its own ``ip``: it is precise (PEBS), while the chain
    begins at the interrupt, some instructions later. For samples in the kernel it is the address recorded after
    PERF_CONTEXT_USER or, without one, the ``to`` of the newest branch. ``older`` has the calls to append to each
    row, from ``stitch_older_calls``.
    """
    user = _first_user_marker(chain)
    chain = _with_precise_leaf(chain, user, ip)
    count = np.diff(branches.offsets)
    use = (user >= 0) & (count > 0)
    kept = np.where(use, user - chain.offsets[:-1], chain.lengths)
    head = chain.heads(kept)
    leaf = _leaf(chain, user, ip, branches)[use]
    calls = ListArray.of(branches.from_ip, branches.offsets[:-1], np.where(use, count, 0))
    parts = [head, _mark_each(ListArray(offsets_of(use), leaf)), _mark_each(calls)]
    if older is not None:
        parts.append(_mark_each(older.heads(np.where(use, older.lengths, 0))))
    return side_by_side(parts)


def _with_precise_leaf(chain: ListArray, user: I64, ip: U64) -> ListArray:
    """Return the chains; in those of samples in user mode, replace the address after the marker by ``ip``."""
    rows = flatnonzero((user == chain.offsets[:-1]) & (chain.lengths > 1) & (ip != 0) & (ip < _UPPER_HALF))
    rows = rows[chain.values[user[rows] + 1] < np.uint64(CALLCHAIN_CONTEXT_MAX)]
    values = chain.values.copy()
    values[user[rows] + 1] = ip[rows]
    return ListArray(chain.offsets, values)


def _first_user_marker(chain: ListArray) -> I64:
    """Return the index in ``chain.values`` of each row's first PERF_CONTEXT_USER, −1 for none; shape (n,)."""
    marker = flatnonzero(chain.values == _USER_MARKER)
    row = row_numbers(chain.lengths)[marker]
    first = minus_ones(len(chain))
    first[row[::-1]] = marker[::-1]
    return first


def _leaf(chain: ListArray, user: I64, ip: U64, branches: Branches) -> U64:
    """Return the innermost user address of each row, shape (n,)."""
    after_marker = user + 1
    recorded = (user >= 0) & (after_marker < chain.offsets[1:])
    word = np.zeros(len(user), np.uint64)
    word[recorded] = chain.values[after_marker[recorded]]
    recorded &= word < np.uint64(CALLCHAIN_CONTEXT_MAX)
    has_branch = np.diff(branches.offsets) > 0
    to = np.zeros(len(user), np.uint64)
    to[has_branch] = branches.to_ip[branches.offsets[:-1][has_branch]]
    in_user_mode = user == chain.offsets[:-1]
    return np.where(recorded, word, np.where(in_user_mode, ip, to))


def _mark_each(rows: ListArray) -> ListArray:
    """Put a USER marker before every entry."""
    pairs = np.full((len(rows.values), 2), _USER_MARKER, np.uint64)
    pairs[:, 1] = rows.values
    return ListArray(rows.offsets * 2, pairs.reshape(-1))


def stitch_older_calls(
    branches: Branches, thread: I64, order: I64, depth: int, state: LbrState
) -> tuple[ListArray, LbrState]:
    """Find older calls, overwritten in the registers but present in the thread's previous sample (``--stitch-lbr``).

    ``thread`` (n,) identifies threads, ``order`` (n,) sorts samples by time, ``depth`` is the processor's number of
    registers. Returns the calls to append to each sample's own (n rows), and the state for the next batch.

    Let P be the thread's previous sample. A sample continues P if its oldest record is also in P, unchanged and in the
    same register. P's records that are older than this one (a chunk) then belong to the sample as well, and so do the
    calls that were added to P. With the chunks of a thread laid out newest first, every result is one slice::

        sample      a     b      c (not continued)  d
        laid out    [d's chunk] [c: none] [b's chunk] [a's chunk]
        result of b                        ^--------- ---------^
    """
    # rows of the state, followed by those of the batch
    everything = Branches.joined([state.branches, replace(branches, hw_index=_indices(branches))])
    offsets = np.append(state.older.offsets, repeat(state.older.offsets[-1:], len(thread)))
    older = ListArray(offsets, state.older.values)
    thread = np.concatenate([state.thread, thread])
    rows = lexsort([np.concatenate([minus_ones(len(state.thread)), order]), thread])
    thread = thread[rows]
    previous = np.concatenate([rows[:1], rows[:-1]])
    distance, continued = _continued(everything, rows, previous, depth)
    continued &= ~begins_run(thread)
    chunks = _added_calls(everything, older, rows, previous, distance, continued)
    results = _concatenate_runs(chunks, continued)
    result = results[argsort(rows)[len(state.thread) :]]
    last = flatnonzero(ends_run(thread))
    return result, LbrState(thread[last], everything[rows[last]], results[last])


def _indices(branches: Branches) -> U64:
    unknown = np.full(len(branches.offsets) - 1, _UNKNOWN_INDEX, np.uint64)
    return unknown if branches.hw_index is None else branches.hw_index


def _continued(branches: Branches, rows: I64, previous: I64, depth: int) -> tuple[I64, Bools]:
    """Compare each sample's oldest record with the previous sample's record in the same register.

    Returns the position of the latter in the previous sample and whether both are equal, each of shape (n,).

    Registers are a ring: hw_idx holds the newest record, so the oldest of ``nr`` lies ``nr − 1`` registers before it.
    """
    count, index = np.diff(branches.offsets), _indices(branches)
    known = (index[rows] < np.uint64(depth)) & (index[previous] < np.uint64(depth)) & (count[rows] > 0)
    oldest = depth - count[rows] + index[rows].view(np.int64) + 1
    newest = index[previous].view(np.int64)
    distance = (newest - oldest) % depth  # perf misses distance 0: it tests newest > oldest
    possible = known & (distance < count[previous]) & (count[rows] <= depth)
    mine, other = branches.offsets[rows + 1] - 1, branches.offsets[previous] + distance
    same = possible.copy()
    for column in (branches.from_ip, branches.to_ip, branches.flags):
        same[possible] &= column[mine[possible]] == column[other[possible]]
    return distance, same


def _added_calls(
    branches: Branches, older: ListArray, rows: I64, previous: I64, distance: I64, continued: Bools
) -> ListArray:  # fmt: skip
    """Return the calls added to each sample: the previous one's records after ``distance``.

    Rows of the state keep the older calls that they already have.
    """
    first = branches.offsets[previous] + distance + 1
    lengths = np.where(continued, branches.offsets[previous + 1] - first, older.lengths[rows])
    starts = np.where(continued, first, len(branches.from_ip) + older.offsets[:-1][rows])
    return ListArray.of(np.concatenate([branches.from_ip, older.values]), starts, lengths)


def _concatenate_runs(chunks: ListArray, continued: Bools) -> ListArray:
    """Concatenate each row's calls and those of rows before it in its run, newest first, up to _MAX_STITCHED."""
    count = len(chunks)
    laid = chunks[arange(count)[::-1]]
    begin = np.maximum.accumulate(np.where(continued, 0, arange(count)))
    starts = laid.offsets[:-1][::-1]
    ends = laid.offsets[count - begin]
    lengths = np.minimum(ends - starts, _MAX_STITCHED)
    return ListArray.of(laid.values, starts, lengths)
