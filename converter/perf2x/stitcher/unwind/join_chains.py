"""Inserts unwound user chains, and callers of leaf functions, into the callchains of their samples.

With ``--call-graph dwarf`` the unwound chain becomes the user part, which the kernel does not record::

    recorded      KERNEL k0 k1 k2
    unwound       u0 u1 t2 u3 u4             t2: signal trampoline, u3: interrupted by the signal
    result        KERNEL k0 k1 k2 USER u0 u1 USER t2 USER u3 u4

A USER marker precedes every exact address.

On AArch64 with ``--call-graph fp``, a leaf function has no frame record, so the chain lacks its caller. Therefore
``perf record`` also samples the link register, lr (tools/perf/arch/arm64/util/evsel.c). Unwind information says whether
lr holds the return address (tools/perf/util/arm64-frame-pointer-unwind-support.c)::

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


def with_user_part(recorded_chains: ListArray, user_chains: UserChains, is_selected: Bools) -> ListArray:
    """Insert unwound user parts into the selected chains; ``is_selected`` (n,).

    An unwound part replaces a recorded one, but not a cookie of a deferred record.
    """
    kernel_words, is_deferred = _words_before_user_part(recorded_chains)
    chain, is_exact = user_chains.chain, user_chains.is_exact
    is_selected = is_selected & (chain.lengths > 0) & ~is_deferred
    kept_words = np.where(is_selected, kernel_words, recorded_chains.lengths)
    if not is_selected.all():
        is_exact = is_exact[repeat(is_selected, chain.lengths)]
        chain = chain.truncated(np.where(is_selected, chain.lengths, 0))
    # markers_before[i]: number of markers that belong to unwound addresses before i, over all chains
    markers_before = np.append(0, cumsum(is_exact))
    added = chain.lengths + np.diff(take(markers_before, chain.offsets))
    offsets = offsets_of(kept_words + added)
    words = np.full(offsets[-1], _USER, np.uint64)  # words that are not overwritten stay markers
    words[ranges(offsets[:-1], kept_words)] = recorded_chains.values[ranges(recorded_chains.offsets[:-1], kept_words)]
    # Unwound address i of a row has this index in ``words``: start of the row + kept words + i + markers up to its own.
    # ``markers_before`` and arange count over all rows, so the counts at the start of the row are subtracted.
    first = offsets[:-1] + kept_words - chain.offsets[:-1] - take(markers_before, chain.offsets[:-1])
    index = repeat(first, chain.lengths)
    index += markers_before[1:]
    index += arange(len(index))
    words[index] = chain.values
    return ListArray(offsets, words)


def _words_before_user_part(recorded_chains: ListArray) -> tuple[I64, Bools]:
    """Return the number of words before each chain's user part, and whether that part is a cookie; shapes (n,).

    If a chain has no user part, all its words count as before it.
    """
    # backwards, so that the first marker of a row is written last
    markers = flatnonzero((recorded_chains.values == _USER) | (recorded_chains.values == _DEFERRED))[::-1]
    row = row_numbers(recorded_chains.lengths)[markers]
    words_before = recorded_chains.lengths.copy()
    words_before[row] = markers - recorded_chains.offsets[:-1][row]
    is_deferred = falses(len(recorded_chains))
    is_deferred[row] = recorded_chains.values[markers] == _DEFERRED
    return words_before, is_deferred


def with_leaf_callers(
    recorded_chains: ListArray, stacks: UserStacks, is_selected: Bools, unwinder: Unwinder, finder: MappingFinder
) -> ListArray:
    """Insert the callers of sampled leaf functions, found in the link register, into the selected chains.

    ``stacks`` have the link register, and no dumps. ``unwinder`` must stop after ``LEAF_FRAMES`` frames.
    """
    words_before, is_deferred = _words_before_user_part(recorded_chains)
    instruction_at = recorded_chains.offsets[:-1] + words_before + 1
    is_selected = is_selected & ~is_deferred & (instruction_at < recorded_chains.offsets[1:])
    rows = flatnonzero(is_selected)
    # columns in the order of ``mask`` below: link register, stack pointer (unused, so 0), program counter
    registers = np.zeros((len(is_selected), 3), np.uint64)
    registers[:, 0] = stacks.regs[:, (stacks.mask & ((1 << LINK_REGISTER) - 1)).bit_count()]
    registers[rows, 2] = recorded_chains.values[instruction_at[rows]]
    no_dumps, abi = zeros(len(is_selected)), np.where(is_selected, stacks.abi, 0).astype(np.uint8)
    mask = 1 << LINK_REGISTER | 1 << STACK_POINTER | 1 << PROGRAM_COUNTER
    chain = unwinder.unwind(
        UserStacks(abi, registers, mask, np.zeros(0, np.uint64), no_dumps, no_dumps, 0), finder
    ).chain
    leaves = flatnonzero(chain.lengths == LEAF_FRAMES)
    caller, following = chain.values[chain.offsets[leaves] + 1], instruction_at[leaves] + 1
    is_recorded = following < recorded_chains.offsets[leaves + 1]
    is_recorded[is_recorded] = recorded_chains.values[following[is_recorded]] == caller[is_recorded]
    leaves, caller = leaves[~is_recorded], caller[~is_recorded]
    # The new caller comes between ``head`` and ``tail``; a row without one is all ``head``.
    head = recorded_chains.lengths.copy()
    head[leaves] = words_before[leaves] + 2
    added = zeros(len(is_selected))
    added[leaves] = 1
    tail = recorded_chains.lengths - head
    return side_by_side([
        recorded_chains.truncated(head),
        ListArray(offsets_of(added), caller),
        ListArray.of(recorded_chains.values, recorded_chains.offsets[:-1] + head, tail),
    ])  # fmt: skip
