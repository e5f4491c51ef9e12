"""Finds ids among many others by their order: no hash table has to be made for each recording."""

import numpy as np

from perf2x.columnar.arrays import I64, U8


class IdIndex:
    """Distinct ids (n, 16)."""

    def __init__(self, ids: U8) -> None:
        words = np.ascontiguousarray(ids).view(">u8").reshape(len(ids), 2).astype(np.uint64)
        self._order = np.lexsort((words[:, 1], words[:, 0]))
        self._high, self._low = words[self._order, 0], words[self._order, 1]

    def find(self, wanted: U8) -> I64:
        """(m,) row of each wanted id (m, 16), −1 for none."""
        words = np.ascontiguousarray(wanted).view(">u8").reshape(len(wanted), 2).astype(np.uint64)
        found = np.full(len(words), -1, np.int64)
        at, rows = np.searchsorted(self._high, words[:, 0]), np.arange(len(words))
        while len(rows):  # once more for each id that shares its first half with another
            inside = at < len(self._high)
            rows, at = rows[inside], at[inside]
            alike = self._high[at] == words[rows, 0]
            rows, at = rows[alike], at[alike]
            is_it = self._low[at] == words[rows, 1]
            found[rows[is_it]] = self._order[at[is_it]]
            rows, at = rows[~is_it], at[~is_it] + 1
        return found
