"""Running time: a thread's clock that stands still in *holes*, during which the thread cannot have run.

The holes (waits, and times off CPU) are cut out of the wall-clock time, boxes are placed in what is left, and are split
at the holes when they are converted back. With a hole from 10 to 30::

    wall clock     0    10        30   40
    running time   0    10        10   20
    box            5 to 15 in running time is 5 to 10 and 30 to 35 on the wall clock
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    U64,
    AnyArray,
    ColumnTable,
    Frozen,
    arange,
    argsort_rows,
    as_int64,
    as_intp,
    begins_run,
    cumsum,
    ends_run,
    flatnonzero,
    join_tables,
    minus_ones,
    of_next,
    offsets_of,
    ranges,
    row_numbers,
    searchsorted,
    sum_of,
    take_rows_of,
    trues,
    unique_inverse,
)
from perf2x.emitters.timeline.box_layout import BoxLanes, earlier_ends

FAR = 1 << 61
"""Nanoseconds beyond all times; sums and differences of two times still fit into int64."""
_NONNEGATIVE_INT64S = 1 << 63
"""Number of int64 values that are not negative."""


class Spans(ColumnTable):
    """Time spans by track, then start; those of one track do not overlap."""

    track: AnyArray
    start: I64
    end: I64


def disjoint_spans(track: I64, start: I64, end: I64) -> Spans:
    """Sort spans, cut each where the track's next one begins, and remove empty ones."""
    order = argsort_rows([track, start, end])
    track, start, end = track[order], start[order], end[order]
    end = ends_cut_at_next(track, start, end)
    not_empty = end > start
    return Spans(track[not_empty], start[not_empty], end[not_empty])


def ends_cut_at_next(track: AnyArray, start: I64, end: I64) -> I64:
    """Return (spans,) ends, cut where the track's next span begins; spans are sorted by track, then start."""
    return np.where(ends_run(track), end, np.minimum(end, of_next(start, 0)))


def complement_of(spans: Spans) -> Spans:
    """Return all time from 0 to FAR that no span covers, for each track that has a span."""
    is_first, is_last = begins_run(spans.track), ends_run(spans.track)
    # the gap before each span, then the one after each track's last span
    start = np.concatenate([np.where(is_first, 0, np.roll(spans.end, 1)), spans.end[is_last]])
    end = np.concatenate([spans.start, np.full(sum_of(is_last), FAR, np.int64)])
    return disjoint_spans(np.concatenate([spans.track, spans.track[is_last]]), start, end)


def union_of(one: Spans, other: Spans) -> Spans:
    """Return all time until FAR that a span of either table covers, in as few spans as possible."""
    both = join_tables([one, other])
    both = replace(both, end=np.minimum(both.end, FAR))
    both = take_rows_of(both, argsort_rows([both.track, both.start, both.end]))
    lanes = BoxLanes.in_order(None, both.track)
    first = flatnonzero(lanes.is_first | (both.start > earlier_ends(both.end, lanes)))
    end = np.maximum.reduceat(both.end, as_intp(first)) if len(first) else both.end
    return replace(take_rows_of(both, first), end=end)


