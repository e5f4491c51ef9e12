"""Places boxes of known lengths on tracks: each as late as possible, but not after the time of its sample.

A sample shows its stack at one time, and that its thread ran for a period before it. Timers sometimes fire late, so
samples are not exactly a period apart. Boxes keep the order of their samples and are pushed backwards::

    samples      1.3   2.0   3.0   4.1          period 1
    boxes     (0-1) (1-2) (2-3)  (3.1-4.1)

If there is more CPU time than time, boxes are cut: a box is pushed back by a few periods at most, and ends where the
one before it ends at the latest.
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

_FARTHEST = 4
"""Periods by which a box may be pushed back."""
_ROUNDS = 16
_CLOSED = 200
"""Gaps are closed, shortest first, up to this fraction (1/n) of a track's time."""
_LIMIT = 1 << 62
_LONG = 256
"""Boxes in a chain above which it gets its own numpy call."""


class BoxChains(Frozen):
    """Chains of boxes of which none may overlap the one before: those of one track, or of one CPU, by time."""

    order: I64 | None
    """(boxes,) rows of boxes, chain by chain; None if they are in that order."""
    first: Bools
    """(boxes,) True where a chain begins."""

    @staticmethod
    def of(chain: AnyArray, moment: I64) -> "BoxChains":
        """Return the chains of boxes on numbered lines, each by time."""
        return BoxChains.in_order(order_of(chain, moment), chain)

    @staticmethod
    def in_order(order: I64 | None, chain: AnyArray) -> "BoxChains":
        """Return the chains of rows in an order that keeps each chain contiguous."""
        lane = chain if order is None else chain[order]
        return BoxChains(order, begins_run(lane))

    def take(self, values: I64) -> I64:
        """Return a copy of the boxes' values, chain by chain."""
        return values.copy() if self.order is None else values[self.order]

    def put(self, values: AnyArray) -> AnyArray:
        """Return values given chain by chain in the order of the boxes."""
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result


def place(moment: I64, length: I64, chains: list[BoxChains]) -> tuple[I64, I64]:
    """Return starts and ends of boxes such that none overlap in any chain. All times are at least 0."""
    most = _LIMIT // max(len(length), 1)
    length = np.minimum(length, most) if length.max(initial=0) > most else length
    end = _latest_ends(moment, length, chains)
    earliest = length * -_FARTHEST  # in place, here and below: a second column of all boxes takes too much memory
    earliest += moment
    np.maximum(end, earliest, out=end)
    np.maximum(end, 0, out=end)
    del earliest
    latest, is_own = _ends_before(end, chains)
    start = end - length
    np.minimum(np.maximum(start, latest, out=start), end, out=start)
    return _without_short_gaps(start, end, latest, is_own, chains[0]), end


def order_of(lane: AnyArray, time: I64) -> I64 | None:
    """Return the rows sorted by lane, then time (stable). None if they are sorted."""
    later = lane[1:] > lane[:-1]
    if np.all(later | ((lane[1:] == lane[:-1]) & (time[1:] >= time[:-1]))):
        return None
    return argsort_rows([lane, time])


def _latest_ends(moment: I64, length: I64, chains: list[BoxChains]) -> I64:
    """Return (boxes,) the latest ends, not after their samples, without overlaps, if a few rounds find them."""
    end, settled = moment, 0  # all chains concatenated, if no boxes overlap
    for chain in islice(cycle(chains), _ROUNDS * len(chains)):
        pushed = _pushed_back(end, length, chain)
        settled = settled + 1 if pushed is end else 1
        end = pushed
        if settled == len(chains):
            break
    return end


def _ends_before(end: I64, chains: list[BoxChains]) -> tuple[I64, Bools]:
    """Return (boxes,) the latest end of all earlier boxes in any chain, and whether it is in the first chain."""
    latest, is_own = earlier_ends(end, chains[0]), trues(len(end))
    for chain in chains[1:]:
        other = earlier_ends(end, chain)
        is_own &= latest >= other
        np.maximum(latest, other, out=latest)
    return latest, is_own


def _pushed_back(end: I64, length: I64, chain: BoxChains) -> I64:
    """Return (boxes,) the latest ends, not after the given ones, at which the boxes of a chain do not overlap."""
    total, latest = chain.take(length), chain.take(end)
    np.cumsum(total, dtype=np.int64, out=total)
    latest -= total
    if not _any_falls(latest, chain):
        return end
    _lower_to_later_minimum(latest, chain.first)
    latest += total
    del total
    return chain.put(latest)


def _any_falls(values: I64, chain: BoxChains) -> bool:
    """Return whether any value is lower than the one before it in its chain."""
    return bool(np.any((values[1:] < values[:-1]) & ~chain.first[1:]))


def _lower_to_later_minimum(values: I64, first: Bools) -> None:
    """Replace each value by the minimum of itself and all later ones in its chain, in place.

    Many short chains are offset against each other, so that one running minimum serves them all.
    """
    starts = flatnonzero(first)
    if len(starts) * _LONG <= len(values):
        for begin, end in pairwise([*starts.tolist(), len(values)]):
            reversed_values = values[begin:end][::-1]
            np.minimum.accumulate(reversed_values, out=reversed_values)
        return
    count = np.diff(np.append(starts, len(values)))
    highest, lowest = (extreme.reduceat(values, as_intp(starts)) for extreme in (np.maximum, np.minimum))
    least = highest - _LIMIT // len(starts)
    if np.any(lowest < least):
        np.maximum(values, repeat(least, count), out=values)
        np.maximum(lowest, least, out=lowest)
    lift = repeat(np.append(0, cumsum(highest - lowest)[:-1]) - lowest, count)
    values += lift
    reversed_values = values[::-1]
    np.minimum.accumulate(reversed_values, out=reversed_values)
    values -= lift


def earlier_ends(end: I64, chain: BoxChains) -> I64:
    """Return (boxes,) the latest end of all earlier boxes of the chain; 0 for the first."""
    ends = chain.take(end)
    if _any_falls(ends, chain):
        np.negative(ends, out=ends)
        _lower_to_later_minimum(ends[::-1], of_next(chain.first, True)[::-1])
        np.negative(ends, out=ends)
    ends = of_previous(ends, 0)
    ends[chain.first] = 0
    return chain.put(ends)


def _without_short_gaps(start: I64, end: I64, before: I64, is_own: Bools, own: BoxChains) -> I64:
    """Return starts: a box begins where the one before it on its track ends if the gap is short and free in all chains.

    A thread that keeps running is one run, whatever the jitter of its samples. ``before`` is the latest end of all
    earlier boxes in any chain; ``is_own``: that box is on the same track.
    """
    is_gap = is_own & (start > before) & (end > start)
    is_gap &= ~own.put(own.first)
    rows = flatnonzero(is_gap)
    if not len(rows):
        return start
    lane = own.put(np.cumsum(own.first, dtype=np.int32) - np.int32(1))[rows]
    gap = start[rows] - before[rows]
    order = argsort_rows([lane, gap])
    rows, gap, lane = rows[order], gap[order], lane[order]
    spent = cumsum(gap)
    length = end - start
    length = length if own.order is None else length[own.order]
    held = np.add.reduceat(length, as_intp(flatnonzero(own.first))) // _CLOSED
    base = np.maximum.accumulate(np.where(begins_run(lane), spent - gap, 0))
    closed = rows[spent - base <= held[lane]]
    start[closed] = before[closed]
    return start
