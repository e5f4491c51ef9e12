"""Running time against a twin that counts moments one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emitters.timeline.running_time import (
    FAR,
    RunningTime,
    Spans,
    complement_of,
    count_rows_until,
    disjoint_spans,
    last_row_until,
    union_of,
)

END = 40
STRETCHES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, END), st.integers(0, 9)), max_size=12)
BOXES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, END), st.integers(0, 12)), max_size=8)


def table(rows: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array([row[at] for row in rows], np.int64) for at in range(3)]


def spans(rows: list[tuple[int, int, int]]) -> Spans:
    track, start, length = table(rows)
    return disjoint_spans(track, start, start + length)


def is_hole(holes: Spans, track: int, moment: int) -> bool:
    """Whether the moment of length 1 behind this time is in a hole."""
    rows = zip(holes.track, holes.start, holes.end, strict=True)
    return any(lane == track and start <= moment < end for lane, start, end in rows)


@given(STRETCHES)
def test_spans_do_not_overlap(rows) -> None:
    held = spans(rows)
    for lane in range(3):
        covered = {at for track, start, long in rows if track == lane for at in range(start, start + long)}
        some = held.track == lane
        assert np.all(held.start[some][1:] >= held.end[some][:-1])
        drawn = {at for start, end in zip(held.start[some], held.end[some], strict=True) for at in range(start, end)}
        assert drawn <= covered
        begins = {start for track, start, long in rows if track == lane and long}
        assert begins <= drawn


@given(STRETCHES)
def test_gaps_are_what_spans_leave(rows) -> None:
    held = spans(rows)
    gaps = complement_of(held)
    for lane in set(held.track.tolist()):
        for moment in (*range(END + 15), FAR - 1):
            assert is_hole(gaps, lane, moment) != is_hole(held, lane, moment)
    assert set(gaps.track.tolist()) == set(held.track.tolist())


@given(STRETCHES, STRETCHES)
def test_the_union_covers_what_either_does(rows, others) -> None:
    one, other = spans(rows), spans(others)
    both = union_of(one, other)
    for lane in range(3):
        for moment in range(END + 15):
            assert is_hole(both, lane, moment) == (is_hole(one, lane, moment) or is_hole(other, lane, moment))
    same = both.track[1:] == both.track[:-1]
    assert np.all(both.end > both.start)
    assert np.all(both.start[1:][same] > both.end[:-1][same]), "two spans touch"


@given(STRETCHES, BOXES)
def test_running_time_stands_still_in_holes(rows, boxes) -> None:
    holes = spans(rows)
    track, wall, _ = table(boxes)
    ran = RunningTime.without(holes).from_wall(track, wall)
    for lane, moment, found in zip(track.tolist(), wall.tolist(), ran.tolist(), strict=True):
        assert found == sum(not is_hole(holes, lane, at) for at in range(moment))


@given(STRETCHES, BOXES)
def test_pieces_cover_the_box_and_no_hole(rows, boxes) -> None:
    holes = spans(rows)
    track, start, length = table(boxes)
    owner, pieces = RunningTime.without(holes).to_wall(track, start, start + length)
    drawn: dict[int, list[int]] = {row: [] for row in range(len(boxes))}
    of_box = np.arange(len(boxes))[owner]  # where each box is one piece, a slice stands for all
    for box, lane, begin, end in zip(of_box.tolist(), pieces.track, pieces.start, pieces.end, strict=True):
        assert lane == track[box]
        assert begin < end
        drawn[box] += range(begin, end)
    for row, (lane, begin, long) in enumerate(boxes):
        free = [at for at in range(END * 6) if not is_hole(holes, lane, at)]
        assert drawn[row] == free[begin : begin + long]


@given(STRETCHES, BOXES)
def test_the_stretch_between_two_holes(rows, boxes) -> None:
    holes = complement_of(spans(rows))
    known = set(holes.track.tolist())
    track, wall, _ = table([box for box in boxes if box[0] in known])
    clock = RunningTime.without(holes)
    number, end = clock.run_at(track, wall)
    for lane, moment, row, found in zip(track.tolist(), wall.tolist(), number.tolist(), end.tolist(), strict=True):
        assert holes.track[row] == lane
        inside = is_hole(holes, lane, moment)
        wanted = next(
            at
            for at in range(len(holes))
            if holes.track[at] == lane and (holes.end[at] > moment if inside else holes.start[at] > moment)
        )
        assert row == wanted
        assert found == sum(not is_hole(holes, lane, at) for at in range(min(int(holes.start[wanted]), END + 20)))


@given(STRETCHES, BOXES)
def test_the_last_row_until_a_moment(rows, boxes) -> None:
    known = spans(rows)
    track, wall, _ = table(boxes)
    found = last_row_until((known.track, known.start), (track, wall))
    for lane, moment, row in zip(track.tolist(), wall.tolist(), found.tolist(), strict=True):
        fit = [at for at in range(len(known)) if known.track[at] == lane and known.start[at] <= moment]
        assert row == (fit[-1] if fit else -1)


MOMENTS = st.lists(st.tuples(st.integers(-1, 2), st.integers(-5, 5)), max_size=9)


@given(MOMENTS, MOMENTS, st.sampled_from([1, 1 << 58]))
def test_rows_until_a_moment_are_those_before_it(known, wanted, scale) -> None:
    """Whether or not tracks and times fit one word together."""
    known, wanted = ([(track, time * scale) for track, time in rows] for rows in (sorted(known), wanted))
    columns = [tuple(np.array([row[at] for row in rows], np.int64) for at in range(2)) for rows in (known, wanted)]
    assert count_rows_until(*columns).tolist() == [sum(row <= moment for row in known) for moment in wanted]