class RunningTime(Frozen):
    """The clocks of all tracks; a track without holes has wall-clock time."""

    holes: Spans
    total_before: I64
    """(holes,) total length of earlier holes of the same track."""
    hole_time: I64
    """(holes,) the running time at which the clock stands still in each hole, ascending within a track."""

    @staticmethod
    def without(holes: Spans) -> "RunningTime":
        """Return the clocks of tracks with these holes."""
        lengths = holes.end - holes.start
        total = cumsum(lengths) - lengths  # may wrap around, but differences within a track do not
        total_before = total - total[_first_of_track(holes)]
        return RunningTime(holes, total_before, holes.start - total_before)

    def from_wall(self, track: I64, wall_time: I64) -> I64:
        """Convert wall-clock times (n,) of tracks to running time."""
        if not len(self.holes):
            return wall_time
        hole = last_row_until((self.holes.track, self.holes.start), (track, wall_time))
        rows = flatnonzero(hole >= 0)
        hole = hole[rows]
        running = wall_time.copy()
        time_in_hole = np.minimum(wall_time[rows], self.holes.end[hole]) - self.holes.start[hole]
        running[rows] -= self.total_before[hole] + time_in_hole
        return running

    def run_at(self, track: I64, wall_time: I64) -> tuple[I64, I64]:
        """Return (n,) the run in which each wall-clock time lies, and the end of that run in running time.

        A run's number is the row of the hole after it; every track must have a hole after all times. A time in a hole
        belongs to the run before the hole.
        """
        next_hole = count_rows_until((self.holes.track, self.holes.start), (track, wall_time))
        hole_before = np.maximum(next_hole - 1, 0)
        is_in_hole = (
            (next_hole > 0) & (self.holes.track[hole_before] == track) & (wall_time < self.holes.end[hole_before])
        )
        run = np.where(is_in_hole, hole_before, next_hole)
        return run, self.hole_time[run]

    def last_run_end(self, track: I64) -> I64:
        """Return (n,) the running time at each track's last hole; every track must have a hole."""
        return self.hole_time[searchsorted(self.holes.track, track, "right") - 1]

    def to_wall(self, track: AnyArray, start: I64, end: I64) -> tuple[I64 | slice, Spans]:
        """Convert boxes from running time to wall-clock time: return the box of each piece, and the pieces.

        Empty boxes have no piece. The boxes of pieces are (pieces,) indices, or ``slice(None)`` if each box is one
        piece. ::

            box, running time   |..........|
            pieces, wall clock  |...|      |....|    |...|
            holes                   |------|    |----|
        """
        not_empty = end > start
        if not len(self.holes) and not_empty.all():
            return slice(None), Spans(track, start, end)
        box = flatnonzero(not_empty)
        track, start, end = track[box], start[box], end[box]
        if not len(self.holes):
            return box, Spans(track, start, end)
        hole_times = (self.holes.track, self.hole_time)
        hole_before = last_row_until(hole_times, (track, start))  # −1: no hole before the box
        last_hole = last_row_until(hole_times, (track, end - 1))
        # the holes within each box, or none if no hole precedes its end
        first_hole = np.where(hole_before < 0, self._first_hole(last_hole), hole_before + 1)
        count = np.where(last_hole < 0, 0, last_hole - first_hole + 1)
        # pieces of box i are the rows from offsets[i] on
        offsets = offsets_of(count + 1)
        starts, ends = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
        starts[offsets[:-1]] = start + self._total_until(hole_before)
        ends[offsets[1:] - 1] = end + self._total_until(np.where(count > 0, last_hole, hole_before))
        hole = ranges(first_hole, count)
        is_followed = trues(len(starts))  # by another piece of its box
        is_followed[offsets[1:] - 1] = False
        ends[is_followed] = self.holes.start[hole]
        starts[1:][is_followed[:-1]] = self.holes.end[hole]
        box_of_piece = row_numbers(count + 1)
        not_empty = ends > starts
        return box[box_of_piece[not_empty]], Spans(track[box_of_piece[not_empty]], starts[not_empty], ends[not_empty])

    def _first_hole(self, hole: I64) -> I64:
        return np.where(hole < 0, 0, _first_of_track(self.holes)[hole])

    def _total_until(self, hole: I64) -> I64:
        """Include the length of each ``hole`` itself; 0 for −1."""
        return np.where(hole < 0, 0, (self.total_before + self.holes.end - self.holes.start)[hole])


def _first_of_track(spans: Spans) -> I64:
    first: I64 = np.maximum.accumulate(np.where(begins_run(spans.track), arange(len(spans)), 0))
    return first


def last_row_until(rows: tuple[AnyArray, I64], targets: tuple[AnyArray, I64]) -> I64:
    """Return (targets,) the last row of the same track that is not later than the target, −1 for none.

    Arguments are columns of tracks and times; ``rows`` are sorted by both.
    """
    if not len(rows[0]) or not len(targets[0]):
        return minus_ones(len(targets[0]))
    row = count_rows_until(rows, targets) - 1
    return np.where((row >= 0) & (rows[0][row] == targets[0]), row, -1)


def count_rows_until(rows: tuple[AnyArray, I64], targets: tuple[AnyArray, I64]) -> I64:
    """Return (targets,) the number of rows before or at the target, in the order of tracks, then times."""
    tracks, times = zip(rows, targets, strict=True)
    # a pair of track and time becomes one integer; if that is too large for int64, ranks replace both
    if (_range_size(tracks) + 1) * _range_size(times) > _NONNEGATIVE_INT64S:
        tracks, times = _common_ranks(*tracks), _common_ranks(*times)
    width = _range_size(times)
    row_keys, target_keys = (as_int64(track) * width + time for track, time in zip(tracks, times, strict=True))
    return searchsorted(row_keys, target_keys, "right")


def since(time: U64, origin: int) -> I64:
    """Return nanoseconds since ``origin``, which may be negative; 0 for earlier times.

    Times of hostile files are limited to FAR.
    """
    later = time - np.minimum(np.uint64(max(origin, 0)), time)
    nanoseconds = np.minimum(later, np.uint64(FAR), out=later).view(np.int64)
    nanoseconds += max(-origin, 0)
    return nanoseconds


def _range_size(columns: Sequence[AnyArray]) -> int:
    least = min(int(column.min(initial=0)) for column in columns)
    return max(int(column.max(initial=0)) for column in columns) - least + 1


def _common_ranks(one: AnyArray, other: AnyArray) -> tuple[I64, I64]:
    rank = unique_inverse(np.append(one, other))[1]
    return rank[: len(one)], rank[len(one) :]
