"""User parts come behind kernel parts, with a marker in front of every exact address."""

import numpy as np

from perf2x.base.abi.uapi import CallchainContext
from perf2x.stitcher.unwind.join_chains import with_user_part
from perf2x.stitcher.unwind.unwound_chains import End, UserChains
from tests.support.ragged_rows import ragged_of

KERNEL, USER, DEFERRED = (int(CallchainContext[name]) for name in ("KERNEL", "USER", "USER_DEFERRED"))


def joined(recorded, unwound, exact=None, use=None) -> list[list[int]]:
    chain = ragged_of(unwound)
    flags = np.zeros(len(chain.values), np.bool_)
    flags[chain.offsets[:-1][chain.lengths > 0]] = True
    if exact is not None:
        flags = np.array(exact, np.bool_)
    zeros = np.zeros(len(unwound), np.int64)
    chains = UserChains(chain, flags, zeros.astype(np.uint8) + End.COMPLETE, zeros, zeros, zeros > 0)
    use = np.ones(len(unwound), np.bool_) if use is None else np.array(use)
    return [row.tolist() for row in with_user_part(ragged_of(recorded), chains, use).rows()]


def test_the_user_part_follows_the_kernel_part_or_is_alone() -> None:
    result = joined([[KERNEL, 1, 2], []], [[10, 11], [12]])
    assert result == [[KERNEL, 1, 2, USER, 10, 11], [USER, 12]]


def test_every_exact_address_begins_a_part() -> None:
    result = joined([[KERNEL, 1]], [[10, 11, 12, 13, 14]], exact=[1, 0, 1, 1, 0])
    assert result == [[KERNEL, 1, USER, 10, 11, USER, 12, USER, 13, 14]]


def test_a_recorded_user_part_is_replaced() -> None:
    assert joined([[KERNEL, 1, USER, 7, 8], [USER, 7]], [[10], [11]]) == [[KERNEL, 1, USER, 10], [USER, 11]]


def test_chains_that_were_not_unwound_stay_unchanged() -> None:
    recorded = [[KERNEL, 1, USER, 7], [KERNEL, 2], [KERNEL, 3, DEFERRED, 99]]
    assert joined(recorded, [[], [10], [11]], use=[True, False, True]) == recorded


def test_nothing_at_all() -> None:
    assert joined([], []) == []
