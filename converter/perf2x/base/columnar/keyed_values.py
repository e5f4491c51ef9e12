"""Looks up which value a key (a pid or tid) had at a sequence number, and at which times a key occurs.

A key takes a new value at certain sequence numbers, and keeps it until the next one. If key 7 takes the value 3 at
sequence number 2, and the value 5 at 9::

    sequence number    0   1   2   3   4   …   8   9  10   …
    value of key 7    −1  −1   3   3   3   …   3   5   5   …        at(7, 4) is 3
"""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, AnyArray, Bools, arange, flatnonzero, searchsorted, take
from perf2x.base.columnar.unique import argsort_rows, unique_inverse

# A sentinel that is less than all packed numbers, including those of unknown keys.
_LESS_THAN_ANY = -(1 << 62)
# Lookups use a table if the keys span less than this, which is twice the kernel's largest pid (4,194,304).
_DENSE_LIMIT = 1 << 23


class KeyNumbers:
    """Maps keys to numbers: ``keys[i]`` to ``numbers[i]``, by default to ``i``.

    Shapes: ``keys`` (n,) int64 or uint64, distinct and ascending; ``numbers`` (n,).
    """

    def __init__(self, keys: AnyArray, numbers: AnyArray | None = None) -> None:
        self._keys = keys
        # the first key − 1, as an array of one number; an unsigned 0 wraps around
        self._before_first = keys[:1] - keys.dtype.type(1)
        self._numbers = arange(len(keys)) if numbers is None else numbers
        self._missing = self._numbers.dtype.type(-1)
        self._table: AnyArray | None = None
        # the table has an entry for each integer from the first key − 1 to the last key + 1; these two entries are −1
        if len(keys) and int(keys[-1]) - int(keys[0]) < _DENSE_LIMIT:
            self._table = np.full(int(keys[-1]) - int(keys[0]) + 3, self._missing, self._missing.dtype)
            self._table[self._table_index(keys)] = self._numbers

    def of(self, keys: AnyArray) -> AnyArray:
        """Return (n,) the number of each key, −1 for unknown keys; the dtype is that of the numbers."""
        if self._table is not None:
            return take(self._table, self._table_index(keys), mode="clip")
        if not len(self._keys):
            return np.full(len(keys), self._missing, self._missing.dtype)
        row = np.minimum(searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[row] == keys, self._numbers[row], self._missing)

    def _table_index(self, keys: AnyArray) -> I64:
        """Return (n,) int64: each key's index in the table.

        The index of an unknown key may be out of range; `of` clips it to the table's first or last entry.
        """
        # an unsigned key below the first one wraps around to a large number, which is negative as int64
        index: I64 = (keys - self._before_first).view(np.int64)
        return index


class KeyedValues:
    """The values that keys take over time, by sequence number; immutable.

    Keys are numbered from 0 in ascending order. A key's number and a sequence number, which must be below 2**32, are
    packed into one int64, so that a lookup is one search.
    """

    def __init__(self, key: I64, sequence: I64, value: I64) -> None:
        """Row i says: ``key[i]`` takes ``value[i]`` at ``sequence[i]``. Shapes: (n,) each, rows in any order.

        Of rows with the same key and sequence number, the last one counts.
        """
        keys, number = unique_inverse(key)
        self._numbers = KeyNumbers(keys)
        order = argsort_rows([number, sequence])
        # an added first row, which lookups find for unknown keys, and for the smallest key before its first value
        self._packed = np.append(np.int64(_LESS_THAN_ANY), (number << 32 | sequence)[order])
        self._values = np.append(np.int64(-1), value[order])

    def at(self, key: I64, sequence: I64) -> I64:
        """Return (n,) int64: the value that each key has at its sequence number; −1 before the key's first value."""
        number = self._numbers.of(key)
        row = searchsorted(self._packed, number << 32 | sequence, "right") - 1
        # the row may belong to a smaller key
        return np.where(take(self._packed, row) >> 32 == number, take(self._values, row), -1)

    def in_order(self) -> tuple[I64, I64]:
        """Return (n,) all values, sorted by key and sequence number, and (n,) the number of each value's key."""
        return self._values[1:], self._packed[1:] >> 32

    def of_key(self, key: int, sequence: I64) -> I64:
        """Return (n,) int64: what ``at`` returns for a single key, in less time."""
        number = int(self._numbers.of(np.array([key], np.int64))[0])
        low, high = searchsorted(self._packed, [number << 32, (number + 1) << 32]).tolist()
        values, packed = np.append(np.int64(-1), self._values[low:high]), self._packed[low:high]
        extremes = np.array([sequence.min(initial=2**32 - 1), sequence.max(initial=0)], np.int64) | number << 32
        first, last = searchsorted(packed, extremes, "right").tolist()
        if first == last:  # the usual case: one value is in force at all of these numbers
            return np.full(len(sequence), values[first], np.int64)
        return take(values, searchsorted(packed, number << 32 | sequence, "right"))


# Stands for a time that never comes.
FOREVER = np.uint64(2**64 - 1)


class KeyedTimes:
    """Looks up the times of a key, such as the times at which a process called exec.

    A key's number and a 64-bit time do not fit into one int64. So a time is replaced by its rank among all distinct
    times, and the two are packed as key number × (number of distinct times + 1) + rank.
    """

    def __init__(self, key: I32, time: U64) -> None:
        """Row i says: ``key[i]`` has the time ``time[i]``. Shapes: (n,) each, rows in any order."""
        keys, number = unique_inverse(key.astype(np.int64))
        self._numbers = KeyNumbers(keys)
        self._times, rank = unique_inverse(time)
        # + 1, because lookups also search for times after the last one
        self._packed = np.sort(number * (len(self._times) + 1) + rank)

    def has_time_between(self, key: I32, low: U64, high: U64) -> Bools:
        """Return (n,) bool: whether each key has a time from ``low`` to ``high``, inclusive."""
        begin, end = self._rows_between(key, low, high)
        return end > begin

    def first_after(self, key: I32, time: U64) -> U64:
        """Return (n,) uint64: each key's first time after ``time``, FOREVER if the key has none."""
        result = np.full(len(key), FOREVER, np.uint64)
        # the maximum, because the largest time plus 1 wraps around to 0; ``result`` is FOREVER everywhere so far
        begin, end = self._rows_between(key, np.maximum(time, time + np.uint64(1)), result)
        has_any = flatnonzero(end > begin)
        result[has_any] = self._times[self._packed[begin[has_any]] % (len(self._times) + 1)]
        return result

    def _rows_between(self, key: I32, low: U64, high: U64) -> tuple[I64, I64]:
        # an unknown key has the number −1, so that its range lies before all packed rows
        base = self._numbers.of(key.astype(np.int64)) * (len(self._times) + 1)
        begin = searchsorted(self._packed, base + searchsorted(self._times, low))
        return begin, searchsorted(self._packed, base + searchsorted(self._times, high, "right"))


def distance(left: U64, right: U64) -> U64:
    """Return (n,) uint64: |left − right|, without wrapping around."""
    return np.where(left > right, left - right, right - left)
