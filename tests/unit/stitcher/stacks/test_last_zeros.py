"""Chains of frame pointers end in a return address 0, which is no frame."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.abi.uapi import CallchainContext
from perf2x.stitcher.stacks.callchain import decode_chains
from tests.support.ragged_rows import ragged_of

KERNEL, USER = int(CallchainContext.KERNEL), int(CallchainContext.USER)


def without_last_zero(row: list[int]) -> list[int]:
    ends = len(row) > 1 and row[-1] == 0 and row[-2] < 2**64 - 4096
    return row[:-1] if ends else row


@given(st.lists(st.lists(st.sampled_from([0, 1, 0x401000, KERNEL, USER]), max_size=5), max_size=6))
def test_one_zero_behind_an_address_is_left_out(rows) -> None:
    found = decode_chains(ragged_of(rows), np.zeros(len(rows), np.uint8))
    expected = [[word for word in without_last_zero(row) if word not in (KERNEL, USER)] for row in rows]
    ends = zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
    assert [found.address[start:end].tolist() for start, end in ends] == expected


def test_a_program_that_jumped_to_0_keeps_it() -> None:
    found = decode_chains(ragged_of([[USER, 0], [0], [USER, 5, 0], [USER, 5, 0, 7]]), np.zeros(4, np.uint8))
    assert np.diff(found.offsets).tolist() == [1, 1, 1, 3]
