"""Rows that are equal get one number: strings, chains of addresses, stacks as a prefix tree."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from perf2x.model.arrays import I32, I64, U64, Bools
from perf2x.model.ragged import Ragged, offsets_of, ranges

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Strings:
    """A string table; index 0 is the empty string."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """The index of ``text``, new or known."""
        return self._index.setdefault(text, len(self._index))

    def add_all(self, texts: Iterable[str]) -> I32:
        """(n,) int32: the indices of many strings."""
        return np.fromiter((self.add(text) for text in texts), np.int32)

    def table(self) -> list[str]:
        """All strings in the order of their indices."""
        return list(self._index)


def mix(value: U64) -> U64:
    """Spread every bit of each word over the word (the finalizer of splitmix64); changes nothing in place."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: U64 = value ^ (value >> np.uint64(31))
    return mixed


def weights(count: int) -> U64:
    """(count,) odd multipliers, the same in every run."""
    return mix(np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN) | np.uint64(1)


def hash_columns(*columns: U64 | I64) -> U64:
    """(n,) uint64: one hash per row of equally long integer columns."""
    total = np.zeros(len(columns[0]), np.uint64)
    for weight, column in zip(weights(len(columns)), columns, strict=True):
        total += mix(column.astype(np.uint64) * weight)
    return mix(total)


class HashIndex:
    """Numbers for rows by their hash, exact: rows whose hashes collide are told apart by the caller's comparison."""

    def __init__(self) -> None:
        self._hashes = np.zeros(0, np.uint64)
        self._ids = np.zeros(0, np.int64)

    def number(self, hashes: U64, equal: Callable[[I64, I64], Bools], add: Callable[[I64], I64]) -> I64:
        """(n,) int64: one number per row; rows of one call may repeat each other.

        ``equal(rows, numbers)`` compares rows of this call with known ones; ``add(rows)`` stores new ones and returns
        their numbers. A row that meets another with its hash is looked up again under the next hash of its series.
        """
        numbers = np.full(len(hashes), -1, np.int64)
        probe = hashes.copy()
        todo = np.arange(len(hashes))
        while len(todo):
            at = np.searchsorted(self._hashes, probe[todo])
            known = at < len(self._hashes)
            known[known] = self._hashes[at[known]] == probe[todo[known]]
            rows, ids = todo[known], self._ids[at[known]]
            same = equal(rows, ids)
            numbers[rows[same]] = ids[same]
            unlike = rows[~same]
            probe[unlike] = mix(probe[unlike] + _GOLDEN)
            todo = np.concatenate([unlike, self._insert(todo[~known], probe, add, numbers)])
        return numbers

    def _insert(self, rows: I64, probe: U64, add: Callable[[I64], I64], numbers: I64) -> I64:
        """Store the first row of each new hash; returns the others, which are then compared with it."""
        if not len(rows):
            return rows
        unique, first = np.unique(probe[rows], return_index=True)
        order = np.sort(first)
        numbers[rows[order]] = add(rows[order])
        at = np.searchsorted(self._hashes, unique)
        self._hashes = np.insert(self._hashes, at, unique)
        self._ids = np.insert(self._ids, at, numbers[rows[first]])
        rest = np.ones(len(rows), np.bool_)
        rest[first] = False
        return rows[rest]


def distinct(hashes: U64, equal: Callable[[I64, I64], Bools]) -> tuple[I64, I64]:
    """First row of every distinct row, and each row's place among them; ``equal(rows, others)`` compares two rows."""
    found: list[I64] = []
    count = 0

    def equal_to_known(rows: I64, numbers: I64) -> Bools:
        return equal(rows, np.concatenate(found)[numbers]) if len(rows) else np.zeros(0, np.bool_)

    def add(rows: I64) -> I64:
        nonlocal count
        found.append(rows)
        count += len(rows)
        return np.arange(count - len(rows), count)

    inverse = HashIndex().number(hashes, equal_to_known, add)
    return np.concatenate([*found, np.zeros(0, np.int64)]), inverse


def distinct_columns(columns: Sequence[U64 | I64]) -> tuple[I64, I64]:
    """``distinct`` over the rows of equally long integer columns."""
    return distinct(hash_columns(*columns), lambda rows, others: columns_equal(columns, rows, columns, others))


def columns_equal(columns: Sequence[U64 | I64], rows: I64, others: Sequence[U64 | I64], other_rows: I64) -> Bools:
    """(n,) bool: whether the named rows of two tables are equal in every column."""
    same = np.ones(len(rows), np.bool_)
    for mine, theirs in zip(columns, others, strict=True):
        same &= mine[rows] == theirs[other_rows]
    return same


