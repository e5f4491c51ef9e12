"""Gives equal strings, rows or chains the same number, batch by batch; makes a prefix tree of stacks.

The docstring of `perf2x.base.columnar.unique` explains when an interner is the right tool.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, repeat

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar.arrays import (
    I32,
    I64,
    U64,
    AnyArray,
    Bools,
    GrowableColumns,
    bincount,
    cumsum,
    falses,
    flatnonzero,
    searchsorted,
    take,
    trues,
)
from perf2x.base.columnar.dictionary_column import TextInterner
from perf2x.base.columnar.hashing import digests, hash_columns, hash_rows
from perf2x.base.columnar.list_array import ListArray, argsort_small, end_to_end, offsets_of
from perf2x.base.columnar.unique import group_pairs, group_rows

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_GROWTH = 4
"""A run is merged with the run after it unless it is at least this many times as long."""


class HashIndex:
    """Numbers distinct rows by their hash; exact, because the caller compares rows whose hashes are equal.

    A word holds the upper half of a hash (below: before the dot) and the number of the first row with that hash. Sorted
    words lie in a few runs: the words of a batch become a new run, and runs of similar length are merged, so that a
    word moves a few times at most::

        runs    | 1·0  4·2  7·1 |   | 3·3 |        hash 4: row 2, if the rows are equal
                                                   hash 5: a new row

    A row whose hash belongs to a different row is numbered by a dictionary of digests. This happens by chance to one
    row in thousands; rows that were made to collide take one digest each, not a search.
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
        equal: Callable[[I64, I64], Bools],
        add: Callable[[I64], None],
        contents: Callable[[I64], Iterable[bytes]],
    ) -> I64:
        """Return (n,) int64: the number of each row, counting from 0; rows of one call may be equal.

        ``equal(rows, numbers)`` returns whether each row equals the stored row with that number. ``add(rows)`` stores
        new rows, which get the next numbers in the order given. ``contents(rows)`` returns bytes that identify each
        row.
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
        others = flatnonzero(~is_new)
        unlike = others[~equal(others, numbers[others])]
        if len(unlike):
            numbers[unlike] = self._number_by_digest(unlike, add, contents)
        return numbers

    def _find(self, hashes: U64) -> I64:
        """Return (n,) the number stored for each hash, −1 for unknown hashes."""
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


class StringInterner(TextInterner[str]):
    """A string table; index 0 is the empty string."""

    def __init__(self) -> None:
        super().__init__({"": 0})


def _columns_equal(columns: Sequence[I64], rows: I64, others: Sequence[I64], other_rows: I64) -> Bools:
    """Return (n,) bool: whether the given rows of two tables are equal in every column."""
    same = trues(len(rows))
    for mine, theirs in zip(columns, others, strict=True):
        same &= mine[rows] == theirs[other_rows]
    return same


def _row_bytes(columns: Sequence[I64], rows: I64) -> Iterator[bytes]:
    """Yield the bytes of each of the given rows."""
    return (row.tobytes() for row in np.stack([column[rows] for column in columns], axis=1))


def _span_bytes(words: AnyArray, starts: I64, lengths: I64, columns: Sequence[I64], rows: I64) -> Iterator[bytes]:
    """Yield the bytes of each of the given rows: its columns, then its words."""
    heads: Iterable[bytes] = _row_bytes(columns, rows) if columns else repeat(b"")
    spans = zip(starts[rows].tolist(), lengths[rows].tolist(), strict=True)
    return (head + words[start : start + length].tobytes() for head, (start, length) in zip(heads, spans, strict=False))


class RowInterner:
    """Numbers distinct rows of int64 columns that arrive batch by batch, counting from 0."""

    def __init__(self, columns: int) -> None:
        self._rows = GrowableColumns(np.int64, columns)
        self._index = HashIndex()

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, *columns: I64) -> I64:
        """Return (n,) the number of each row."""

        def equal(rows: I64, numbers: I64) -> Bools:
            return _columns_equal(columns, rows, self._rows.columns(), numbers)

        def add(rows: I64) -> None:
            self._rows.extend(*(column[rows] for column in columns))

        return self._index.number(hash_columns(*columns), equal, add, lambda rows: _row_bytes(columns, rows))

    def columns(self) -> list[I64]:
        """Return each column of the distinct rows as a (rows,) view, valid until the table grows."""
        return list(self._rows.columns())


class ListInterner:
    """Numbers distinct rows of words (chains of addresses or of numbers), counting from 0.

    With ``columns``, each row also has that many int64 values; rows with different values are different rows.
    """

    def __init__(self, dtype: npt.DTypeLike = np.uint64, columns: int = 0) -> None:
        self._words = GrowableColumns(dtype)
        self._spans = GrowableColumns(np.int64, 2)
        self._columns = GrowableColumns(np.int64, columns) if columns else None
        self._index = HashIndex()

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def words(self) -> int:
        """Number of words in all rows together."""
        return len(self._words)

    def number_spans(self, words: AnyArray, starts: I64, lengths: I64, *columns: I64) -> I64:
        """Return (n,) int64: the number of each row, row i being ``words[starts[i] : starts[i] + lengths[i]]``."""

        def equal(rows: I64, numbers: I64) -> Bools:
            mine, known = (
                (take(starts, rows), take(lengths, rows)),
                (take(column, numbers) for column in self._spans.columns()),
            )
            same = _rows_equal(words, *mine, self._words[0], *known)
            if self._columns is not None:
                same &= _columns_equal(columns, rows, self._columns.columns(), numbers)
            return same

        def add(rows: I64) -> None:
            self._spans.extend(len(self._words) + offsets_of(lengths[rows])[:-1], lengths[rows])
            self._words.extend(end_to_end(words, starts[rows], lengths[rows]))
            if self._columns is not None:
                self._columns.extend(*(column[rows] for column in columns))

        hashes = hash_rows(words, starts, lengths)
        if columns:
            hashes = hash_columns(hashes, *columns)
        dtype = self._words[0].dtype

        def contents(rows: I64) -> Iterator[bytes]:
            return _span_bytes(words.astype(dtype, copy=False), starts, lengths, columns, rows)

        return self._index.number(hashes, equal, add, contents)

    def number_rows(self, rows: ListArray, *columns: I64) -> I64:
        """Return (n,) int64: the number of each row of a list array."""
        return self.number_spans(rows.values, rows.offsets[:-1], rows.lengths, *columns)

    def table(self) -> ListArray:
        """Return the distinct rows, in the order of their numbers."""
        return ListArray(offsets_of(self._spans[1]), self._words[0])


def _rows_equal(
    words: AnyArray, starts: I64, lengths: I64, others: AnyArray, other_starts: I64, other_lengths: I64
) -> Bools:
    """Return (n,) bool: whether each row of ``words`` equals the corresponding row of ``others``."""
    same: Bools = lengths == other_lengths
    if not same.all():
        rows = flatnonzero(same)
        same[rows] = _rows_equal(words, starts[rows], lengths[rows], others, other_starts[rows], lengths[rows])
        return same
    unlike = end_to_end(words, starts, lengths) != end_to_end(others, other_starts, lengths)
    if unlike.any():  # hardly ever: these rows' hashes are equal
        same[searchsorted(offsets_of(lengths), flatnonzero(unlike), "right") - 1] = False
    return same


def prefix_tree(rows: ListArray, innermost_first: bool = False) -> tuple[I32, I32, I32]:
    """Build the tree of all prefixes of rows of item numbers.

    Returns the parent of each node (−1 at a root) and its item, (nodes,) each, and the last node of each row, (rows,),
    which is −1 for an empty row. ``innermost_first``: a row ends with its root; otherwise it begins with its root.

    Nodes are numbered level by level, so that a parent always has a smaller number than its children::

        a b c        nodes  0 (−1, a)   1 (0, b)   2 (0, d)   3 (1, c)
        a d          rows   3   2
    """
    lengths = rows.lengths
    first, step = (rows.offsets[1:] - 1, -1) if innermost_first else (rows.offsets[:-1], 1)
    order = argsort_small(lengths)[::-1]  # longest first: the rows that reach the next depth always come first
    at, going_on = take(first, order), (len(rows) - cumsum(bincount(lengths))).tolist()
    bits = int(rows.values.max(initial=0)).bit_length()
    place, leaf = np.zeros(len(rows), np.int64), np.full(len(rows), -1, np.int32)
    parents, items = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    above, total = -1, 0
    for depth, (count, left) in enumerate(pairwise(going_on)):
        parent, item = place[:count], rows.values[at[:count] + step * depth].astype(np.int64)
        kept, place = group_pairs(parent, item, len(parents[-1]), bits)
        parents.append((above + parent[kept]).astype(np.int32))
        items.append(item[kept].astype(np.int32))
        leaf[order[left:count]] = total + place[left:]
        above, total = total, total + len(kept)
    return np.concatenate(parents), np.concatenate(items), leaf
