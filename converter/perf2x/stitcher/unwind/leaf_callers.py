"""Callers of leaf functions on AArch64 with ``--call-graph fp``.

A leaf function has no frame record, so its caller is not in the chain; perf record samples the link register for that
(tools/perf/arch/arm64/util/evsel.c). It is the caller if the unwind information of the sampled instruction says that
the return address is still there (tools/perf/util/arm64-frame-pointer-unwind-support.c)::

    recorded      KERNEL k0 USER pc r1 r2       lr
    result        KERNEL k0 USER pc lr r1 r2
"""

import numpy as np

from perf2x.base.columnar import Bools, Ragged, flatnonzero, offsets_of, side_by_side, zeros
from perf2x.model.recording import UserStacks
from perf2x.stitcher.unwind.aarch64 import LINK_REGISTER, PROGRAM_COUNTER, STACK_POINTER
from perf2x.stitcher.unwind.join_chains import words_before_user_part
from perf2x.stitcher.unwind.unwinder import Unwinder
from perf2x.stitcher.unwind.unwound_chains import LEAF_FRAMES, MappingFinder


def with_leaf_callers(
    recorded: Ragged, stacks: UserStacks, use: Bools, unwinder: Unwinder, finder: MappingFinder
) -> Ragged:
    """Insert the caller behind the sampled instruction of the rows of ``use`` whose link register has it.

    ``unwinder`` leaves at most ``LEAF_FRAMES``; ``stacks`` have the link register, and no copies.
    """
    before, is_deferred = words_before_user_part(recorded)
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
        Ragged.of(recorded.values, recorded.offsets[:-1], head),
        Ragged(offsets_of(added), caller),
        Ragged.of(recorded.values, recorded.offsets[:-1] + head, tail),
    ])  # fmt: skip
