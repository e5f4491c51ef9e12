"""LBR call stacks: forged samples; ``--stitch-lbr`` against a sample-by-sample transcription of perf (>= for its >)."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.abi.uapi import CallchainContext
from perf2x.base.columnar.list_array import offsets_of
from perf2x.model.recording.events import Branches
from perf2x.stitcher.stacks.lbr import call_stack_chains, empty_lbr_state, stitch_older_calls
from tests.support.examples import examples
from tests.support.ragged_rows import ragged_of

KERNEL, USER = int(CallchainContext.KERNEL), int(CallchainContext.USER)
DEPTH = 4


def branches_of(samples, indices=None) -> Branches:
    """Samples as lists of (from, to, flags)."""
    flat = [branch for sample in samples for branch in sample]
    columns = [np.array([branch[part] for branch in flat], np.uint64) for part in range(3)]
    lengths = np.array([len(sample) for sample in samples], np.int64)
    hw_index = None if indices is None else np.array(indices, np.uint64)
    return Branches(offsets_of(lengths), columns[0], columns[1], columns[2], hw_index)


def chains(recorded, ips, branches) -> list[list[int]]:
    result = call_stack_chains(ragged_of(recorded), np.array(ips, np.uint64), branches_of(branches), None)
    return [row.tolist() for row in result.rows()]


CALLS = [(0x105, 0x200, 0), (0x55, 0x100, 0)]


def test_a_user_mode_sample_is_its_branches() -> None:
    assert chains([[USER, 0x210, 0x106]], [0x210], [CALLS]) == [[USER, 0x210, USER, 0x105, USER, 0x55]]


def test_a_user_mode_sample_begins_at_its_own_address_not_where_the_interrupt_came() -> None:
    """As perf 7.2 prints the 16 samples of this kind in perfparser's vector_static_gcc/perf.lbr.data."""
    assert chains([[USER, 0x210, 0x106]], [0x20C], [CALLS]) == [[USER, 0x20C, USER, 0x105, USER, 0x55]]
    assert chains([[USER, 0x210, 0x106]], [0x20C], [[]]) == [[USER, 0x20C, 0x106]]


WORDS = st.sampled_from([KERNEL, USER, 0x210, 0x106, 0xFFFF_8000_0000_0000])


def scalar_leaf(chain: list[int], ip: int, branches: list) -> list[int]:
    """One sample without stitched calls, word by word."""
    if USER not in chain:
        return chain
    at = chain.index(USER)
    word = chain[at + 1] if len(chain) > at + 1 and chain[at + 1] < 2**64 - 4095 else None
    if at == 0 and word is not None and 0 < ip < 1 << 63:
        word = ip
    if not branches:
        return chain if word is None else [*chain[: at + 1], word, *chain[at + 2 :]]
    leaf = word if word is not None else ip if at == 0 else branches[0][1]
    return [*chain[:at], USER, leaf, *(word for branch in branches for word in (USER, branch[0]))]


@given(
    st.lists(
        st.tuples(st.lists(WORDS, max_size=5), st.sampled_from([0, 0x20C, 1 << 63]), st.sampled_from([CALLS, []])),
        max_size=6,
    )
)
def test_samples_are_completed_as_one_by_one(samples) -> None:
    recorded, ips, branches = ([sample[part] for sample in samples] for part in range(3))
    assert chains(recorded, ips, branches) == [scalar_leaf(*sample) for sample in samples]


def test_the_kernel_part_comes_first() -> None:
    recorded = [[KERNEL, 0xF1, 0xF2, USER, 0x210, 0x106]]
    assert chains(recorded, [0xF1], [CALLS]) == [[KERNEL, 0xF1, 0xF2, USER, 0x210, USER, 0x105, USER, 0x55]]


def test_a_bare_marker_takes_the_sample_or_the_newest_target() -> None:
    assert chains([[USER]], [0x222], [CALLS]) == [[USER, 0x222, USER, 0x105, USER, 0x55]]
    assert chains([[KERNEL, 0xF1, USER]], [0xF1], [CALLS]) == [[KERNEL, 0xF1, USER, 0x200, USER, 0x105, USER, 0x55]]


def test_samples_without_user_part_or_branches_stay_unchanged() -> None:
    recorded = [[KERNEL, 0xF1], [USER, 0x210, 0x106], []]  # the second is at its own address
    assert chains(recorded, [0xF1, 0x210, 1], [CALLS, [], CALLS]) == recorded


@dataclass
class Thread:
    """struct lbr_stitch, sample by sample."""

    branches: list = field(default_factory=list)
    index: int = -1
    older: list = field(default_factory=list)

    def next(self, branches, index) -> list[tuple[int, int, int]]:
        """has_stitched_lbr: ``prev`` is the thread's last sample, the list of older calls grows or is given up."""
        before, self.branches = self.branches, branches
        base = DEPTH - len(branches) + index + 1
        distance = self.index - base if self.index >= base else DEPTH + self.index - base
        self.index, known = index, self.index >= 0
        if not known or not branches or not 0 <= distance < len(before) or before[distance] != branches[-1]:
            self.older = []
        else:
            self.older = [branch[0] for branch in before[distance + 1 :]] + self.older
        return self.older


