"""Places boxes on tracks: each as late as possible, but not after the time of its sample.

A sample shows that its thread ran for a period before it: the *box* of the sample. Timers sometimes fire late, so boxes
are moved to earlier times where they would overlap, in the order of their samples::

    samples      1.3   2.0   3.0   4.1          period 1
    boxes     (0-1) (1-2) (2-3)  (3.1-4.1)

Boxes must not overlap in any *lane*: a track and, if CPUs were recorded, a CPU. In one lane, the latest ends without
overlaps are a running minimum from its last box backwards. Boxes are laid out by track and by CPU in turn until nothing
changes. No box is moved by more than four times its length; boxes that still overlap are cut. Finally, short gaps of a
track are closed: the box after the gap is lengthened.
"""

from itertools import cycle, islice, pairwise

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    Bools,
    Frozen,
    argsort_rows,
    as_intp,
    begins_run,
    cumsum,
    flatnonzero,
    of_next,
    of_previous,
    repeat,
    trues,
)

# A box may be moved by at most this many times its length.
_MAX_SHIFT = 4
# Maximum number of layouts for each division into lanes.
_ROUNDS = 16
# Gaps of a track are closed, shortest first, up to a 200th of the total length of its boxes.
_CLOSED_SHARE = 200
# sums of lengths stay below this, so that they fit into int64 with a time added
_LIMIT = 1 << 62
# with longer lanes on average, each lane gets a numpy call of its own
_LONG_LANE = 256


class BoxLanes(Frozen):
    """A division of boxes into lanes: one for each track, or one for each CPU. Boxes of a lane are sorted by time."""

    order: I64 | None
    """(boxes,) rows of boxes, lane by lane; None if the boxes are in that order."""
    is_first: Bools
    """(boxes,) for boxes lane by lane: whether the box is the first of its lane."""

    @staticmethod
    def of(lane: AnyArray, time: I64) -> "BoxLanes":
        """Divide boxes into lanes; ``lane`` (boxes,) is the track or CPU of each."""
        return BoxLanes.in_order(order_unless_sorted(lane, time), lane)

    @staticmethod
    def in_order(order: I64 | None, lane: AnyArray) -> "BoxLanes":
        """Return lanes of boxes whose order by lane and time is known."""
        return BoxLanes(order, begins_run(lane if order is None else lane[order]))

    def by_lane(self, values: I64) -> I64:
        """Return a copy of (boxes,) values, ordered lane by lane."""
        return values.copy() if self.order is None else values[self.order]

    def by_box(self, values: AnyArray) -> AnyArray:
        """Return values in the order of boxes: the inverse of ``by_lane``."""
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result


def place_boxes(time: I64, length: I64, divisions: list[BoxLanes]) -> tuple[I64, I64]:
    """Return (boxes,) starts and ends such that no boxes overlap in any lane.

    ``time`` and ``length`` (boxes,) are at least 0. ``divisions`` are lanes by track, then perhaps by CPU.
    """
    max_length = _LIMIT // max(len(length), 1)
    length = np.minimum(length, max_length) if length.max(initial=0) > max_length else length
    end = _latest_ends(time, length, divisions)
    earliest_end = length * -_MAX_SHIFT  # in place, here and below: a second column of all boxes takes too much memory
    earliest_end += time
    np.maximum(end, earliest_end, out=end)
    np.maximum(end, 0, out=end)
    del earliest_end
    earlier_end, is_same_track = _earlier_ends_in_all_lanes(end, divisions)
    start = end - length
    np.minimum(np.maximum(start, earlier_end, out=start), end, out=start)
    return _without_short_gaps(start, end, earlier_end, is_same_track, divisions[0]), end


def order_unless_sorted(track: AnyArray, time: I64) -> I64 | None:
    """Return the rows sorted by track, then time (stable); None if they are sorted already."""
    is_next_track = track[1:] > track[:-1]
    if np.all(is_next_track | ((track[1:] == track[:-1]) & (time[1:] >= time[:-1]))):
        return None
    return argsort_rows([track, time])


def _latest_ends(time: I64, length: I64, divisions: list[BoxLanes]) -> I64:
    """Return (boxes,) the latest ends, not after ``time``, without overlaps; some overlaps stay after `_ROUNDS`."""
    end, divisions_without_overlap = time, 0
    for division in islice(cycle(divisions), _ROUNDS * len(divisions)):
        new_end = _without_overlaps(end, length, division)
        divisions_without_overlap = divisions_without_overlap + 1 if new_end is end else 1
        end = new_end
        if divisions_without_overlap == len(divisions):
            break
    return end


