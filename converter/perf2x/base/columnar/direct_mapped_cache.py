"""A cache of recent lookups in a fixed amount of memory: direct-mapped, so that a batch takes a few array operations.

::

    slot      0      1      2             look up 7, slot 1: cached
    key       ·      7      4             look up 9, slot 2: computed, replaces 4
"""

from collections.abc import Callable, Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, Bools, flatnonzero, take

_MIX = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F))
"""Odd numbers without a pattern: multiplying by them spreads keys over the upper bits (Fibonacci hashing)."""
_EMPTY = -2
"""In the first column of a slot's key: nothing is cached there."""


class DirectMappedCache:
    """Remembers an answer per key; a key is a row of one or two int64 columns, and has one of ``2 ** bits`` slots.

    Keys must not have −2 in their first column.
    """

    def __init__(self, columns: int = 1, bits: int = 16) -> None:
        self._shift = np.uint64(64 - bits)
        self._keys = [np.full(1 << bits, _EMPTY, np.int64) for _ in range(columns)]
        self._answers = np.zeros(1 << bits, np.int64)

    def answers(self, find: Callable[[I64], I64], *columns: I64) -> I64:
        """Return (n,) int64: the answer for each row; ``find(rows)`` computes answers that are not cached.

        Of the rows that are not cached, ``find`` first gets one per slot: most other rows of that slot have the same
        key, and then find the answer in the cache. A second call gets the remaining rows.
        """
        result, is_cached = self.cached(*columns)
        missed = flatnonzero(~is_cached)
        if len(missed):
            queries = [column[missed] for column in columns]
            slot = self._slots(queries)
            self._answers[slot] = missed
            first = flatnonzero(take(self._answers, slot) == missed)
            self.learn(find(missed[first]), *(column[first] for column in queries))
            result[missed], is_cached = self.cached(*queries)
            rest = missed[~is_cached]
            if len(rest):
                result[rest] = find(rest)
        return result

    def cached(self, *columns: I64) -> tuple[I64, Bools]:
        """Return the answers, and which rows are cached; answers of other rows are meaningless. Shapes: (n,) each."""
        slot = self._slots(columns)
        is_cached: Bools = take(self._keys[0], slot) == columns[0]
        for column_keys, column in zip(self._keys[1:], columns[1:], strict=True):
            is_cached &= take(column_keys, slot) == column
        return take(self._answers, slot), is_cached

    def learn(self, answers: I64, *columns: I64) -> None:
        """Cache an answer per row; of several rows with the same slot, the last one is kept."""
        slot = self._slots(columns)
        for slots, column in zip([*self._keys, self._answers], [*columns, answers], strict=True):
            slots[slot] = column

    def _slots(self, columns: Sequence[I64]) -> I64:
        total: U64 = columns[0].view(np.uint64) * _MIX[0]
        for odd, column in zip(_MIX[1:], columns[1:], strict=False):
            total += column.view(np.uint64) * odd
        return (total >> self._shift).view(np.int64)
