"""Reads of user stack dumps agree with slices of the same bytes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.model.recording.events import UserStacks
from perf2x.stitcher.unwind.register_file import stack_memory


def stacks_of(copies, sizes, requested=64) -> UserStacks:
    """Copies (bytes, multiples of eight) behind one another, with the sizes that records claim."""
    starts = np.cumsum([0, *(len(copy) // 8 for copy in copies)])[:-1].astype(np.int64)
    words = np.frombuffer(b"".join(copies), "<u8").astype(np.uint64)
    none = np.zeros((len(copies), 0), np.uint64)
    return UserStacks(np.full(len(copies), 2, np.uint8), none, 0, words, starts, np.array(sizes, np.int64), requested)


@settings(deadline=None)
@given(st.lists(st.tuples(st.binary(min_size=64, max_size=64), st.integers(0, 64)), min_size=1, max_size=4), st.data())
def test_loads_agree_with_slices(copies, data) -> None:
    base = [data.draw(st.sampled_from([0, 8, 0x7FFF0003, 2**64 - 72])) for _ in copies]
    sizes = [size for _, size in copies]
    memory = stack_memory(stacks_of([copy for copy, _ in copies], sizes), np.array(base, np.uint64))
    rows = np.array(data.draw(st.lists(st.integers(0, len(copies) - 1), min_size=1, max_size=8)), np.int64)
    offsets = [data.draw(st.integers(-20, 80)) for _ in rows]
    address = np.array([(base[row] + at) % 2**64 for row, at in zip(rows, offsets, strict=True)], np.uint64)
    value, good = memory.load(rows, address)
    for place, (row, at) in enumerate(zip(rows.tolist(), offsets, strict=True)):
        whole = sizes[row] // 8 * 8
        inside = at >= 0 and at + 8 <= whole
        assert bool(good[place]) == inside
        assert int(value[place]) == (int.from_bytes(copies[row][0][at : at + 8], "little") if inside else 0)


def test_wrong_sizes_are_bounded() -> None:
    stacks = stacks_of([bytes(64), bytes(range(64))], [1 << 40, 1 << 40])
    memory = stack_memory(stacks, np.array([0, 0], np.uint64))
    assert memory.word_count.tolist() == [16, 8]
    _, good = memory.load(np.array([1, 1]), np.array([56, 64], np.uint64))
    assert good.tolist() == [True, False]


def test_no_copy_is_no_memory() -> None:
    memory = stack_memory(stacks_of([b""], [0]), np.array([0x1000], np.uint64))
    assert memory.load(np.array([0]), np.array([0x1000], np.uint64))[1].tolist() == [False]


def test_only_a_full_copy_continues_after_its_end() -> None:
    stacks = stacks_of([bytes(64), bytes(64)], [64, 40])
    memory = stack_memory(stacks, np.array([0x1000, 0x1000], np.uint64))
    rows = np.array([0, 1, 0, 0])
    address = np.array([0x1040, 0x1040, 0x1038, 0x1000 + (1 << 30)], np.uint64)
    assert memory.is_beyond(rows, address).tolist() == [True, False, False, False]
