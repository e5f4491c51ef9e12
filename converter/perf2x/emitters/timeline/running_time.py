"""Time with the holes cut out during which a thread cannot have run.

::

    wall clock     0    10        30   40            a hole from 10 to 30
    running time   0    10        10   20

Boxes are placed in running time and split at the holes when converted back, so that a period that began before a wait
continues after it.
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
from perf2x.emitters.timeline.box_layout import BoxChains, earlier_ends

FAR = 1 << 61
"""Nanoseconds beyond all times."""
_WORD = 1 << 63


class Spans(ColumnTable):
    """Time spans by track, then start; those of one track do not overlap."""

    track: AnyArray
    start: I64
    end: I64


def spans_of(track: I64, start: I64, end: I64) -> Spans:
    """Sort spans; each ends where the next begins at the latest, and empty ones are removed."""
    order = argsort_rows([track, start, end])
    track, start, end = track[order], start[order], end[order]
    end = until_next(track, start, end)
    some = end > start
    return Spans(track[some], start[some], end[some])


def until_next(track: AnyArray, start: I64, end: I64) -> I64:
    """Return ends that are not after the start of the track's next span."""
    return np.where(ends_run(track), end, np.minimum(end, of_next(start, 0)))


def gaps_between(spans: Spans) -> Spans:
    """Return all time of the tracks that no span covers, from 0 to FAR."""
    first, last = begins_run(spans.track), ends_run(spans.track)
    start = np.concatenate([np.where(first, 0, np.roll(spans.end, 1)), spans.end[last]])
    end = np.concatenate([spans.start, np.full(sum_of(last), FAR, np.int64)])
    return spans_of(np.concatenate([spans.track, spans.track[last]]), start, end)


def union_of(one: Spans, other: Spans) -> Spans:
    """Return all time that either covers, in the fewest spans."""
    both = join_tables([one, other])
    both = replace(both, end=np.minimum(both.end, FAR))
    both = take_rows_of(both, argsort_rows([both.track, both.start, both.end]))
    chain = BoxChains.in_order(None, both.track)
    first = flatnonzero(chain.first | (both.start > earlier_ends(both.end, chain)))
    end = np.maximum.reduceat(both.end, as_intp(first)) if len(first) else both.end
    return replace(take_rows_of(both, first), end=end)


