"""Caches of recent lookups in a fixed amount of memory.

`LookupCache` keeps two keys that want one slot, and asks once for equal questions. `RecentLookups` is direct-mapped:
the smallest and quickest, for questions that are cheap to repeat.

::

    slot      0      1      2             ask 7, whose slot is 1: held, its answer
    key       ·      7      4             ask 9, whose slot is 2: found, and kept instead of 4
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, Bools, flatnonzero, take
from perf2x.base.columnar.hashing import weights
from perf2x.base.columnar.unique import group_rows

_UNUSED = np.iinfo(np.int64).min
_MANY = 1 << 13
"""Batches of this many rows come from a large recording: all slots are used from the start."""
_TURNS = 16
"""Rounds in which keys that compete for the same two slots are stored one by one."""


class LookupCache:
    """Cached answers by key, a row of one or two int64 columns; a batch of lookups costs a few array passes.

    A key may be in one of two slots, which its hash names. What was learned last stays there, so that a question may
    have to be answered again, but no input makes the table grow::

        slot      0      1      2      3             ask 7, slots 1 and 2: held, its answer
        key       ·      7      ·      4             ask 9, slots 3 and 0: other keys; find(9), put in one
    """

    def __init__(self, columns: int = 1, bits: int = 17) -> None:
        """``2 ** bits`` slots, fewer while few rows are asked at once. No key may be −2⁶³ in its first column."""
        self._columns, self._most_bits = columns, bits
        self._turn = 0
        self._factors = weights().of_columns(columns + 1)
        self._reserve(0)

    def _reserve(self, rows: int) -> None:
        """Forget all, and have room for questions of ``rows``: pages that are not written to cost nothing."""
        self._bits = self._most_bits if rows >= _MANY else min(max(8, (4 * rows).bit_length()), self._most_bits)
        self._shift = np.uint64(64 - self._bits)
        self._keys = [np.full(1 << self._bits, _UNUSED, np.int64) for _ in range(self._columns)]
        self._answers = np.zeros(1 << self._bits, np.int64)
        self._claims = np.zeros(1 << self._bits, np.int64)

    def answers(self, find: Callable[[I64], I64], *columns: I64) -> I64:
        """(n,) int64: the answer to each row; ``find(rows)`` is asked for those that are not held.

        One row of those that want a slot is found and learned; then the others, which are mostly its equals, ask again.
        The two slots take turns, so that two keys that want the same one do not drive each other out for ever. What is
        left after some turns is sorted and found without being learned: keys that are made to collide gain nothing.
        """
        if self._bits < self._most_bits and 4 * len(columns[0]) >> self._bits:
            self._reserve(len(columns[0]))
        hashes = self._hashes(columns)
        slot = self._slots(hashes)
        answers = take(self._answers, slot)
        rows = flatnonzero(self._unlike(slot, columns))
        if len(rows):
            mine, choices = (
                [column[rows] for column in columns],
                [slot[rows], self._slots(self._once_more(hashes[rows]))],
            )
            is_known = ~self._unlike(choices[1], mine)
            answers[rows[is_known]] = take(self._answers, choices[1][is_known])
            self._learn_all(find, rows, mine, choices, flatnonzero(~is_known), answers)
        return answers

    def _learn_all(
        self, find: Callable[[I64], I64], rows: I64, mine: list[I64], choices: list[I64], left: I64, answers: I64
    ) -> None:
        """Put answers to those of ``rows`` that are ``left``."""
        for _ in range(_TURNS):
            if not len(left):
                return
            rows, mine, choices = rows[left], [column[left] for column in mine], [slot[left] for slot in choices]
            self._turn ^= 1
            slot = choices[self._turn]
            self._learn(find, rows, slot, mine)
            answers[rows] = take(self._answers, slot)
            left = flatnonzero(self._unlike(slot, mine))
        if len(left):
            first, kind = group_rows([column[left] for column in mine])
            answers[rows[left]] = find(rows[left[first]])[kind]

    def _learn(self, find: Callable[[I64], I64], rows: I64, slot: I64, columns: Sequence[I64]) -> None:
        """Find the answer of one row for each slot."""
        self._claims[slot] = rows
        chosen = flatnonzero(take(self._claims, slot) == rows)
        found, slot = find(rows[chosen]), slot[chosen]
        for held, column in zip(self._keys, columns, strict=True):
            held[slot] = column[chosen]
        self._answers[slot] = found

    def _unlike(self, slot: I64, columns: Sequence[I64]) -> Bools:
        unlike: Bools = take(self._keys[0], slot) != columns[0]
        for held, column in zip(self._keys[1:], columns[1:], strict=True):
            unlike |= take(held, slot) != column
        return unlike

    def _hashes(self, columns: Sequence[I64]) -> U64:
        return _weighted(columns, self._factors)

    def _once_more(self, hashes: U64) -> U64:
        """Another hash of each."""
        other: U64 = (hashes ^ (hashes >> np.uint64(29))) * self._factors[-1]
        return other

    def _slots(self, hashes: U64) -> I64:
        return (hashes >> self._shift).view(np.int64)


def _weighted(columns: Sequence[I64], factors: Any) -> U64:
    """(n,) the sum of each row's numbers, each times its column's factor, modulo 2⁶⁴."""
    total: U64 = columns[0].view(np.uint64) * factors[0]
    for odd, column in zip(factors[1:], columns[1:], strict=False):
        total += column.view(np.uint64) * odd
    return total


_MIX = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F))
"""Odd numbers without pattern: their products are spread over their upper bits (Fibonacci hashing)."""
_NOBODY = -2


class RecentLookups:
    """Answers by key, a row of one or two int64 columns, in ``2 ** bits`` slots; none is −2 in its first column."""

    def __init__(self, columns: int = 1, bits: int = 16) -> None:
        self._shift = np.uint64(64 - bits)
        self._keys = [np.full(1 << bits, _NOBODY, np.int64) for _ in range(columns)]
        self._answers = np.zeros(1 << bits, np.int64)

    def answers(self, find: Callable[[I64], I64], *columns: I64) -> I64:
        """(n,) int64: the answer to each row; ``find(rows)`` is asked for those that are not held."""
        result, is_held = self.held(*columns)
        missed = flatnonzero(~is_held)
        if len(missed):
            result[missed] = found = find(missed)
            self.learn(found, *(column[missed] for column in columns))
        return result

    def held(self, *columns: I64) -> tuple[I64, Bools]:
        """(n,) answers, and for which rows they are held; the others mean nothing."""
        slot = self._slots(columns)
        is_held: Bools = take(self._keys[0], slot) == columns[0]
        for held, column in zip(self._keys[1:], columns[1:], strict=True):
            is_held &= take(held, slot) == column
        return take(self._answers, slot), is_held

    def learn(self, answers: I64, *columns: I64) -> None:
        """Hold answers (n,); of rows that want one slot the last stays, in every column."""
        slot = self._slots(columns)
        for held, column in zip([*self._keys, self._answers], [*columns, answers], strict=True):
            held[slot] = column

    def _slots(self, columns: tuple[I64, ...]) -> I64:
        return (_weighted(columns, _MIX) >> self._shift).view(np.int64)
