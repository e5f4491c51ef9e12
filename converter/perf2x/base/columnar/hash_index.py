"""A growing hash index: gives rows numbers that do not change as more rows arrive."""

from collections.abc import Callable, Iterable

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, U64, Bools, GrowableColumns, arange, flatnonzero, take
from perf2x.base.columnar.hashing import digests

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_MOVED, _MISTAKEN, _FAR = np.uint8(1), np.uint8(8), np.uint8(64)
"""Costs of passing a slot with another hash, and of comparing with an unequal row; and the total at which a lookup
gives up. With half of the slots free, one in 2⁶⁴ lookups takes that long.
"""

_LARGE = 1 << 20
"""The table grows in finer steps from this number of slots on."""


class HashIndex:
    """Numbers rows by their hash, exactly: the caller compares rows whose hashes collide.

    Open addressing, with all lookups advancing together: each examines the slot for its hash, then others in a fixed
    order, until it finds an equal row or a free slot. If several rows claim one free slot, one gets it, and the others
    look again. The cost of a lookup does not depend on the number of known rows::

        slots   | – | 7 | 2 | – |        hash 1: slot 1 holds row 7, not equal; slot 2 holds row 2, equal
                | – | 7 | 2 | – |        hash 0: slot 0 is free: a new row

    A lookup that takes too long ends in a dictionary of digests, so that not even rows made to collide make lookups
    expensive. Slots are never freed, so a later lookup of such a row ends in the dictionary again.
    """

    def __init__(self, known: Callable[[I64], Iterable[bytes]]) -> None:
        """``known(numbers)`` returns the contents of the rows with these numbers."""
        self._slots = np.zeros(1 << 10, np.uint64)
        """Upper half of the hash, and number + 1; 0 is a free slot."""
        self._hashes = GrowableColumns(np.uint64)
        self._known = known
        self._far: dict[bytes, int] = {}
        """Numbers of rows by their digest, for rows that found no slot."""
        self.probes = 0
        """Number of slots and digests examined so far, as a measure of work."""

    def __len__(self) -> int:
        return len(self._hashes)

    def number(
        self,
        hashes: U64,
        equal: Callable[[I64, I64], Bools],
        add: Callable[[I64], None],
        asked: Callable[[I64], Iterable[bytes]],
    ) -> I64:
        """Return (n,) int64: a number for each row, counted from 0; rows of one call may be equal.

        ``equal(rows, numbers)`` compares rows of this call with known ones; ``add(rows)`` stores new ones, which get
        the next numbers in the given order; ``asked(rows)`` returns the contents of rows of this call, as ``known``
        does for known ones.
        """
        self._reserve(len(hashes))
        numbers = np.empty(len(hashes), np.int64)
        left, (slot, step) = arange(len(hashes)), self._walks(hashes)
        cost = np.zeros(len(hashes), np.uint8)
        while len(left):  # repeats only if hashes collide
            if self._walk(left, hashes, slot, step, cost, numbers, add):
                left = left[cost[left] < _FAR]
            wrong = left[~equal(left, numbers[left])]
            slot[wrong] = self._on(slot[wrong], step[wrong])
            cost[wrong] += _MISTAKEN
            left = wrong[cost[wrong] < _FAR]
        far = flatnonzero(cost >= _FAR)
        if len(far):
            numbers[far] = self._number_far(far, hashes, add, asked)
        return numbers

    def _walk(
        self, left: I64, hashes: U64, slot: I64, step: I64, cost: U8, numbers: I64, add: Callable[[I64], None]
    ) -> bool:
        """Number the rows ``left`` by their hashes alone, and advance ``slot`` to where each one stops.

        Returns whether any row gave up because of its ``cost``.
        """
        gave_up = False
        added: list[I64] = []
        while len(left):
            self.probes += len(left)
            at = take(slot, left)
            held = take(self._slots, at)
            numbers[left] = known = (held & _LOW).view(np.int64) - 1
            is_free = known < 0
            held ^= take(hashes, left)
            settled = (held <= _LOW) & ~is_free
            free = flatnonzero(is_free)
            if len(free):
                won = free[self._claim(left[free], at[free], hashes)]
                numbers[left[won]] = arange(len(self) - len(won), len(self))
                settled[won] = True
                added.append(left[won])
            rest = flatnonzero(~settled)
            # rows that lost their free slot examine the same slot again: its new row may be equal
            on = rest[known[rest] >= 0]
            slot[left[on]] = self._on(at[on], step[left[on]])
            cost[left[on]] += _MOVED
            left = left[rest]
            is_far = cost[left] >= _FAR
            if is_far.any():
                gave_up, left = True, left[~is_far]
        if added:
            add(np.concatenate(added))
        return gave_up

    def _claim(self, rows: I64, slot: I64, hashes: U64) -> I64:
        """Give each free slot to one of the rows that claim it; return which rows won, numbered in this order."""
        self._slots[slot] = rows.view(np.uint64)
        won = flatnonzero(self._slots[slot] == rows.view(np.uint64))
        first = len(self)
        self._hashes.extend(hashes[rows[won]])
        self._slots[slot[won]] = self._entries(first)
        return won

    def _entries(self, first: int) -> U64:
        """Return the slot contents of the rows from number ``first`` on."""
        entries: U64 = self._hashes[0][first:] >> _HALF << _HALF
        entries |= np.arange(first + 1, len(self) + 1, dtype=np.uint64)
        return entries

    def _number_far(
        self, rows: I64, hashes: U64, add: Callable[[I64], None], asked: Callable[[I64], Iterable[bytes]]
    ) -> list[int]:
        """Number rows by their digests."""
        self.probes += len(rows)
        numbers: list[int] = []
        fresh: list[int] = []
        for row, digest in zip(rows.tolist(), digests(asked(rows)), strict=True):
            new = len(self) + len(fresh)
            numbers.append(self._far.setdefault(digest, new))
            if numbers[-1] == new:
                fresh.append(row)
        if fresh:
            self._hashes.extend(hashes[fresh])
            add(np.array(fresh, np.int64))
        return numbers

    def _reserve(self, more: int) -> None:
        """Keep most slots free, so that lookups stay short."""
        needed = 2 * (len(self) + more)
        if needed <= len(self._slots):
            return
        # steps of eight, because rebuilding is expensive; steps of two where slots are most of the memory
        self._slots = np.zeros((4 if needed < _LARGE else 1) << needed.bit_length(), np.uint64)
        entries, slot, step = self._entries(0), *self._walks(self._hashes[0])
        cost = np.zeros(len(entries), np.uint8)
        while len(entries):
            self.probes += len(entries)
            free = flatnonzero(self._slots[slot] == 0)
            self._slots[slot[free]] = entries[free]
            held = self._slots[slot]
            left = flatnonzero(held != entries)
            is_alike = held[left] >> _HALF == entries[left] >> _HALF
            entries, slot, step = entries[left], self._on(slot[left], step[left]), step[left]
            cost = cost[left] + np.where(is_alike, _MISTAKEN, _MOVED)
            is_far = cost >= _FAR
            if is_far.any():
                numbers = (entries[is_far] & _LOW).view(np.int64) - 1  # found by their digests from now on
                self.probes += len(numbers)
                self._far.update(zip(digests(self._known(numbers)), numbers.tolist(), strict=True))
                entries, slot, step, cost = entries[~is_far], slot[~is_far], step[~is_far], cost[~is_far]

    def _walks(self, hashes: U64) -> tuple[I64, I64]:
        """Return the first slot of each row and its step, an odd number, so that every slot is visited."""
        mask = np.uint64(len(self._slots) - 1)
        return (hashes & mask).view(np.int64), (hashes >> _HALF & mask | np.uint64(1)).view(np.int64)

    def _on(self, slot: I64, step: I64) -> I64:
        return (slot + step) & (len(self._slots) - 1)
