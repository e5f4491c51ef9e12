"""Finds ids among many others by their order: no hash table has to be made for each recording."""

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, U64
from perf2x.storage.dataset.content_ids import id_halves


class IdIndex:
    """Ids (n, 16); of equal ones the first is found."""

    def __init__(self, ids: U8) -> None:
        high, low = id_halves(ids)
        self._order = np.lexsort((low, high))
        self._high, self._low = high[self._order], low[self._order]

    def find(self, wanted: U8) -> I64:
        """(m,) row of each wanted id (m, 16), −1 for none."""
        high, low = id_halves(wanted)
        at = self._first_not_below(high, low)
        found = np.full(len(at), -1, np.int64)
        rows = np.flatnonzero(at < len(self._order))
        rows = rows[(self._high[at[rows]] == high[rows]) & (self._low[at[rows]] == low[rows])]
        found[rows] = self._order[at[rows]]
        return found

    def _first_not_below(self, high: U64, low: U64) -> I64:
        """(m,) place of each id in the order; among those that share its first half by halving what is left."""
        at, end = (np.searchsorted(self._high, high, side).astype(np.int64) for side in ("left", "right"))
        rows = np.flatnonzero(at < end)
        while len(rows):
            middle = (at[rows] + end[rows]) >> 1
            is_below = self._low[middle] < low[rows]
            at[rows[is_below]] = middle[is_below] + 1
            end[rows[~is_below]] = middle[~is_below]
            rows = rows[at[rows] < end[rows]]
        return at
