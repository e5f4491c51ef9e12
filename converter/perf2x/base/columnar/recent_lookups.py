"""A direct-mapped cache of lookups: the smallest and quickest, for questions that are cheap to repeat.

::

    slot      0      1      2             ask 7, whose slot is 1: held, its answer
    key       ·      7      4             ask 9, whose slot is 2: found, and kept instead of 4

`lookup_cache.LookupCache` keeps two keys that want one slot, and asks once for equal questions; learning costs more.
"""

from collections.abc import Callable

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, Bools

_MIX = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F))
"""Odd numbers without pattern: their products are spread over their upper bits (Fibonacci hashing)."""
_UNUSED = -2


class RecentLookups:
    """Answers by key, a row of one or two int64 columns, in ``2 ** bits`` slots; none is −2 in its first column."""

    def __init__(self, columns: int = 1, bits: int = 16) -> None:
        self._shift = np.uint64(64 - bits)
        self._keys = [np.full(1 << bits, _UNUSED, np.int64) for _ in range(columns)]
        self._answers = np.zeros(1 << bits, np.int64)

    def answers(self, find: Callable[[I64], I64], *columns: I64) -> I64:
        """(n,) int64: the answer to each row; ``find(rows)`` is asked for those that are not held."""
        result, is_held = self.held(*columns)
        missed = np.flatnonzero(~is_held)
        if len(missed):
            result[missed] = found = find(missed)
            self.learn(found, *(column[missed] for column in columns))
        return result

    def held(self, *columns: I64) -> tuple[I64, Bools]:
        """(n,) answers, and for which rows they are held; the others mean nothing."""
        slot = self._slots(columns)
        is_held: Bools = self._keys[0].take(slot) == columns[0]
        for held, column in zip(self._keys[1:], columns[1:], strict=True):
            is_held &= held.take(slot) == column
        return self._answers.take(slot), is_held

    def learn(self, answers: I64, *columns: I64) -> None:
        """Hold answers (n,); of rows that want one slot the last stays, in every column."""
        slot = self._slots(columns)
        for held, column in zip([*self._keys, self._answers], [*columns, answers], strict=True):
            held[slot] = column

    def _slots(self, columns: tuple[I64, ...]) -> I64:
        total: U64 = columns[0].view(np.uint64) * _MIX[0]
        for odd, column in zip(_MIX[1:], columns[1:], strict=False):
            total += column.view(np.uint64) * odd
        return (total >> self._shift).view(np.int64)