@st.composite
def recordings(draw) -> list:
    """Threads that call and return at random; the registers hold the newest DEPTH open calls."""
    samples = []
    stacks = {thread: [] for thread in range(draw(st.integers(1, 3)))}
    for _ in range(draw(st.integers(0, 30))):
        thread = draw(st.sampled_from(sorted(stacks)))
        stack = stacks[thread]
        for _ in range(draw(st.integers(0, 3))):
            stack.append((draw(st.integers(1, 9)), draw(st.integers(1, 3)), 0))
        del stack[max(0, len(stack) - draw(st.integers(0, 3))) :]
        newest = stack[: -DEPTH - 1 : -1]
        samples.append((thread, list(newest), (len(stack) - 1) % DEPTH))
    return samples


@settings(deadline=None, max_examples=examples(200))
@given(recordings(), st.integers(0, 30), st.randoms())
def test_stitching_agrees_with_perf_sample_by_sample(samples, cut, random) -> None:
    threads = {thread: Thread() for thread, _, _ in samples}
    expected = [list(threads[thread].next(branches, index)) for thread, branches, index in samples]
    state, found = empty_lbr_state(), {}
    for batch in (list(enumerate(samples))[:cut], list(enumerate(samples))[cut:]):
        random.shuffle(batch)  # batches are in file order, which is not the order of time
        rows = [sample for _, sample in batch]
        branches = branches_of([sample[1] for sample in rows], [sample[2] for sample in rows])
        thread = np.array([sample[0] for sample in rows], np.int64)
        order = np.array([number for number, _ in batch], np.int64)
        older, state = stitch_older_calls(branches, thread, order, DEPTH, state)
        found.update(zip(order.tolist(), [row.tolist() for row in older.rows()], strict=True))
    assert [found[number] for number in range(len(samples))] == expected


def test_stitched_calls_follow_the_samples_own() -> None:
    result = call_stack_chains(ragged_of([[USER, 1]]), np.array([1], np.uint64), branches_of([CALLS]), ragged_of([[7]]))
    assert result.row(0).tolist() == [USER, 1, USER, 0x105, USER, 0x55, USER, 7]


def test_every_sample_gets_its_own_older_calls() -> None:
    """Not those of its neighbours, and none where it keeps its recorded chain."""
    recorded = [[KERNEL, 9], [USER, 1], [USER, 2], [USER, 3]]
    branches = branches_of([CALLS[:1]] * 4)
    older = ragged_of([[4], [5, 6], [], [7]])
    result = call_stack_chains(ragged_of(recorded), np.array([9, 1, 2, 3], np.uint64), branches, older)
    own = [USER, 0x105]
    assert [row.tolist() for row in result.rows()] == [
        [KERNEL, 9], [USER, 1, *own, USER, 5, USER, 6], [USER, 2, *own], [USER, 3, *own, USER, 7],
    ]  # fmt: skip


A, B, C, D, E, Z = ((number, 0x100 * number, 0) for number in range(1, 7))


@pytest.mark.parametrize(
    ("before", "first", "then", "second", "older"),
    [
        ([C, B, A], 2, [E, D, C, B], 0, [A[0]]),
        ([C, B, A], 2, [B], 1, [A[0]]),  # two calls have returned
        ([C, B, A], 2, [E, D, C, B], 4, []),  # the processor has no fifth register
        ([C, B, A], 4, [E, D, C, B], 2, []),
        ([C, B, A], 3, [E, D, C, B], 1, [A[0]]),
    ],
)
def test_a_sample_continues_where_its_oldest_call_is_in_the_same_register(before, first, then, second, older) -> None:
    branches = branches_of([before, then], [first, second])
    found, _ = stitch_older_calls(branches, np.zeros(2, np.int64), np.arange(2), DEPTH, empty_lbr_state())
    assert [row.tolist() for row in found.rows()] == [[], older]


def test_a_sample_without_calls_continues_none() -> None:
    """Whatever register its newest call would lie in."""
    branches = branches_of([[A, Z], [C, B, A], []], [0, 2, 3])
    found, state = stitch_older_calls(branches, np.zeros(3, np.int64), np.arange(3), DEPTH, empty_lbr_state())
    assert [row.tolist() for row in found.rows()] == [[], [Z[0]], []]
    assert state.older_calls.lengths.tolist() == [0]


def test_unknown_registers_are_not_stitched() -> None:
    branches = branches_of([CALLS, CALLS], [2**64 - 1, 2**64 - 1])
    older, _ = stitch_older_calls(branches, np.zeros(2, np.int64), np.arange(2), DEPTH, empty_lbr_state())
    assert older.lengths.tolist() == [0, 0]
