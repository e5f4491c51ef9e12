"""Places boxes of known lengths on tracks: each as late as possible, but not after the time of its sample.

A sample shows that its thread ran for a period before it: the *box* of the sample. Timers sometimes fire late, so boxes
are moved to earlier times where they would overlap, in the order of their samples::

    samples      1.3   2.0   3.0   4.1          period 1
    boxes     (0-1) (1-2) (2-3)  (3.1-4.1)

Boxes must not overlap in any *chain*: a track, or perhaps a CPU. In one chain, the latest ends without overlaps are a
running minimum from its last box backwards. Boxes are laid out by track and by CPU in turn until nothing changes. Boxes
that still overlap are cut.
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
# Maximum number of layouts for each division into chains.
_ROUNDS = 16
# Gaps of a track are closed, shortest first, up to a 200th of the total length of its boxes.
_CLOSED_SHARE = 200
# sums of lengths stay below this, so that they fit into int64 with a time added
_LIMIT = 1 << 62
# with longer chains on average, each chain gets a numpy call of its own
_LONG_CHAIN = 256


class BoxChains(Frozen):
    """A division of boxes into chains: one for each track, or one for each CPU. Boxes of a chain are sorted by time."""

    order: I64 | None
    """(boxes,) rows of boxes, chain by chain; None if the boxes are in that order."""
    is_first: Bools
    """(boxes,) for boxes chain by chain: whether the box is the first of its chain."""

    @staticmethod
    def of(chain: AnyArray, time: I64) -> "BoxChains":
        """Divide boxes into chains; ``chain`` (boxes,) is the track or CPU of each."""
        return BoxChains.in_order(order_unless_sorted(chain, time), chain)

    @staticmethod
    def in_order(order: I64 | None, chain: AnyArray) -> "BoxChains":
        """Return chains of boxes whose order by chain and time is known."""
        return BoxChains(order, begins_run(chain if order is None else chain[order]))

    def by_chain(self, values: I64) -> I64:
        """Return a copy of (boxes,) values, ordered chain by chain."""
        return values.copy() if self.order is None else values[self.order]

    def by_box(self, values: AnyArray) -> AnyArray:
        """Return values in the order of boxes: the inverse of ``by_chain``."""
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result


def place_boxes(time: I64, length: I64, divisions: list[BoxChains]) -> tuple[I64, I64]:
    """Return (boxes,) starts and ends such that no boxes overlap in any chain.

    ``time`` and ``length`` (boxes,) are at least 0. ``divisions`` are chains by track, then perhaps by CPU.
    """
    max_length = _LIMIT // max(len(length), 1)
    length = np.minimum(length, max_length) if length.max(initial=0) > max_length else length
    end = _latest_ends(time, length, divisions)
    earliest_end = length * -_MAX_SHIFT  # in place, here and below: a second column of all boxes takes too much memory
    earliest_end += time
    np.maximum(end, earliest_end, out=end)
    np.maximum(end, 0, out=end)
    del earliest_end
    end_before, is_same_track = _ends_before(end, divisions)
    start = end - length
    np.minimum(np.maximum(start, end_before, out=start), end, out=start)
    return _without_short_gaps(start, end, end_before, is_same_track, divisions[0]), end


def order_unless_sorted(track: AnyArray, time: I64) -> I64 | None:
    """Return the rows sorted by track, then time (stable); None if they are sorted already."""
    is_next_track = track[1:] > track[:-1]
    if np.all(is_next_track | ((track[1:] == track[:-1]) & (time[1:] >= time[:-1]))):
        return None
    return argsort_rows([track, time])


def _latest_ends(time: I64, length: I64, divisions: list[BoxChains]) -> I64:
    """Some overlaps stay if `_ROUNDS` is too low."""
    end, divisions_without_overlap = time, 0
    for division in islice(cycle(divisions), _ROUNDS * len(divisions)):
        new_end = _without_overlaps(end, length, division)
        divisions_without_overlap = divisions_without_overlap + 1 if new_end is end else 1
        end = new_end
        if divisions_without_overlap == len(divisions):
            break
    return end


def _ends_before(end: I64, divisions: list[BoxChains]) -> tuple[I64, Bools]:
    """Return (boxes,) the latest end of all earlier boxes in any chain, and whether that box is on the same track."""
    latest, is_same_track = earlier_ends(end, divisions[0]), trues(len(end))
    for division in divisions[1:]:
        other = earlier_ends(end, division)
        is_same_track &= latest >= other
        np.maximum(latest, other, out=latest)
    return latest, is_same_track


def _without_overlaps(end: I64, length: I64, chains: BoxChains) -> I64:
    """Return (boxes,) the latest ends, not after ``end``, without overlaps; ``end`` itself if none overlap."""
    # the end of a box minus the lengths of all boxes up to it must not exceed the same difference of any later box
    total, slack = chains.by_chain(length), chains.by_chain(end)
    np.cumsum(total, dtype=np.int64, out=total)
    slack -= total
    if not _any_falls(slack, chains):
        return end
    _lower_to_later_minimum(slack, chains.is_first)
    slack += total
    del total
    return chains.by_box(slack)


def _any_falls(values: I64, chains: BoxChains) -> bool:
    return bool(np.any((values[1:] < values[:-1]) & ~chains.is_first[1:]))


def _lower_to_later_minimum(values: I64, is_first: Bools) -> None:
    """Replace each value by the minimum of itself and all later ones in its chain, in place.

    For short chains, one running minimum serves all: each chain is lifted above the maximum of those before it.
    """
    first = flatnonzero(is_first)
    if len(first) * _LONG_CHAIN <= len(values):
        for begin, end in pairwise([*first.tolist(), len(values)]):
            reversed_values = values[begin:end][::-1]
            np.minimum.accumulate(reversed_values, out=reversed_values)
        return
    count = np.diff(np.append(first, len(values)))
    highest, lowest = (extreme.reduceat(values, as_intp(first)) for extreme in (np.maximum, np.minimum))
    # lifts must not overflow, so values far below their chain's maximum are raised
    floor = highest - _LIMIT // len(first)
    if np.any(lowest < floor):
        np.maximum(values, repeat(floor, count), out=values)
        np.maximum(lowest, floor, out=lowest)
    lift = repeat(np.append(0, cumsum(highest - lowest)[:-1]) - lowest, count)
    values += lift
    reversed_values = values[::-1]
    np.minimum.accumulate(reversed_values, out=reversed_values)
    values -= lift


def earlier_ends(end: I64, chains: BoxChains) -> I64:
    """Return (boxes,) the latest end of all earlier boxes in the same chain; 0 for the first."""
    ends = chains.by_chain(end)
    if _any_falls(ends, chains):  # a running maximum, as the minimum of negated and reversed values
        np.negative(ends, out=ends)
        _lower_to_later_minimum(ends[::-1], of_next(chains.is_first, True)[::-1])
        np.negative(ends, out=ends)
    ends = of_previous(ends, 0)
    ends[chains.is_first] = 0
    return chains.by_box(ends)


def _without_short_gaps(start: I64, end: I64, end_before: I64, is_same_track: Bools, tracks: BoxChains) -> I64:
    """Close short gaps between the boxes of a track, in place: a thread that keeps running is drawn as one run.

    ``end_before`` is the latest end of all earlier boxes; ``is_same_track``: that box is on the same track.
    """
    has_gap = is_same_track & (start > end_before) & (end > start)
    has_gap &= ~tracks.by_box(tracks.is_first)
    rows = flatnonzero(has_gap)
    if not len(rows):
        return start
    track = tracks.by_box(np.cumsum(tracks.is_first, dtype=np.int32) - np.int32(1))[rows]
    gap = start[rows] - end_before[rows]
    order = argsort_rows([track, gap])
    rows, gap, track = rows[order], gap[order], track[order]
    total_gap = cumsum(gap)
    length = end - start
    length = length if tracks.order is None else length[tracks.order]
    max_total = np.add.reduceat(length, as_intp(flatnonzero(tracks.is_first))) // _CLOSED_SHARE
    before_track = np.maximum.accumulate(np.where(begins_run(track), total_gap - gap, 0))  # gaps of earlier tracks
    closed = rows[total_gap - before_track <= max_total[track]]
    start[closed] = end_before[closed]
    return start
