"""Finds the newest range that covered a point at a given sequence number, among ranges that overlap.

The points where ranges begin or end divide the line into elementary intervals. A range is stored with every interval
that it covers::

    ranges        |------ a (made at 1) -------|
                        |-- b (made at 5) -|
    intervals     |  0  |         1        | 2 |
    entries       (0, 1, a)  (1, 1, a)  (1, 5, b)  (2, 1, a)        (interval, sequence number, value)

To keep entries few, intervals form a radix-64 segment tree: one block of the next level replaces 64 aligned intervals
that a range covers entirely, and so on. A range then costs at most 126 entries per level.

Ranges belong to separate spaces (here, process images); those of one space never overlap those of another.
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

_RADIX_BITS = 6  # a block has 2⁶ = 64 blocks of the level below


class _Level(Frozen):
    """Entries of one level, sorted by block, then by sequence number; block b of level 0 is interval b."""

    keys: I64
    """block << 32 | sequence number."""
    values: I64


class OverlappingRanges:
    """Ranges in separate spaces, each with the sequence number from which it is in effect, and a value.

    ``start`` and ``limit`` are (n,) uint64; ``space``, ``sequence`` and ``value`` are (n,) int64. Sequence numbers are
    distinct.
    """

    def __init__(self, space: I64, start: U64, limit: U64, sequence: I64, value: I64) -> None:
        is_filled = limit > start
        space, sequence, value = space[is_filled], sequence[is_filled], value[is_filled]
        start, limit = start[is_filled], limit[is_filled]
        self._points, bound = unique_inverse(np.concatenate([start, limit]))
        self._is_covered = self._covered(*np.split(bound, 2))
        # bound i of a space is at space * (number of all points) + i, so that all spaces are on one line
        bound += np.tile(space * len(self._points), 2)
        self._bounds, interval = unique_inverse(bound)
        first, end = np.split(interval, 2)
        self._levels = _build_levels(first, end, sequence, value)

    def find(self, space: I64, sequence: I64, point: U64) -> I64:
        """Return (n,) the value of the newest range over each point at each sequence number, −1 for none."""
        value = minus_ones(len(point))
        if not len(self._bounds):
            return value
        bound = searchsorted(self._points, point, "right") - 1
        interval = searchsorted(self._bounds, space * len(self._points) + bound, "right") - 1
        interval[bound < 0] = -1
        newest_sequence = minus_ones(len(point))
        for number, level in enumerate(self._levels):
            _find_in_level(level, interval >> (_RADIX_BITS * number), sequence, value, newest_sequence)
        return value

    @property
    def interval_count(self) -> int:
        """Number of intervals that ``intervals`` returns, including those below the first bound and above the last."""
        return len(self._points) + 1

    def intervals(self, point: U64) -> tuple[I64, Bools]:
        """Return the interval of each point, and whether any range ever covers it, in any space; shapes (n,).

        These intervals are bounded by the ranges of all spaces, and interval 0 is below the first bound. In one of
        them, ``find`` has the same answer at all points, for any space and sequence number.
        """
        interval = searchsorted(self._points, point, "right")
        return interval, take(self._is_covered, interval)

    def begin_of(self, interval: I64) -> U64:
        """Return (n,) the first point of each interval that ``intervals`` returns; 0 for interval 0."""
        return np.append(np.uint64(0), self._points)[interval]

    def _covered(self, begin: I64, end: I64) -> Bools:
        """Whether any range covers each interval (intervals,); interval i + 1 begins at bound i."""
        count = len(self._points) + 1
        return cumsum(bincount(begin + 1, count) - bincount(end + 1, count)) > 0

    def is_uniform(self, first: U64, last: U64) -> Bools:
        """Return (n,) whether ``find`` has one answer from first to last, in every space."""
        same: Bools = searchsorted(self._points, first, "right") == searchsorted(self._points, last, "right")
        return same


def _find_in_level(level: _Level, block: I64, sequence: I64, value: I64, newest_sequence: I64) -> None:
    index = searchsorted(level.keys, block << 32 | sequence, "right") - 1
    key = level.keys[np.maximum(index, 0)]
    is_newer = (index >= 0) & (block >= 0) & (key >> 32 == block)
    is_newer &= (key & 0xFFFFFFFF) > newest_sequence
    value[is_newer] = level.values[index[is_newer]]
    newest_sequence[is_newer] = key[is_newer] & 0xFFFFFFFF


def _build_levels(first: I64, end: I64, sequence: I64, value: I64) -> list[_Level]:
    """Divide each range, which covers intervals first … end − 1, into blocks, level by level.

    The middle consists of whole blocks of the next level. At most 63 blocks before and after it become entries::

        covered on level 0     62 63 | 64 … 127 | 128 129            entries 62, 63, 128, 129
        covered on level 1             1
    """
    levels: list[_Level] = []
    while len(first):
        next_first = -(-first >> _RADIX_BITS)
        next_end = np.maximum(end >> _RADIX_BITS, next_first)
        has_middle = next_end > next_first
        head_end = np.where(has_middle, next_first << _RADIX_BITS, end)
        tail_first = np.where(has_middle, next_end << _RADIX_BITS, end)
        lengths = head_end - first, end - tail_first
        blocks = np.concatenate([ranges(first, lengths[0]), ranges(tail_first, lengths[1])])
        range_of_block = np.concatenate([repeat(arange(len(sequence)), length) for length in lengths])
        sequences = sequence[range_of_block]
        order = argsort_rows([blocks, sequences])
        levels.append(_Level((blocks << 32 | sequences)[order], value[range_of_block[order]]))
        first, end = next_first[has_middle], next_end[has_middle]
        sequence, value = sequence[has_middle], value[has_middle]
    return levels
