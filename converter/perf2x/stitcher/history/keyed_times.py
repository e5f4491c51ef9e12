"""Range queries over times that belong to keys, such as a thread's records or a process's execs."""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, Bools

FOREVER = np.uint64(2**64 - 1)


class KeyedTimes:
    """Index of ``key`` (n,) int32 and ``time`` (n,) uint64, given in any order."""

    def __init__(self, key: I32, time: U64) -> None:
        self._keys, rank = np.unique(key, return_inverse=True)
        self._times, slot = np.unique(time, return_inverse=True)
        # (n,) rising: index of the key and of the time, packed
        self._packed = np.sort(rank.reshape(-1).astype(np.int64) * (len(self._times) + 1) + slot.reshape(-1))

    def between(self, key: I32, low: U64, high: U64) -> Bools:
        """(n,) bool: whether a time of each key lies in low … high, inclusive."""
        begin, end = self._span(key, low, high)
        return end > begin

    def after(self, key: I32, time: U64) -> U64:
        """(n,) uint64: the first time of each key after ``time``, FOREVER for none."""
        begin, end = self._span(key, time + np.uint64(1), np.full(len(time), FOREVER))
        found = np.full(len(key), FOREVER)
        some = np.flatnonzero(end > begin)
        found[some] = self._times[self._packed[begin[some]] % (len(self._times) + 1)]
        return found

    def _span(self, key: I32, low: U64, high: U64) -> tuple[I64, I64]:
        if not len(self._keys):
            nothing = np.zeros(len(key), np.int64)
            return nothing, nothing
        rank = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        base = rank * (len(self._times) + 1)
        begin = np.searchsorted(self._packed, base + np.searchsorted(self._times, low))
        end = np.searchsorted(self._packed, base + np.searchsorted(self._times, high, "right"))
        return begin, np.where(self._keys[rank] == key, end, begin)


def distance(one: U64, other: U64) -> U64:
    """(n,) uint64: |one − other| in unsigned arithmetic."""
    return np.where(one > other, one - other, other - one)
