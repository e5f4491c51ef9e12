"""A cache of recent lookups in a fixed amount of memory, direct-mapped: each key can be in one slot only.

So a batch of lookups takes a few array operations. The hash of a key determines its slot. For example, with keys 7 and
4 in the cache::

    slot           0      1      2             look up 7, whose slot is 1: cached
    cached key     ·      7      4             look up 9, whose slot is 2: computed; then 9 replaces 4
"""

from collections.abc import Callable, Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, Bools, flatnonzero, take

_FACTORS = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F))
"""A factor for each column of keys, as in Fibonacci hashing: every bit of a key affects the product's upper bits."""
# Marks an empty slot, in the first column of its key.
_EMPTY = -2


class DirectMappedCache:
    """Remembers the results of the latest lookups, called answers: an int64 number for each key.

    A key is a row of one or two int64 columns, the first of which must not have −2 (_EMPTY). There are ``2 ** bits``
    slots.
    """

    def __init__(self, columns: int = 1, bits: int = 16) -> None:
        self._shift = np.uint64(64 - bits)
        self._keys = [np.full(1 << bits, _EMPTY, np.int64) for _ in range(columns)]
        self._answers = np.zeros(1 << bits, np.int64)

    def answers(self, compute: Callable[[I64], I64], *columns: I64) -> I64:
        """Return (n,) int64: the answer for each row of the columns, whose values are its key.

        ``compute(rows)`` returns the answers for the rows with these indices. It is called at most twice: for one
        uncached row of each slot, and then for rows with other keys in these slots.
        """
        result, is_cached = self.cached(*columns)
        missed = flatnonzero(~is_cached)
        if len(missed):
            keys = [column[missed] for column in columns]
            slots = self._slots(keys)
            # choose one row for each slot: every row writes its number into its slot, and the last one stays
            self._answers[slots] = missed
            chosen = flatnonzero(take(self._answers, slots) == missed)
            self.learn(compute(missed[chosen]), *(column[chosen] for column in keys))
            result[missed], is_cached = self.cached(*keys)
            still_missed = missed[~is_cached]
            if len(still_missed):
                result[still_missed] = compute(still_missed)
        return result

    def cached(self, *columns: I64) -> tuple[I64, Bools]:
        """Return the answer for each row, and whether the row's key is cached; if not, the answer is meaningless.

        Shapes: (n,) each.
        """
        slots = self._slots(columns)
        is_cached: Bools = take(self._keys[0], slots) == columns[0]
        for cached_keys, column in zip(self._keys[1:], columns[1:], strict=True):
            is_cached &= take(cached_keys, slots) == column
        return take(self._answers, slots), is_cached

    def learn(self, answers: I64, *columns: I64) -> None:
        """Cache the answer for each row's key; of several rows with the same slot, the last one is kept."""
        slots = self._slots(columns)
        for table, column in zip([*self._keys, self._answers], [*columns, answers], strict=True):
            table[slots] = column

    def _slots(self, columns: Sequence[I64]) -> I64:
        hashes: U64 = columns[0].view(np.uint64) * _FACTORS[0]
        for factor, column in zip(_FACTORS[1:], columns[1:], strict=False):
            hashes += column.view(np.uint64) * factor
        return (hashes >> self._shift).view(np.int64)
