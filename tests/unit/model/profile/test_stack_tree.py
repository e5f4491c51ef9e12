"""Rows of the tree of stacks that some leaves use, and what stacks cost by kinds, against plain Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.interner import prefix_tree
from perf2x.base.columnar.list_array import ListArray, offsets_of
from perf2x.model.profile.stack_tree import are_on_paths, costs_of_kinds, depths, merged_tree
from perf2x.testing import ProfileBuilder

PARENTS = st.lists(st.integers(0, 9), min_size=1, max_size=12)


@given(PARENTS, st.lists(st.integers(-1, 11)))
def test_leaves_are_found_with_their_callers(drawn: list[int], leaves: list[int]) -> None:
    parent = [min(above, row) - 1 for row, above in enumerate(drawn)]
    leaves = [row for row in leaves if row < len(parent)]
    expected = set()
    for row in leaves:
        while row >= 0:
            expected.add(row)
            row = parent[row]
    found = are_on_paths(np.array(parent, np.int32), np.array(leaves, np.int32))
    assert np.flatnonzero(found).tolist() == sorted(expected)


@given(st.lists(PARENTS, max_size=3), st.data())
def test_a_tree_of_several_is_that_of_their_stacks(drawn: list[list[int]], data: st.DataObject) -> None:
    """Trees may have equal rows, rows that nobody uses, and parents that do not rise."""
    parent, location = [], []
    for tree in drawn:
        begin = len(parent)
        parent += [above + begin if (above := min(place, row) - 1) >= 0 else -1 for row, place in enumerate(tree)]
        location += data.draw(st.lists(st.integers(0, 2), min_size=len(tree), max_size=len(tree)))
    leaves = data.draw(st.lists(st.integers(-1, len(parent) - 1), max_size=6))
    stacks = []
    for row in leaves:
        stacks.append([])
        while row >= 0:
            stacks[-1].insert(0, location[row])
            row = parent[row]
    rows = ListArray(
        offsets_of(np.array([len(stack) for stack in stacks], np.int64)),
        np.array([row for stack in stacks for row in stack], np.int64),
    )
    above = np.array(parent, np.int64)
    used = are_on_paths(above, np.array(leaves, np.int64))
    tree, number = merged_tree(above, np.array(location, np.int32), depths(above), used)
    expected = prefix_tree(rows)
    for mine, theirs in zip((tree.parent, tree.location, number[leaves or []]), expected, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_a_stack_costs_each_of_its_kinds_once_and_its_innermost_one_itself() -> None:
    builder = ProfileBuilder()
    builder.event()
    places = [builder.function(name) for name in "abc"]
    leaves = [builder.stack(places), builder.stack([places[1]]), builder.stack([places[0], places[2], places[0]])]
    builder.sample(places, builder.thread())
    kinds = ListArray(np.array([0, 2, 2, 3]), np.array([1, 0, 1]))  # a: 1, then 0; b: none; c: 1
    weight = np.array([5, 7, 9])
    profile = builder.build()
    ((own, total), (rows, _)) = costs_of_kinds(
        profile, np.array(leaves), kinds, 2, [weight, np.stack([weight, 2 * weight], 1)]
    )
    assert (own.tolist(), total.tolist()) == ([9, 5], [14, 14])
    assert rows.tolist() == [[9, 18], [5, 10]]
