"""A growing hash index: numbers for rows that stay the same while more rows come."""

from collections.abc import Callable, Iterable

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, Bools, cumsum, falses, flatnonzero, searchsorted, take
from perf2x.base.columnar.hashing import digests
from perf2x.base.columnar.unique import group_rows

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_GROWTH = 4
"""A run of words is merged with the next one unless it is so many times as long."""


class HashIndex:
    """Numbers rows by their hash, exactly: the caller compares rows whose hashes are equal.

    A word holds the upper half of a hash and the number of the first row that has it. Sorted words lie in a few runs;
    the words of a batch become a run, and runs of similar length are merged, so that a row moves a few times at most::

        runs    | 1·0  4·2  7·1 |   | 3·3 |        hash 4: row 2, if it is equal
                                                   hash 5: a new row

    Rows with the hash of a row that is not their equal are numbered by a dictionary of digests. By chance that is one
    row in thousands; and rows that are made to collide cost a digest each, no search.
    """

    def __init__(self) -> None:
        self._count = 0
        self._runs: list[U64] = []
        self._by_digest: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self._count

    def number(
        self,
        hashes: U64,
        equal: Callable[[I64], Bools],
        add: Callable[[I64], None],
        contents: Callable[[I64], Iterable[bytes]],
    ) -> I64:
        """Return (n,) int64: one number per row, counted from 0; rows of one call may repeat each other.

        ``equal(numbers)`` compares each row with a known one; ``add(rows)`` stores new ones, whose numbers count on in
        the order given; ``contents(rows)`` are bytes that identify rows.
        """
        upper = hashes >> _HALF
        first, group = group_rows([upper])
        found = self._find(upper[first])
        fresh = flatnonzero(found < 0)
        is_new = falses(len(hashes))
        is_new[first[fresh]] = True
        found[fresh] = take(cumsum(is_new), first[fresh]) + (self._count - 1)
        self._add(flatnonzero(is_new), add)
        self._insert(upper[first[fresh]] << _HALF | found[fresh].view(np.uint64))
        numbers = found[group]
        unlike = flatnonzero(~equal(numbers))
        if len(unlike):
            numbers[unlike] = self._number_by_digest(unlike, add, contents)
        return numbers

    def _find(self, hashes: U64) -> I64:
        """Return (n,) the number of each hash, or −1."""
        numbers = np.full(len(hashes), -1, np.int64)
        for run in self._runs:
            words = take(run, searchsorted(run, hashes << _HALF), "clip")
            is_known = words >> _HALF == hashes
            numbers[is_known] = (words[is_known] & _LOW).view(np.int64)
        return numbers

    def _insert(self, words: U64) -> None:
        if not len(words):
            return
        self._runs.append(words)
        while len(self._runs) > 1 and len(self._runs[-2]) < _GROWTH * len(self._runs[-1]):
            self._runs[-2:] = [np.concatenate(self._runs[-2:])]
        self._runs[-1].sort()

    def _add(self, rows: I64, add: Callable[[I64], None]) -> None:
        if len(rows):
            add(rows)
            self._count += len(rows)

    def _number_by_digest(
        self, rows: I64, add: Callable[[I64], None], contents: Callable[[I64], Iterable[bytes]]
    ) -> list[int]:
        numbers: list[int] = []
        fresh: list[int] = []
        for row, digest in zip(rows.tolist(), digests(contents(rows)), strict=True):
            new = self._count + len(fresh)
            numbers.append(self._by_digest.setdefault(digest, new))
            if numbers[-1] == new:
                fresh.append(row)
        self._add(np.array(fresh, np.int64), add)
        return numbers
