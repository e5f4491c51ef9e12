"""OverlappingRanges against the definition, said with a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.stitcher.history.ranges_over_time import OverlappingRanges

RANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300), st.integers(0, 300)), max_size=60)
QUERIES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 70), st.integers(0, 620)), min_size=1, max_size=40)


def newest(ranges: list[tuple[int, int, int]], space: int, sequence: int, point: int) -> int:
    """The newest range of the space over the point as of the sequence number; range i has the number i + 1."""
    best = -1
    for index, (owner, start, length) in enumerate(ranges):
        if owner == space and start <= point < start + length and index + 1 <= sequence:
            best = index
    return best


def build(ranges: list[tuple[int, int, int]]) -> OverlappingRanges:
    space = np.array([row[0] for row in ranges], np.int64)
    start = np.array([row[1] for row in ranges], np.uint64)
    limit = start + np.array([row[2] for row in ranges], np.uint64)
    return OverlappingRanges(space, start, limit, np.arange(1, len(ranges) + 1), np.arange(len(ranges)))


@given(RANGES, QUERIES)
def test_the_newest_range_over_a_point_is_found(
    ranges: list[tuple[int, int, int]], queries: list[tuple[int, int, int]]
) -> None:
    found = build(ranges).find(
        np.array([query[0] for query in queries]),
        np.array([query[1] for query in queries]),
        np.array([query[2] for query in queries], np.uint64),
    )
    assert found.tolist() == [newest(ranges, *query) for query in queries]


@given(RANGES, st.lists(st.integers(0, 620), min_size=1, max_size=20))
def test_points_outside_all_ranges_are_not_covered(ranges: list[tuple[int, int, int]], points: list[int]) -> None:
    index, place = build(ranges), np.array(points, np.uint64)
    expected = [any(start <= point < start + length for _, start, length in ranges) for point in points]
    assert index.intervals(place)[1].tolist() == expected
    same = index.is_uniform(place, place + np.uint64(7))
    ends = {start for _, start, length in ranges if length} | {start + length for _, start, length in ranges if length}
    assert same.tolist() == [not any(point < end <= point + 7 for end in ends) for point in points]


@pytest.mark.parametrize("sequence", [1, 2, 65, 66, 67, 131])
def test_the_newest_of_short_and_long_ranges_is_found(sequence: int) -> None:
    """One over all of 130 neighbours, kept in blocks of 64 of them, is laid at any sequence number between theirs."""
    ranges = [(0, start, 1) for start in range(130)]
    ranges.insert(sequence - 1, (0, 0, 130))
    points = np.arange(131)
    for when in (sequence - 1, sequence, 131):
        found = build(ranges).find(points * 0, points * 0 + when, points.astype(np.uint64))
        assert found.tolist() == [newest(ranges, 0, when, point) for point in points.tolist()]


def test_many_overlapping_ranges_take_little_memory() -> None:
    """Nested ranges with all ends different: entries grow by a bounded number each, not with the square."""
    count = 4000
    start = np.arange(count, dtype=np.uint64)
    index = OverlappingRanges(
        np.zeros(count, np.int64), start, np.uint64(10**6) - start, np.arange(1, count + 1), np.arange(count)
    )
    entries = sum(len(level.keys) for level in index._levels)
    assert entries <= 126 * 3 * count
    assert index.find(np.zeros(1, np.int64), np.array([count]), np.array([5 * 10**5], np.uint64)).tolist() == [
        count - 1
    ]
