"""Values of keys (pids, tids) over time, for one lookup or for a range of them.

::

    key 7   set 3 at rank 2, 5 at rank 9        at(7, 4) is 3        at(7, 1) is −1
"""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, AnyArray, Bools, arange, flatnonzero, searchsorted, take
from perf2x.base.columnar.unique import argsort_rows, unique_inverse

_NOTHING = -(1 << 62)
_DENSE_LIMIT = 1 << 23
"""Keys that lie closer together are looked up in a table; above the kernel's largest pid (4 194 304)."""


class KeyNumbers:
    """The number of each of the distinct ``keys`` (n,), which rise: the ``numbers`` (n,), or places from 0 on."""

    def __init__(self, keys: AnyArray, numbers: AnyArray | None = None) -> None:
        self._keys, self._below = keys, keys[:1] - keys.dtype.type(1)
        self._numbers = arange(len(keys)) if numbers is None else numbers
        self._none = self._numbers.dtype.type(-1)
        self._table: AnyArray | None = None
        if len(keys) and int(keys[-1]) - int(keys[0]) < _DENSE_LIMIT:  # with a −1 before the first and after the last
            self._table = np.full(int(keys[-1]) - int(keys[0]) + 3, self._none, self._none.dtype)
            self._table[self._places(keys)] = self._numbers

    def of(self, wanted: AnyArray) -> AnyArray:
        """(n,) the number of each key, −1 for unknown ones."""
        if self._table is not None:
            return take(self._table, self._places(wanted), mode="clip")
        if not len(self._keys):
            return np.full(len(wanted), self._none, self._none.dtype)
        place = np.minimum(searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._numbers[place], self._none)

    def _places(self, keys: AnyArray) -> I64:
        places: I64 = (keys - self._below).view(np.int64)  # unsigned keys below the first are far away, too
        return places


class KeyedValues:
    """Values by key and rank. Immutable; of two values set at the same rank the later row counts."""

    def __init__(self, key: I64, rank: I64, value: I64) -> None:
        keys, number = unique_inverse(key)
        self._numbers = KeyNumbers(keys)
        order = argsort_rows([number, rank])
        # a sentinel in front, for keys without a value
        self._packed = np.append(np.int64(_NOTHING), (number << 32 | rank)[order])
        self._values = np.append(np.int64(-1), value[order])

    def at(self, key: I64, rank: I64) -> I64:
        """(n,) int64: the value in force for each key at each rank, −1 where none is set yet."""
        number = self._numbers.of(key)
        index = searchsorted(self._packed, number << 32 | rank, "right") - 1
        return np.where(take(self._packed, index) >> 32 == number, take(self._values, index), -1)

    def in_order(self) -> tuple[I64, I64]:
        """(n,) the values by key and rank, and the number of the key of each, which rises."""
        return self._values[1:], self._packed[1:] >> 32

    def of(self, key: int, rank: I64) -> I64:
        """(n,) int64: ``at`` for one key."""
        number = int(self._numbers.of(np.array([key], np.int64))[0])
        low, high = searchsorted(self._packed, [number << 32, (number + 1) << 32]).tolist()
        values, packed = np.append(np.int64(-1), self._values[low:high]), self._packed[low:high]
        ends = np.array([rank.min(initial=0), rank.max(initial=0)], np.int64) | number << 32
        first, last = searchsorted(packed, ends, "right").tolist()
        if first == last:  # nothing was set in between, as for most of a recording
            return np.full(len(rank), values[first], np.int64)
        return take(values, searchsorted(packed, number << 32 | rank, "right"))


FOREVER = np.uint64(2**64 - 1)


class KeyedTimes:
    """Index of ``key`` (n,) int32 and ``time`` (n,) uint64, given in any order."""

    def __init__(self, key: I32, time: U64) -> None:
        keys, rank = unique_inverse(key.astype(np.int64))
        self._numbers = KeyNumbers(keys)
        self._times, slot = unique_inverse(time)
        # (n,) rising: index of the key and of the time, packed
        self._packed = np.sort(rank * (len(self._times) + 1) + slot)

    def between(self, key: I32, low: U64, high: U64) -> Bools:
        """(n,) bool: whether a time of each key lies in low … high, inclusive."""
        begin, end = self._span(key, low, high)
        return end > begin

    def after(self, key: I32, time: U64) -> U64:
        """(n,) uint64: the first time of each key after ``time``, FOREVER for none."""
        begin, end = self._span(key, time + np.uint64(1), np.full(len(time), FOREVER, np.uint64))
        found = np.full(len(key), FOREVER, np.uint64)
        some = flatnonzero(end > begin)
        found[some] = self._times[self._packed[begin[some]] % (len(self._times) + 1)]
        return found

    def _span(self, key: I32, low: U64, high: U64) -> tuple[I64, I64]:
        base = self._numbers.of(key.astype(np.int64)) * (len(self._times) + 1)  # of unknown keys below all
        begin = searchsorted(self._packed, base + searchsorted(self._times, low))
        return begin, searchsorted(self._packed, base + searchsorted(self._times, high, "right"))


def distance(one: U64, other: U64) -> U64:
    """(n,) uint64: |one − other| in unsigned arithmetic."""
    return np.where(one > other, one - other, other - one)