class RunningTime(Frozen):
    """Clocks that stand still in the holes of their tracks."""

    holes: Spans
    before: I64
    """(holes,) total length of earlier holes of the track."""
    at: I64
    """(holes,) running time at each hole, ascending within a track."""

    @staticmethod
    def without(holes: Spans) -> "RunningTime":
        """Return the clocks of tracks with these holes."""
        lengths = holes.end - holes.start
        total = cumsum(lengths) - lengths  # may wrap around, but differences within a track do not
        before = total - total[_first_of_track(holes)]
        return RunningTime(holes, before, holes.start - before)

    def of(self, track: I64, wall: I64) -> I64:
        """Return the running time at wall times of tracks."""
        if not len(self.holes):
            return wall
        hole = last_until((self.holes.track, self.holes.start), (track, wall))
        kept = flatnonzero(hole >= 0)
        row = hole[kept]
        result = wall.copy()
        inside = np.minimum(wall[kept], self.holes.end[row]) - self.holes.start[row]
        result[kept] -= self.before[row] + inside
        return result

    def stretch(self, track: I64, wall: I64) -> tuple[I64, I64]:
        """Return the span between two holes that each time lies in, or that ended last: its number and its end.

        The end is in running time. Every track must have a hole after all times.
        """
        following = rows_until((self.holes.track, self.holes.start), (track, wall))
        before = np.maximum(following - 1, 0)
        is_inside = (following > 0) & (self.holes.track[before] == track) & (wall < self.holes.end[before])
        stretch = np.where(is_inside, before, following)
        return stretch, self.at[stretch]

    def last(self, track: I64) -> I64:
        """Return the running time at the last hole of each track; every track must have one."""
        return self.at[searchsorted(self.holes.track, track, "right") - 1]

    def pieces(self, track: AnyArray, start: I64, end: I64) -> tuple[I64 | slice, Spans]:
        """Return boxes in running time as pieces of wall time, and each piece's box; empty boxes have none.

        If each box is one piece, the boxes are a slice of all.
        """
        some = end > start
        if not len(self.holes) and some.all():
            return slice(None), Spans(track, start, end)
        box = flatnonzero(some)
        lane, begin, finish = track[box], start[box], end[box]
        if not len(self.holes):
            return box, Spans(lane, begin, finish)
        known = (self.holes.track, self.at)
        early = last_until(known, (lane, begin))  # the last hole before the box, −1: none
        late = last_until(known, (lane, finish - 1))
        count = np.where(late < 0, 0, np.where(early < 0, late - self._first(late), late - early - 1) + 1)
        first = np.where(early < 0, self._first(late), early + 1)
        offsets = offsets_of(count + 1)
        begins, ends = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
        begins[offsets[:-1]] = begin + self._passed(early)
        ends[offsets[1:] - 1] = finish + self._passed(np.where(count > 0, late, early))
        hole = ranges(first, count)
        inner = trues(len(begins))
        inner[offsets[1:] - 1] = False
        ends[inner] = self.holes.start[hole]
        begins[1:][inner[:-1]] = self.holes.end[hole]
        owner = row_numbers(count + 1)
        some = ends > begins
        return box[owner[some]], Spans(lane[owner[some]], begins[some], ends[some])

    def _first(self, hole: I64) -> I64:
        """Return the first hole of each hole's track; 0 for −1."""
        return np.where(hole < 0, 0, _first_of_track(self.holes)[hole])

    def _passed(self, hole: I64) -> I64:
        """Return the total length of holes up to and including this one; 0 for −1."""
        return np.where(hole < 0, 0, (self.before + self.holes.end - self.holes.start)[hole])


def _first_of_track(spans: Spans) -> I64:
    """Return (spans,) the first row of each span's track."""
    first: I64 = np.maximum.accumulate(np.where(begins_run(spans.track), arange(len(spans)), 0))
    return first


def last_until(known: tuple[AnyArray, I64], targets: tuple[AnyArray, I64]) -> I64:
    """Return (targets,) the last known row of the same track that is not later than the target, −1 for none."""
    if not len(known[0]) or not len(targets[0]):
        return minus_ones(len(targets[0]))
    row = rows_until(known, targets) - 1
    return np.where((row >= 0) & (known[0][row] == targets[0]), row, -1)


def rows_until(known: tuple[AnyArray, I64], target: tuple[AnyArray, I64]) -> I64:
    """Return (targets,) the number of known rows, sorted by track, then time, up to each target."""
    track, time = zip(known, target, strict=True)
    if (_span(track) + 1) * _span(time) > _WORD:
        track, time = _common_ranks(*track), _common_ranks(*time)
    width = _span(time)
    rows, targets = (as_int64(lane) * width + moment for lane, moment in zip(track, time, strict=True))
    return searchsorted(rows, targets, "right")


def since(time: U64, origin: int) -> I64:
    """Return nanoseconds since the origin, at least 0; hostile values are clamped to FAR."""
    later = time - np.minimum(np.uint64(max(origin, 0)), time)
    passed = np.minimum(later, np.uint64(FAR), out=later).view(np.int64)
    passed += max(-origin, 0)
    return passed


def _span(columns: Sequence[AnyArray]) -> int:
    """Return the size of the range from the least value, or 0, to the largest, or 0."""
    least = min(int(column.min(initial=0)) for column in columns)
    return max(int(column.max(initial=0)) for column in columns) - least + 1


def _common_ranks(one: AnyArray, other: AnyArray) -> tuple[I64, I64]:
    """Return two columns as indices of their common distinct values, so that a pair of indices fits one integer."""
    rank = unique_inverse(np.append(one, other))[1]
    return rank[: len(one)], rank[len(one) :]
