"""What a key (a pid, a tid) stood for at a moment: the last value set for it until then.

::

    key 7   set 3 at moment 2, 5 at moment 9        at(7, 4) is 3        at(7, 1) is −1
"""

import numpy as np

from perf2x.model.arrays import I64
from perf2x.model.ordering import unique

_DENSE_LIMIT = 1 << 23
"""Keys below it are ranked by a table; above the kernel's largest pid (4 194 304)."""


class Timeline:
    """Immutable; of two values set at the same moment the one given last counts."""

    def __init__(self, key: I64, moment: I64, value: I64) -> None:
        self._keys = unique(key)
        packed = np.searchsorted(self._keys, key).astype(np.int64) << 32 | moment
        order = np.argsort(packed, kind="stable")
        self._packed = packed[order]
        self._values = value[order]
        self._rank_table = self._dense_ranks()

    def at(self, key: I64, moment: I64) -> I64:
        """(n,) int64: the value in force for each key at each moment, −1 where none was set yet."""
        if not len(self._keys):
            return np.full(len(key), -1, np.int64)
        rank = self._ranks(key)
        index = np.searchsorted(self._packed, rank << 32 | moment, "right") - 1
        valid = (rank >= 0) & (index >= 0)
        index[~valid] = 0
        valid &= self._packed[index] >> 32 == rank
        return np.where(valid, self._values[index], -1)

    def _dense_ranks(self) -> I64 | None:
        if not len(self._keys) or self._keys[-1] >= _DENSE_LIMIT:
            return None
        low = int(self._keys[0])
        table = np.full(int(self._keys[-1]) - low + 1, -1, np.int64) if low > -_DENSE_LIMIT else None
        if table is not None:
            table[self._keys - low] = np.arange(len(self._keys))
        return table

    def _ranks(self, key: I64) -> I64:
        """Rank of each key among the known ones, −1 for others."""
        if self._rank_table is not None:
            index = key - self._keys[0]
            inside = (index >= 0) & (index < len(self._rank_table))
            return np.where(inside, self._rank_table[np.where(inside, index, 0)], -1)
        rank = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1).astype(np.int64)
        return np.where(self._keys[rank] == key, rank, -1)
