"""Looks up which value a key (a pid or tid) had at a sequence number, and which times a key has.

::

    key 7 is 3 from sequence number 2 on, and 5 from 9 on:        at(7, 4) is 3        at(7, 1) is −1
"""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, AnyArray, Bools, arange, flatnonzero, searchsorted, take
from perf2x.base.columnar.unique import argsort_rows, unique_inverse

_NOTHING = -(1 << 62)
_DENSE_LIMIT = 1 << 23
"""Lookups use a table if the keys span less than this, which is twice the kernel's largest pid (4,194,304)."""


class KeyNumbers:
    """Maps keys to numbers: ``keys[i]`` to ``numbers[i]``, by default to ``i``.

    Shapes: ``keys`` (n,), distinct and ascending; ``numbers`` (n,).
    """

    def __init__(self, keys: AnyArray, numbers: AnyArray | None = None) -> None:
        self._keys, self._below = keys, keys[:1] - keys.dtype.type(1)
        self._numbers = arange(len(keys)) if numbers is None else numbers
        self._none = self._numbers.dtype.type(-1)
        self._table: AnyArray | None = None
        if len(keys) and int(keys[-1]) - int(keys[0]) < _DENSE_LIMIT:  # −1 before the first key and after the last
            self._table = np.full(int(keys[-1]) - int(keys[0]) + 3, self._none, self._none.dtype)
            self._table[self._places(keys)] = self._numbers

    def of(self, keys: AnyArray) -> AnyArray:
        """Return (n,) the number of each key, −1 for unknown keys."""
        if self._table is not None:
            return take(self._table, self._places(keys), mode="clip")
        if not len(self._keys):
            return np.full(len(keys), self._none, self._none.dtype)
        place = np.minimum(searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._numbers[place], self._none)

    def _places(self, keys: AnyArray) -> I64:
        places: I64 = (keys - self._below).view(np.int64)  # unsigned keys below the first one wrap around
        return places


class KeyedValues:
    """The values that keys take over time, by sequence number; immutable.

    Where two rows have the same key and sequence number, the later row wins.
    """

    def __init__(self, key: I64, sequence: I64, value: I64) -> None:
        keys, number = unique_inverse(key)
        self._numbers = KeyNumbers(keys)
        order = argsort_rows([number, sequence])
        # a sentinel for keys without a value
        self._packed = np.append(np.int64(_NOTHING), (number << 32 | sequence)[order])
        self._values = np.append(np.int64(-1), value[order])

    def at(self, key: I64, sequence: I64) -> I64:
        """Return (n,) int64: the value that each key has at its sequence number; −1 before the key's first value."""
        number = self._numbers.of(key)
        index = searchsorted(self._packed, number << 32 | sequence, "right") - 1
        return np.where(take(self._packed, index) >> 32 == number, take(self._values, index), -1)

    def in_order(self) -> tuple[I64, I64]:
        """Return (n,) all values, sorted by key and sequence number, and (n,) the rank of each value's key."""
        return self._values[1:], self._packed[1:] >> 32

    def of(self, key: int, sequence: I64) -> I64:
        """Return (n,) int64: what ``at`` returns, for a single key and many sequence numbers."""
        number = int(self._numbers.of(np.array([key], np.int64))[0])
        low, high = searchsorted(self._packed, [number << 32, (number + 1) << 32]).tolist()
        values, packed = np.append(np.int64(-1), self._values[low:high]), self._packed[low:high]
        ends = np.array([sequence.min(initial=0), sequence.max(initial=0)], np.int64) | number << 32
        first, last = searchsorted(packed, ends, "right").tolist()
        if first == last:  # the usual case: the value does not change in this span
            return np.full(len(sequence), values[first], np.int64)
        return take(values, searchsorted(packed, number << 32 | sequence, "right"))


FOREVER = np.uint64(2**64 - 1)
"""Stands for a time that never comes."""


class KeyedTimes:
    """Looks up the times of a key. Rows may come in any order. Shapes: ``key`` (n,) int32, ``time`` (n,) uint64."""

    def __init__(self, key: I32, time: U64) -> None:
        keys, number = unique_inverse(key.astype(np.int64))
        self._numbers = KeyNumbers(keys)
        self._times, slot = unique_inverse(time)
        # (n,) ascending: index of the key and of the time, packed
        self._packed = np.sort(number * (len(self._times) + 1) + slot)

    def between(self, key: I32, low: U64, high: U64) -> Bools:
        """Return (n,) bool: whether each key has a time from low to high, inclusive."""
        begin, end = self._span(key, low, high)
        return end > begin

    def after(self, key: I32, time: U64) -> U64:
        """Return (n,) uint64: each key's first time after ``time``, FOREVER if the key has none."""
        begin, end = self._span(key, time + np.uint64(1), np.full(len(time), FOREVER, np.uint64))
        found = np.full(len(key), FOREVER, np.uint64)
        some = flatnonzero(end > begin)
        found[some] = self._times[self._packed[begin[some]] % (len(self._times) + 1)]
        return found

    def _span(self, key: I32, low: U64, high: U64) -> tuple[I64, I64]:
        base = self._numbers.of(key.astype(np.int64)) * (len(self._times) + 1)  # less than all others for unknown keys
        begin = searchsorted(self._packed, base + searchsorted(self._times, low))
        return begin, searchsorted(self._packed, base + searchsorted(self._times, high, "right"))


def distance(one: U64, other: U64) -> U64:
    """Return (n,) uint64: |one − other| in unsigned arithmetic."""
    return np.where(one > other, one - other, other - one)
