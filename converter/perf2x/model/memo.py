"""The latest answers to questions that are asked over and over, in a fixed amount of memory."""

from collections.abc import Callable, Sequence

import numpy as np

from perf2x.model.arrays import I64, U64, Bools

_UNUSED = np.iinfo(np.int64).min
_MANY = 1 << 13
"""Questions of so many rows are those of a large recording: all slots from the start."""
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


class Memo:
    """Answers by key, a key being a row of one or two int64 columns; a question costs a few array passes.

    A key's hash names the one slot that may hold it. What was learned last stays there, so that a question may have
    to be answered again, but no input makes the table grow::

        slot      0      1      2      3             ask 7 → slot 1, held: its answer
        key       ·      7      ·      4             ask 9 → slot 3, another key: find(9), which then replaces 4
    """

    def __init__(self, columns: int = 1, bits: int = 17) -> None:
        """``2 ** bits`` slots, fewer while few rows are asked at once. No key may be −2⁶³ in its first column."""
        self._columns, self._most_bits = columns, bits
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

        In each round one row of those that want a slot is found and learned; then the others, which are mostly its
        equals, ask again.
        """
        if self._bits < self._most_bits and 4 * len(columns[0]) >> self._bits:
            self._reserve(len(columns[0]))
        slot, mine = self._slots(columns), list(columns)
        answers = self._answers.take(slot)
        rows = np.arange(len(slot))
        while len(left := np.flatnonzero(self._unlike(slot, mine))):
            rows, slot, mine = rows[left], slot[left], [column[left] for column in mine]
            self._learn(find, rows, slot, mine)
            answers[rows] = self._answers.take(slot)
        return answers

    def _learn(self, find: Callable[[I64], I64], rows: I64, slot: I64, columns: Sequence[I64]) -> None:
        """Find the answer of one row for each slot."""
        self._claims[slot] = rows
        chosen = np.flatnonzero(self._claims.take(slot) == rows)
        found, slot = find(rows[chosen]), slot[chosen]
        for held, column in zip(self._keys, columns, strict=True):
            held[slot] = column[chosen]
        self._answers[slot] = found

    def _unlike(self, slot: I64, columns: Sequence[I64]) -> Bools:
        unlike: Bools = self._keys[0].take(slot) != columns[0]
        for held, column in zip(self._keys[1:], columns[1:], strict=True):
            unlike |= held.take(slot) != column
        return unlike

    def _slots(self, columns: Sequence[I64]) -> I64:
        total: U64 = columns[0].view(np.uint64) * _ODD[0]
        for odd, column in zip(_ODD[1:], columns[1:], strict=False):
            total += column.view(np.uint64) * odd
        total >>= self._shift
        return total.view(np.int64)