class ChainTable:
    """Unique rows of words (chains of addresses), numbered from 0 in the order in which they first came."""

    def __init__(self) -> None:
        self._index = HashIndex()
        self._words = np.zeros(1024, np.uint64)
        self._used = 0
        self._starts: list[I64] = []
        self._lengths: list[I64] = []
        self._flat: tuple[I64, I64] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, words: U64, starts: I64, lengths: I64, hashes: U64) -> I64:
        """(n,) int64 numbers of the rows words[start : start + length], given their ``hash_rows``."""

        def equal(rows: I64, numbers: I64) -> Bools:
            known_starts, known_lengths = self._spans()
            return rows_equal(
                words, starts[rows], lengths[rows], self._words, known_starts[numbers], known_lengths[numbers]
            )

        return self._index.number(hashes, equal, lambda rows: self._add(words, starts[rows], lengths[rows]))

    def number_rows(self, rows: Ragged) -> I64:
        """``number`` of whole ragged rows."""
        starts, lengths = rows.offsets[:-1], rows.lengths
        return self.number(rows.values, starts, lengths, hash_rows(rows.values, starts, lengths))

    def table(self) -> Ragged:
        """Every unique row, by number."""
        return Ragged(offsets_of(self._spans()[1]), self._words[: self._used])

    def _spans(self) -> tuple[I64, I64]:
        if len(self._flat[0]) != self._count:
            self._flat = (np.concatenate(self._starts), np.concatenate(self._lengths))
            self._starts, self._lengths = [self._flat[0]], [self._flat[1]]
        return self._flat

    def _add(self, words: U64, starts: I64, lengths: I64) -> I64:
        total = int(lengths.sum())
        while self._used + total > len(self._words):
            self._words = np.concatenate([self._words, np.zeros(len(self._words), np.uint64)])
        self._words[self._used : self._used + total] = words[ranges(starts, lengths)]
        self._starts.append(self._used + offsets_of(lengths)[:-1])
        self._lengths.append(lengths)
        self._used += total
        numbers = np.arange(self._count, self._count + len(starts))
        self._count += len(starts)
        return numbers


def hash_rows(words: U64, starts: I64, lengths: I64) -> U64:
    """(n,) uint64: one hash per row, in blocks of equal length so that every block is one 2-D gather."""
    hashes = np.zeros(len(starts), np.uint64)
    multipliers = weights(int(lengths.max(initial=0)))
    for rows, length in by_length(lengths):
        block = words[starts[rows, None] + np.arange(length)]
        block ^= block >> np.uint64(29)
        hashes[rows] = block @ multipliers[:length] + np.uint64(length)
    return mix(hashes)


def rows_equal(words: U64, starts: I64, lengths: I64, others: U64, other_starts: I64, other_lengths: I64) -> Bools:
    """(n,) bool: whether each row of one store equals its partner of another."""
    same: Bools = lengths == other_lengths
    for rows, length in by_length(lengths):
        rows = rows[same[rows]]
        span = np.arange(length)
        same[rows] = (words[starts[rows, None] + span] == others[other_starts[rows, None] + span]).all(axis=1)
    return same


def by_length(lengths: I64) -> Iterable[tuple[I64, int]]:
    """Row numbers grouped by length, zero left out; blocks are cut so that one gather stays below 2²⁰ words."""
    if not len(lengths):
        return
    order = np.argsort(lengths, kind="stable")
    found, first = np.unique(lengths[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    for length, begin, end in zip(found.tolist(), first.tolist(), ends, strict=True):
        if length > 0:
            step = max(1, (1 << 20) // length)
            for at in range(begin, end, step):
                yield order[at : min(at + step, end)], length


def prefix_tree(rows: Ragged) -> tuple[I32, I32, I32]:
    """Rows of item numbers, root first, to a tree: (parent, item) of every node and the last node of each row, or −1.

    Level by level, so that a parent always has the smaller number::

        a b c        nodes  0 (−1, a)   1 (0, b)   2 (0, d)   3 (1, c)
        a d          rows   3   2
    """
    starts, lengths = rows.offsets[:-1], rows.lengths
    leaf = np.full(len(rows), -1, np.int64)
    parents: list[I64] = []
    items: list[I64] = []
    active = np.flatnonzero(lengths > 0)
    depth = total = 0
    while len(active):
        item = rows.values[starts[active] + depth].astype(np.int64)
        keys, inverse = np.unique((leaf[active] + 1) << 32 | item, return_inverse=True)
        parents.append((keys >> 32) - 1)
        items.append(keys & 0xFFFFFFFF)
        leaf[active] = total + inverse
        total += len(keys)
        depth += 1
        active = active[lengths[active] > depth]
    flat_parents = np.concatenate([*parents, np.zeros(0, np.int64)])
    flat_items = np.concatenate([*items, np.zeros(0, np.int64)])
    return flat_parents.astype(np.int32), flat_items.astype(np.int32), leaf.astype(np.int32)
