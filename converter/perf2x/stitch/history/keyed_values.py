"""What a key (a pid, a tid) stood for at a moment: the last value set for it until then.

::

    key 7   set 3 at moment 2, 5 at moment 9        at(7, 4) is 3        at(7, 1) is −1
"""

import numpy as np

from perf2x.columnar.arrays import I64
from perf2x.columnar.unique import unique

_NOTHING = -(1 << 62)
_DENSE_LIMIT = 1 << 23
"""Keys below it are ranked by a table; above the kernel's largest pid (4 194 304)."""


class KeyedValues:
    """Immutable; of two values set at the same moment the one given last counts."""

    def __init__(self, key: I64, moment: I64, value: I64) -> None:
        self._keys = unique(key)
        packed = np.searchsorted(self._keys, key).astype(np.int64) << 32 | moment
        order = np.argsort(packed, kind="stable")
        # one entry in front of all, for what nothing was set for
        self._packed = np.append(np.int64(_NOTHING), packed[order])
        self._values = np.append(np.int64(-1), value[order])
        self._rank_table = self._dense_ranks()

    def at(self, key: I64, moment: I64) -> I64:
        """(n,) int64: the value in force for each key at each moment, −1 where none was set yet."""
        rank = self._ranks(key)
        index = np.searchsorted(self._packed, rank << 32 | moment, "right") - 1
        return np.where(self._packed.take(index) >> 32 == rank, self._values.take(index), -1)

    def of(self, key: int, moment: I64) -> I64:
        """(n,) int64: ``at`` for one key."""
        rank = int(self._ranks(np.array([key]))[0])
        low, high = np.searchsorted(self._packed, [rank << 32, (rank + 1) << 32]).tolist()
        values: I64 = np.append(np.int64(-1), self._values[low:high])
        return values.take(np.searchsorted(self._packed[low:high], rank << 32 | moment, "right"))

    def _dense_ranks(self) -> I64 | None:
        """Rank by key, with a −1 before and behind."""
        if not len(self._keys) or not -_DENSE_LIMIT < self._keys[0] <= self._keys[-1] < _DENSE_LIMIT:
            return None
        low = int(self._keys[0]) - 1
        table = np.full(int(self._keys[-1]) - low + 2, -1, np.int64)
        table[self._keys - low] = np.arange(len(self._keys))
        return table

    def _ranks(self, key: I64) -> I64:
        """Rank of each key among the known ones, −1 for others."""
        if self._rank_table is not None:
            rank: I64 = self._rank_table.take(key - (self._keys[0] - 1), mode="clip")
            return rank
        if not len(self._keys):
            return np.full(len(key), -1, np.int64)
        rank = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1).astype(np.int64)
        return np.where(self._keys[rank] == key, rank, -1)
