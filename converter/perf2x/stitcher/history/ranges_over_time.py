"""Finds the range that was the newest over a point at a given sequence number, among ranges that overlap.

The points where ranges begin or end divide the line into elementary intervals. A range is stored with every interval
that it covers, in a radix-64 segment tree: where the range covers 64 aligned intervals entirely, one block of the next
level replaces them, and so on up the levels. So a range costs at most 126 entries per level, however many others it
overlaps, and a lookup searches one sorted array per level::

    ranges        |------ a (made at 1) ------|
                        |-- b (made at 5) --|
    intervals     |  0  |         1        | 2 |
    entries       (0, 1, a)  (1, 1, a)  (1, 5, b)  (2, 1, a)        point in 1 as of 4: a, as of 7: b

Ranges belong to separate spaces; those of one space never overlap those of another.
"""

import numpy as np

from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
    Frozen,
    arange,
    argsort_rows,
    bincount,
    cumsum,
    minus_ones,
    ranges,
    repeat,
    searchsorted,
    take,
    unique_inverse,
)

_RADIX_BITS = 6


class _Level(Frozen):
    """All blocks of one size."""

    keys: I64
    """block << 32 | sequence number, ascending."""
    values: I64


class OverlappingRanges:
    """Ranges in separate spaces, each with the sequence number from which it is in effect, and a value to return.

    Shapes: ``start`` and ``limit`` (n,) uint64; ``space``, ``sequence`` and ``value`` (n,) int64. Sequence numbers are
    distinct.
    """

    def __init__(self, space: I64, start: U64, limit: U64, sequence: I64, value: I64) -> None:
        keep = limit > start
        space, sequence, value = space[keep], sequence[keep], value[keep]
        start, limit = start[keep], limit[keep]
        self._points, points = unique_inverse(np.concatenate([start, limit]))
        self._is_covered = self._covered(*np.split(points, 2))
        points += np.tile(space * len(self._points), 2)
        self._bounds, bounds = unique_inverse(points)
        low, high = np.split(bounds, 2)
        self._levels = _build_levels(low, high, sequence, value)

    def find(self, space: I64, sequence: I64, point: U64) -> I64:
        """Return (n,) int64: the value of the newest range over each point as of each sequence number, −1 for none."""
        best = minus_ones(len(point))
        if not len(self._bounds):
            return best
        slot = searchsorted(self._points, point, "right") - 1
        block = searchsorted(self._bounds, space * len(self._points) + slot, "right") - 1
        block[slot < 0] = -1
        newest = minus_ones(len(point))
        for number, level in enumerate(self._levels):
            _find_in_level(level, block >> (_RADIX_BITS * number), sequence, best, newest)
        return best

    @property
    def interval_count(self) -> int:
        """Number of elementary intervals, including those below the first point and above the last."""
        return len(self._points) + 1

    def intervals(self, point: U64) -> tuple[I64, Bools]:
        """Return (n,) the elementary interval of each point, and whether any range ever covers it in any space."""
        interval = searchsorted(self._points, point, "right")
        return interval, take(self._is_covered, interval)

    def begin_of(self, interval: I64) -> U64:
        """Return (n,) the first point of each interval."""
        return np.append(np.uint64(0), self._points)[interval]

    def _covered(self, first: I64, last: I64) -> Bools:
        """Return (intervals,) bool: whether any range covers each elementary interval.

        ``first`` and ``last`` (n,) are the indices of the points where each range begins and ends.
        """
        count = len(self._points) + 1
        return cumsum(bincount(first + 1, count) - bincount(last + 1, count)) > 0

    def is_uniform(self, first: U64, last: U64) -> Bools:
        """Return (n,) bool: whether ``find`` has one answer for all points from first to last, in every space."""
        same: Bools = searchsorted(self._points, first, "right") == searchsorted(self._points, last, "right")
        return same


def _find_in_level(level: _Level, block: I64, sequence: I64, best: I64, newest: I64) -> None:
    """Replace ``best`` and ``newest`` (value and sequence number) where this level has a newer range."""
    index = searchsorted(level.keys, block << 32 | sequence, "right") - 1
    found = level.keys[np.maximum(index, 0)]
    hit = (index >= 0) & (block >= 0) & (found >> 32 == block)
    hit &= (found & 0xFFFFFFFF) > newest
    best[hit] = level.values[index[hit]]
    newest[hit] = found[hit] & 0xFFFFFFFF


def _build_levels(low: I64, high: I64, sequence: I64, value: I64) -> list[_Level]:
    """Divide each run of intervals low … high − 1 into blocks, level by level."""
    levels: list[_Level] = []
    while len(low):
        up_low = -(-low >> _RADIX_BITS)
        up_high = np.maximum(high >> _RADIX_BITS, up_low)
        inner = up_high > up_low
        head_end = np.where(inner, up_low << _RADIX_BITS, high)
        tail_start = np.where(inner, up_high << _RADIX_BITS, high)
        lengths = head_end - low, high - tail_start
        blocks = np.concatenate([ranges(low, lengths[0]), ranges(tail_start, lengths[1])])
        owner = np.concatenate([repeat(arange(len(sequence)), length) for length in lengths])
        sequences = sequence[owner]
        order = argsort_rows([blocks, sequences])
        levels.append(_Level((blocks << 32 | sequences)[order], value[owner[order]]))
        low, high, sequence, value = up_low[inner], up_high[inner], sequence[inner], value[inner]
    return levels
