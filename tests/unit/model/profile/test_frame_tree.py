from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.list_array import ListArray, offsets_of
from perf2x.model.profile import stack_tree
from perf2x.model.profile.frame_tree import FrameRows, FrameTree, add_to_parents, expand, merge_siblings, merge_stacks
from perf2x.model.profile.profile import Stacks
from perf2x.model.profile.stack_tree import depths, path_sums

TREES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5)), max_size=60)
"""(parent, frame) of each row; parents are brought in front of their children below."""
KEYS = np.array([0, 1, 1, 2, 0, 3])
"""Of six frames two pairs look alike."""


def _rows(drawn: list[tuple[int, int]]) -> FrameRows:
    parent = np.array([pick % (row + 1) - 1 for row, (pick, _) in enumerate(drawn)], np.int64)
    return FrameRows(parent, np.array([frame for _, frame in drawn], np.int64), np.arange(len(drawn)), depths(parent))


def _path(rows: FrameRows, row: int) -> tuple[int, ...]:
    return () if row < 0 else (*_path(rows, int(rows.parent[row])), int(KEYS[rows.frame[row]]))


@given(TREES, st.booleans(), st.sampled_from([np.int32, np.int64]))
def test_depths_count_the_way_to_the_root(drawn: list[tuple[int, int]], by_level: bool, dtype: type) -> None:
    """Sorted parents are those of a tree level by level."""
    parent = _rows(drawn).parent.astype(dtype)
    parent = np.sort(parent) if by_level else parent
    counted: list[int] = []
    for above in parent.tolist():
        counted.append(counted[above] + 1 if above >= 0 else 0)
    assert depths(parent).tolist() == counted


@given(TREES, st.lists(st.integers(-9, 9), min_size=60, max_size=60), st.sampled_from([0, 1, 3, 99]))
def test_sums_of_paths_do_not_depend_on_the_way(drawn: list[tuple[int, int]], numbers: list[int], runs: int) -> None:
    """Runs of rows, or of those left the ancestors of ancestors."""
    parent, own = _rows(drawn).parent, np.array(numbers[: len(drawn)], np.int64)
    expected: list[int] = []
    for above, number in zip(parent.tolist(), own.tolist(), strict=True):
        expected.append(number + (expected[above] if above >= 0 else 0))
    with mock.patch.object(stack_tree, "_MAX_RUNS", runs):
        assert path_sums(parent, own).tolist() == expected


@given(TREES, st.lists(st.integers(1, 3), min_size=6, max_size=6))
def test_expanded_rows_know_their_depth(drawn: list[tuple[int, int]], sizes: list[int]) -> None:
    rows, frames = _rows(drawn), ListArray(offsets_of(np.array(sizes)), np.arange(sum(sizes)))
    expanded = expand(Stacks(rows.parent.astype(np.int32), rows.frame.astype(np.int32)), frames)
    assert expanded.depth.tolist() == depths(expanded.parent).tolist()


@given(TREES, st.lists(st.integers(-9, 9), min_size=60, max_size=60))
def test_values_are_added_to_all_rows_above(drawn: list[tuple[int, int]], numbers: list[int]) -> None:
    rows = merge_siblings(_rows(drawn), KEYS)
    values = np.array(numbers[: len(rows.parent)], np.int64)
    expected = values.copy()
    for row in reversed(range(len(values))):
        if rows.parent[row] >= 0:
            expected[rows.parent[row]] += expected[row]
    add_to_parents(values, rows.parent, rows.depth)
    assert values.tolist() == expected.tolist()


@given(TREES)
def test_folding_keeps_every_path_once(drawn: list[tuple[int, int]]) -> None:
    rows = _rows(drawn)
    fold = merge_siblings(rows, KEYS)
    assert [_path(fold, int(row)) for row in fold.row_of_stack] == [_path(rows, row) for row in range(len(drawn))]
    assert fold.depth.tolist() == [len(_path(fold, row)) - 1 for row in range(len(fold.parent))]
    assert len(fold.parent) == len({_path(rows, row) for row in range(len(drawn))})
    assert all(fold.parent[row] < row for row in range(len(fold.parent)))


@given(TREES, st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 59)), max_size=20))
def test_merging_gives_each_group_its_own_paths(drawn: list[tuple[int, int]], pairs: list[tuple[int, int]]) -> None:
    rows = _rows(drawn)
    pairs = [(group, min(stack, len(drawn) - 1)) for group, stack in pairs] + [(0, -1), (1, -1), (2, -1)]
    group, stack = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    tree, node = merge_stacks(rows, KEYS, stack, group)

    def path(row: int) -> tuple[int, ...]:
        return (row,) if row < 3 else (*path(int(tree.parent[row])), int(tree.key[row]))

    assert [path(row) for row in node.tolist()] == [(owner, *_path(rows, row)) for owner, row in pairs]


@given(TREES, st.lists(st.integers(-1, 59), max_size=20))
def test_one_group_is_merged_as_several_are(drawn: list[tuple[int, int]], stacks: list[int]) -> None:
    rows, stack = _rows(drawn), np.array([min(stack, len(drawn) - 1) for stack in (-1, *stacks)], np.int64)
    one, node = merge_stacks(rows, KEYS, stack.astype(np.int32))
    two, node_of_two = merge_stacks(rows, KEYS, np.append(stack, -1), np.append(np.zeros(len(stack), np.int64), 1))
    assert [_names(one, row) for row in node.tolist()] == [_names(two, row) for row in node_of_two[:-1].tolist()]
    assert one.key[1:].tolist() == two.key[2:].tolist()
    assert one.depth[1:].tolist() == two.depth[2:].tolist()
    assert (one.parent[1:] + (one.parent[1:] > 0)).tolist() == two.parent[2:].tolist()


def _names(tree: FrameTree, row: int) -> tuple[int, ...]:
    return () if row < 0 else (*_names(tree, int(tree.parent[row])), int(tree.key[row]))
