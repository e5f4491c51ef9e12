"""Inserts unwound user chains, and callers of leaf functions, into the callchains of their samples.

With ``--call-graph dwarf`` the kernel records no user part (``exclude_callchain_user``), so a chain is the kernel's
part or nothing at all::

    recorded      KERNEL k0 k1 k2
    unwound       u0 u1 t2 u3 u4             t2: signal trampoline, u3: interrupted by the signal
    result        KERNEL k0 k1 k2 USER u0 u1 USER t2 USER u3 u4

In a callchain the first address after a marker is that of an instruction and the others are return addresses, so a
marker in front of every exact address carries ``UserChains.is_exact`` through all code that understands callchains.

On AArch64 with ``--call-graph fp`` a leaf function has no frame record, so its caller is not in the chain; perf record
samples the link register for that (tools/perf/arch/arm64/util/evsel.c). It is the caller if the return address is still
there, by the unwind information of the sampled instruction (tools/perf/util/arm64-frame-pointer-unwind-support.c)::

    recorded      KERNEL k0 USER pc r1 r2       lr
    result        KERNEL k0 USER pc lr r1 r2
"""

import numpy as np

from perf2x.base.abi import CallchainContext
from perf2x.base.columnar import (
    I64,
    Bools,
    ListArray,
    arange,
    cumsum,
    falses,
    flatnonzero,
    offsets_of,
    ranges,
    repeat,
    row_numbers,
    side_by_side,
    take,
    zeros,
)
from perf2x.model.recording import UserStacks
from perf2x.stitcher.unwind.aarch64 import LINK_REGISTER, PROGRAM_COUNTER, STACK_POINTER
from perf2x.stitcher.unwind.unwinder import Unwinder
from perf2x.stitcher.unwind.unwound_chains import LEAF_FRAMES, MappingFinder, UserChains

_USER, _DEFERRED = np.uint64(CallchainContext.USER), np.uint64(CallchainContext.USER_DEFERRED)


def with_user_part(recorded: ListArray, unwound: UserChains, use: Bools) -> ListArray:
    """Give unwound rows of ``use`` their user part; other rows (of n) stay unchanged.

    Replaces a recorded user part, except a cookie, which refers to a deferred record.
    """
    user_at, is_deferred = _words_before_user_part(recorded)
    chain, exact = unwound.chain, unwound.is_exact
    use = use & (chain.lengths > 0) & ~is_deferred
    kept = np.where(use, user_at, recorded.lengths)
    if not use.all():
        chain, exact = _only(chain, use), exact[repeat(use, chain.lengths)]
    markers = np.append(0, cumsum(exact))  # number of exact addresses before each one, over all chains
    own = chain.lengths + np.diff(take(markers, chain.offsets))
    offsets = offsets_of(kept + own)
    words = np.full(offsets[-1], _USER, np.uint64)
    words[ranges(offsets[:-1], kept)] = recorded.values[ranges(recorded.offsets[:-1], kept)]
    first = offsets[:-1] + kept - chain.offsets[:-1] - take(markers, chain.offsets[:-1])
    place = repeat(first, chain.lengths)
    place += markers[1:]
    place += arange(len(place))
    words[place] = chain.values
    return ListArray(offsets, words)


def _only(chain: ListArray, use: Bools) -> ListArray:
    """Return the chains of ``use``; other rows are empty."""
    return chain.heads(np.where(use, chain.lengths, 0))


def _words_before_user_part(recorded: ListArray) -> tuple[I64, Bools]:
    """Return (n,) number of words before each row's user part, and whether that part is a cookie."""
    markers = flatnonzero((recorded.values == _USER) | (recorded.values == _DEFERRED))[::-1]
    row = row_numbers(recorded.lengths)[markers]
    before = recorded.lengths.copy()
    before[row] = markers - recorded.offsets[:-1][row]
    deferred = falses(len(recorded))
    deferred[row] = recorded.values[markers] == _DEFERRED
    return before, deferred


def with_leaf_callers(
    recorded: ListArray, stacks: UserStacks, use: Bools, unwinder: Unwinder, finder: MappingFinder
) -> ListArray:
    """Insert the caller after the sampled instruction of the rows of ``use`` whose link register has it.

    ``unwinder`` returns at most ``LEAF_FRAMES`` frames; ``stacks`` have the link register, and no dumps.
    """
    before, is_deferred = _words_before_user_part(recorded)
    first = recorded.offsets[:-1] + before + 1
    use = use & ~is_deferred & (first < recorded.offsets[1:])
    rows = flatnonzero(use)
    registers = np.zeros((len(use), 3), np.uint64)
    registers[:, 0] = stacks.regs[:, (stacks.mask & ((1 << LINK_REGISTER) - 1)).bit_count()]
    registers[rows, 2] = recorded.values[first[rows]]
    none, abi = zeros(len(use)), np.where(use, stacks.abi, 0).astype(np.uint8)
    mask = 1 << LINK_REGISTER | 1 << STACK_POINTER | 1 << PROGRAM_COUNTER
    chain = unwinder.unwind(UserStacks(abi, registers, mask, np.zeros(0, np.uint64), none, none, 0), finder).chain
    left = flatnonzero(chain.lengths == LEAF_FRAMES)
    caller, following = chain.values[chain.offsets[left] + 1], first[left] + 1
    is_there = following < recorded.offsets[left + 1]
    is_there[is_there] = recorded.values[following[is_there]] == caller[is_there]
    left, caller = left[~is_there], caller[~is_there]
    head = recorded.lengths.copy()
    head[left] = before[left] + 2
    added = zeros(len(use))
    added[left] = 1
    tail = recorded.lengths - head
    return side_by_side([
        recorded.heads(head),
        ListArray(offsets_of(added), caller),
        ListArray.of(recorded.values, recorded.offsets[:-1] + head, tail),
    ])  # fmt: skip
