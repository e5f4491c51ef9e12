"""Boxes on tracks and CPUs against a scalar twin."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emitters.timeline import box_layout
from perf2x.emitters.timeline.box_layout import BoxLanes, order_unless_sorted, place_boxes

BOXES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 400), st.integers(1, 60)), max_size=25)
"""Track, CPU, moment, length."""


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), max_size=12), st.booleans())
def test_rows_are_ordered_by_lane_then_time_and_equal_ones_stay(rows, in_order) -> None:
    rows = sorted(rows) if in_order else rows
    lane, time = (np.array([row[at] for row in rows], np.int64) for at in range(2))
    order = order_unless_sorted(lane, time)
    assert (list(range(len(rows))) if order is None else order.tolist()) == sorted(
        range(len(rows)), key=lambda row: rows[row]
    )


def scalar_lanes(*columns: list[int]) -> list[list[list[int]]]:
    """Boxes (their numbers) of each lane, by moment; the first column holds the moments."""
    moment = columns[0]
    return [
        [
            sorted((row for row in range(len(moment)) if lane[row] == one), key=lambda row: moment[row])
            for one in set(lane)
        ]
        for lane in columns[1:]
    ]


def twin(moment: list[int], length: list[int], kinds: list[list[list[int]]]) -> list[tuple[int, int]]:
    end = list(moment)
    for _ in range(16 if len(kinds) > 1 else 1):
        for lanes in kinds:
            for lane in lanes:
                for row, later in reversed(list(pairwise(lane))):
                    end[row] = min(end[row], end[later] - length[later])
    end = [max(one, when - 4 * long) for one, when, long in zip(end, moment, length, strict=True)]
    boxes = [(max(one - long, 0), max(one, 0)) for one, long in zip(end, length, strict=True)]
    begins = [earliest(row, boxes, kinds) for row in range(len(boxes))]
    boxes = [(min(max(start, first), end), end) for (start, end), first in zip(boxes, begins, strict=True)]
    return close_gaps(boxes, kinds)


def earliest(row: int, boxes: list[tuple[int, int]], kinds: list[list[list[int]]]) -> int:
    lanes = [lane for lanes in kinds for lane in lanes if row in lane]
    return max((boxes[other][1] for lane in lanes for other in lane[: lane.index(row)]), default=0)


def close_gaps(boxes: list[tuple[int, int]], kinds: list[list[list[int]]]) -> list[tuple[int, int]]:
    result = list(boxes)
    for lane in kinds[0]:
        left = sum(end - start for start, end in (boxes[row] for row in lane)) / 200
        gaps = []
        for at, row in enumerate(lane[1:], 1):
            own = max(boxes[other][1] for other in lane[:at])
            gap = boxes[row][0] - own
            if gap > 0 and boxes[row][1] > boxes[row][0] and earliest(row, boxes, kinds) == own:
                gaps.append((gap, row, own))
        for gap, row, own in sorted(gaps):
            left -= gap
            if left >= 0:
                result[row] = (own, result[row][1])
    return result


def vectorised(rows: list[tuple[int, int, int, int]], with_cpus: bool) -> tuple[np.ndarray, np.ndarray]:
    track, cpu, moment, length = (np.array([row[at] for row in rows], np.int64) for at in range(4))
    lanes = [BoxLanes.of(track, moment)] + ([BoxLanes.of(cpu, moment)] if with_cpus else [])
    return place_boxes(moment, length, lanes)


@given(BOXES, st.booleans(), st.sampled_from((1, 1000)), st.sampled_from((0, 256)))
def test_boxes_are_placed_as_the_twin_places_them(rows, with_cpus, scale, long) -> None:
    """``long`` 0: lanes are lowered one by one."""
    rows = [(track, cpu, moment * scale, length * scale + 3) for track, cpu, moment, length in rows]
    with patch.object(box_layout, "_LONG_LANE", long):
        start, end = vectorised(rows, with_cpus)
    track, cpu, moment, length = ([row[at] for row in rows] for at in range(4))
    kinds = scalar_lanes(moment, track, *([cpu] if with_cpus else []))
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == twin(moment, length, kinds)


@given(BOXES, st.booleans())
def test_boxes_of_a_lane_never_overlap(rows, with_cpus) -> None:
    start, end = vectorised(rows, with_cpus)
    assert np.all((start >= 0) & (start <= end))
    for column in (0, 1)[: 1 + with_cpus]:
        for line in range(3):
            held = sorted((start[row], end[row]) for row in range(len(rows)) if rows[row][column] == line)
            held = [one for one in held if one[1] > one[0]]
            assert all(one[1] <= other[0] for one, other in pairwise(held))


def test_late_timers_do_not_cost_time() -> None:
    start, end = vectorised([(0, 0, moment, 100) for moment in (230, 300, 400, 410)], False)
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == [(10, 110), (110, 210), (210, 310), (310, 410)]


def test_a_sample_of_another_thread_on_the_cpu_ends_a_box() -> None:
    rows = [(0, 0, 100, 100), (1, 0, 250, 100), (0, 0, 300, 100)]
    start, end = vectorised(rows, True)
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == [(0, 100), (100, 200), (200, 300)]
    start, end = vectorised(rows, False)
    assert list(zip(start.tolist(), end.tolist(), strict=True)) == [(0, 100), (150, 250), (200, 300)]


def test_hostile_lengths_neither_overflow_nor_reach_other_tracks() -> None:
    rows = [(0, 0, 50, 10), (1, 0, 60, 1 << 61), (1, 0, 70, 1 << 61), (2, 0, 1 << 61, 10)]
    start, end = vectorised(rows, False)
    assert (start[0], end[0]) == (40, 50)
    assert end[2] == 70
    assert (start[3], end[3]) == ((1 << 61) - 10, 1 << 61)


def test_tracks_as_long_as_time_stay_apart() -> None:
    late = 1 << 61
    rows = [(track, 0, moment, 100) for track in range(12) for moment in (200, 250, late - 50, late)]
    start, end = vectorised(rows, False)
    assert np.all((start >= 0) & (start <= end)) and np.all(end[3::4] == late)
    assert np.all(end[:-1] <= start[1:], where=np.diff([row[0] for row in rows]) == 0)


def test_a_thread_that_runs_on_is_one_run() -> None:
    """Ten samples three thousandths late each leave gaps that are closed: a two-hundredth is too little to matter."""
    start, end = vectorised([(0, 0, 1000 + row * 1003, 1000) for row in range(10)], False)
    assert start[1:].tolist() == end[:-1].tolist()
    start, end = vectorised([(0, 0, 1000 + row * 1030, 1000) for row in range(10)], False)
    assert int((start[1:] > end[:-1]).sum()) >= 8
