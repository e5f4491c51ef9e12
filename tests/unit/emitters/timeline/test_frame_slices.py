"""Slices against a scalar twin that opens and closes boxes moment by moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, number_chunks
from perf2x.emitters.timeline.frame_slices import piles_of
from perf2x.emitters.timeline.shown_samples import ShownSamples
from perf2x.model.profile.frame_tree import FrameTree
from perf2x.model.profile.stack_tree import ancestors, depths, paths_of_length

TREES = st.lists(st.integers(0, 30), min_size=1, max_size=30)
"""Of each row something that picks an earlier row as its parent."""
MOMENTS = st.lists(st.tuples(st.integers(0, 29), st.integers(1, 4), st.integers(0, 2), st.booleans()), max_size=30)
"""Tree row, length, pause until the next moment, whether that is on another track."""


def tree_of(picks: list[int]) -> FrameTree:
    parent = np.array([-1, *(pick % (row + 1) for row, pick in enumerate(picks[1:]))], np.int64)
    return FrameTree(parent, np.arange(len(picks)), depths(parent))


def shown_samples(drawn: list[tuple[int, int, int, bool]]) -> ShownSamples:
    rows, track, time = [], 0, 0
    for row, (_, length, pause, is_last) in enumerate(drawn):
        follows = row + 1 < len(drawn) and not is_last and not pause
        rows.append((track, row, time, time + length, follows))
        track, time = (track + 1, 0) if is_last else (track, time + length + pause)
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return ShownSamples(*(np.array(column, np.int64) for column in columns[:4]), np.array(columns[4], np.bool_))


def path(tree: FrameTree, row: int) -> list[int]:
    return [] if row < 0 else [*path(tree, int(tree.parent[row])), row]


def twin(shown: ShownSamples, node: list[int], tree: FrameTree, key: list[int], outermost: int) -> list[list[int]]:
    """Rows of moment, duration, node, is_early."""
    made: list[list[int]] = []
    opened: list[int] = []  # numbers of slices that are open
    for row, where in enumerate(node):
        wanted = path(tree, where)[outermost:]
        shared = 0
        if row and shown.meets_next[row - 1]:
            while shared < min(len(opened), len(wanted)) and made[opened[shared]][2] == wanted[shared]:
                shared += 1
        closed, opened = opened[shared:], opened[:shared]
        is_long = row > 0 and shown.end[row - 1] > shown.start[row - 1] + 1
        for number in closed:
            met = (
                is_long
                and shown.meets_next[row - 1]
                and shared < len(wanted)
                and key[wanted[shared]] == key[made[number][2]]
            )
            if met:
                for other in closed:
                    made[other][3] = 1
        for one in wanted[shared:]:
            opened.append(len(made))
            made.append([row, 0, one, 0])
        for number in opened:
            made[number][1] = int(shown.end[row] - shown.start[made[number][0]])
    return made


@pytest.mark.parametrize("outermost", [0, 1])
@given(picks=TREES, drawn=MOMENTS, shortest=st.integers(0, 3))
def test_slices_are_what_opens_and_closes(outermost, picks, drawn, shortest) -> None:
    tree, shown = tree_of(picks), shown_samples(drawn)
    node = [one % len(picks) for one, *_ in drawn]
    key = [row % 3 for row in range(len(picks))]
    piles, duration = piles_of(shown, np.array(node, np.int64), tree, np.array(key), outermost, shortest)
    slices = [
        [first, length, one]
        for first, length, innermost, count in zip(
            *(column.tolist() for column in (piles.first, duration, piles.node, piles.count)), strict=True
        )
        for one in path(tree, innermost)[-count:]
    ]
    made = twin(shown, node, tree, key, outermost)
    wanted = [[row, length - early, one] for row, length, one, early in made if length >= shortest]
    assert slices == wanted
    together = [(row, shown.end[last]) for row, last in zip(piles.first, piles.last, strict=True)]
    assert len(set(together)) == len(together)  # as few piles as can be


@given(TREES, st.lists(st.tuples(st.integers(0, 29), st.integers(0, 30)), max_size=9))
def test_going_up(picks, drawn) -> None:
    tree = tree_of(picks)
    rows = [row % len(picks) for row, _ in drawn]
    paths = [path(tree, row) for row in rows]
    steps = [step % (len(way) + 1) for (_, step), way in zip(drawn, paths, strict=True)]
    row_column, step_column = np.array(rows, np.int64), np.array(steps, np.int64)
    above = [([-1, *way])[len(way) - step] for step, way in zip(steps, paths, strict=True)]
    assert ancestors(tree.parent, row_column, step_column).tolist() == above
    ways = [way[len(way) - step :] for step, way in zip(steps, paths, strict=True)]
    assert [list(way) for way in paths_of_length(tree.parent, row_column, step_column, True).rows()] == ways
    assert [list(way)[::-1] for way in paths_of_length(tree.parent, row_column, step_column).rows()] == ways


def test_rows_are_put_together_from_pieces() -> None:
    names, rows = chunk_array([b"a", b"bc"]), np.array([1, 0, 1])
    assert interleaved(names[rows], number_chunks(np.array([10, -2, 12345]))) == b"bc10a-2bc12345"
    assert interleaved(names[rows[:0]], names[rows[:0]]) == b""
    assert number_chunks(rows[:0]).tolist() == []