def _earlier_ends_in_all_lanes(end: I64, divisions: list[BoxLanes]) -> tuple[I64, Bools]:
    """Return (boxes,) the latest end of all earlier boxes in any of its lanes; whether that box is on its track."""
    latest, is_same_track = earlier_ends(end, divisions[0]), trues(len(end))
    for division in divisions[1:]:
        other = earlier_ends(end, division)
        is_same_track &= latest >= other
        np.maximum(latest, other, out=latest)
    return latest, is_same_track


def _without_overlaps(end: I64, length: I64, lanes: BoxLanes) -> I64:
    """Return (boxes,) the latest ends, not after ``end``, without overlaps; ``end`` itself if none overlap."""
    # the end of a box minus the lengths of all boxes up to it must not exceed the same difference of any later box
    total, slack = lanes.by_lane(length), lanes.by_lane(end)
    np.cumsum(total, dtype=np.int64, out=total)
    slack -= total
    if not _any_falls(slack, lanes):
        return end
    _lower_to_later_minimum(slack, lanes.is_first)
    slack += total
    del total
    return lanes.by_box(slack)


def _any_falls(values: I64, lanes: BoxLanes) -> bool:
    return bool(np.any((values[1:] < values[:-1]) & ~lanes.is_first[1:]))


def _lower_to_later_minimum(values: I64, is_first: Bools) -> None:
    """Replace each value by the minimum of itself and all later ones in its lane, in place.

    For short lanes, one running minimum serves all: each lane is lifted above the maximum of those before it.
    """
    first = flatnonzero(is_first)
    if len(first) * _LONG_LANE <= len(values):
        for begin, end in pairwise([*first.tolist(), len(values)]):
            reversed_values = values[begin:end][::-1]
            np.minimum.accumulate(reversed_values, out=reversed_values)
        return
    count = np.diff(np.append(first, len(values)))
    highest, lowest = (extreme.reduceat(values, as_intp(first)) for extreme in (np.maximum, np.minimum))
    # lifts must not overflow, so values far below their lane's maximum are raised
    floor = highest - _LIMIT // len(first)
    if np.any(lowest < floor):
        np.maximum(values, repeat(floor, count), out=values)
        np.maximum(lowest, floor, out=lowest)
    lift = repeat(np.append(0, cumsum(highest - lowest)[:-1]) - lowest, count)
    values += lift
    reversed_values = values[::-1]
    np.minimum.accumulate(reversed_values, out=reversed_values)
    values -= lift


def earlier_ends(end: I64, lanes: BoxLanes) -> I64:
    """Return (boxes,) the latest end of all earlier boxes in the same lane; 0 for the first."""
    ends = lanes.by_lane(end)
    if _any_falls(ends, lanes):  # a running maximum, as the minimum of negated and reversed values
        np.negative(ends, out=ends)
        _lower_to_later_minimum(ends[::-1], of_next(lanes.is_first, True)[::-1])
        np.negative(ends, out=ends)
    ends = of_previous(ends, 0)
    ends[lanes.is_first] = 0
    return lanes.by_box(ends)


def _without_short_gaps(start: I64, end: I64, earlier_end: I64, is_same_track: Bools, tracks: BoxLanes) -> I64:
    """Close short gaps between the boxes of a track, in place: a thread that keeps running is drawn as one run.

    ``earlier_end`` is the latest end of all earlier boxes; ``is_same_track``: that box is on the same track.
    """
    has_gap = is_same_track & (start > earlier_end) & (end > start)
    has_gap &= ~tracks.by_box(tracks.is_first)
    rows = flatnonzero(has_gap)
    if not len(rows):
        return start
    track = tracks.by_box(np.cumsum(tracks.is_first, dtype=np.int32) - np.int32(1))[rows]
    gap = start[rows] - earlier_end[rows]
    order = argsort_rows([track, gap])
    rows, gap, track = rows[order], gap[order], track[order]
    total_gap = cumsum(gap)
    length = end - start
    length = length if tracks.order is None else length[tracks.order]
    max_total = np.add.reduceat(length, as_intp(flatnonzero(tracks.is_first))) // _CLOSED_SHARE
    before_track = np.maximum.accumulate(np.where(begins_run(track), total_gap - gap, 0))  # gaps of earlier tracks
    closed = rows[total_gap - before_track <= max_total[track]]
    start[closed] = earlier_end[closed]
    return start
