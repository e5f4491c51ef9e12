"""Interners: they give equal strings, rows or lists the same number, even if these arrive in different batches.

`perf2x.base.columnar.unique` explains when to use one. `prefix_tree` makes a tree of lists, such as stacks.
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
from perf2x.base.columnar.dictionary_column import StringInterner
from perf2x.base.columnar.hashing import digests, hash_columns, hash_rows
from perf2x.base.columnar.list_array import ListArray, argsort_small, end_to_end, offsets_of
from perf2x.base.columnar.unique import group_pairs, group_rows

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
# A run of `HashIndex` is merged with the run after it unless it is at least this many times as long.
_MIN_RATIO = 4


class HashIndex:
    """Numbers distinct rows by their hash; exact, because the caller compares rows whose hashes are equal.

    The index is a set of 64-bit words. The upper half of a word is the upper half of a hash; below, "hash" means this
    half alone. The lower half of a word is the number of the first row with that hash. Words are in a few sorted runs.
    Each batch adds a run, and runs of similar length are merged, so that a word is moved only a few times. With
    "hash·number" for a word::

        runs    | 1·0  4·2  7·1 |   | 3·3 |        a row with hash 4 is row 2, if the two are equal
                                                   a row with hash 5 is new

    A row whose hash is that of a different row is numbered by a dictionary of digests instead. By chance, this happens
    rarely. If a file is made so that all rows collide, each row takes the time of one digest.
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
        """Return (n,) int64: the number of each row of a batch, counting from 0; rows of a batch may be equal.

        The caller has the rows, and refers to them by their index in the batch. ``equal(rows, numbers)`` returns
        whether each row equals the stored row with that number. ``add(rows)`` stores new rows, which get the next
        numbers in the given order. ``contents(rows)`` returns bytes that identify each row.
        """
        upper_halves = hashes >> _HALF
        first, group = group_rows([upper_halves])
        group_numbers = self._find(upper_halves[first])
        new_groups = flatnonzero(group_numbers < 0)
        is_new = falses(len(hashes))
        is_new[first[new_groups]] = True
        # new rows are numbered in the order of the batch, whereas groups are in the order of their hashes
        group_numbers[new_groups] = take(cumsum(is_new), first[new_groups]) + (self._count - 1)
        self._add(flatnonzero(is_new), add)
        self._insert(upper_halves[first[new_groups]] << _HALF | group_numbers[new_groups].view(np.uint64))
        numbers = group_numbers[group]
        compared = flatnonzero(~is_new)
        colliding = compared[~equal(compared, numbers[compared])]
        if len(colliding):
            numbers[colliding] = self._number_by_digest(colliding, add, contents)
        return numbers

    def _find(self, upper_halves: U64) -> I64:
        """Return (n,) int64: the number stored for each upper half of a hash, −1 if there is none."""
        numbers = np.full(len(upper_halves), -1, np.int64)
        for run in self._runs:
            words = take(run, searchsorted(run, upper_halves << _HALF), "clip")
            is_stored = words >> _HALF == upper_halves
            numbers[is_stored] = (words[is_stored] & _LOW_HALF).view(np.int64)
        return numbers

    def _insert(self, words: U64) -> None:
        if not len(words):
            return
        self._runs.append(words)
        # merge the new run with runs before it that are not much longer
        while len(self._runs) > 1 and len(self._runs[-2]) < _MIN_RATIO * len(self._runs[-1]):
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
        new_rows: list[int] = []
        for row, digest in zip(rows.tolist(), digests(contents(rows)), strict=True):
            next_number = self._count + len(new_rows)
            numbers.append(self._by_digest.setdefault(digest, next_number))
            if numbers[-1] == next_number:
                new_rows.append(row)
        self._add(np.array(new_rows, np.int64), add)
        return numbers


class StringTableBuilder(StringInterner[str]):
    """Builds a string table like that of pprof, in which string 0 is the empty string."""

    def __init__(self) -> None:
        super().__init__({"": 0})


def _columns_equal(columns: Sequence[I64], rows: I64, other_columns: Sequence[I64], other_rows: I64) -> Bools:
    is_equal = trues(len(rows))
    for column, other_column in zip(columns, other_columns, strict=True):
        is_equal &= column[rows] == other_column[other_rows]
    return is_equal


def _row_bytes(columns: Sequence[I64], rows: I64) -> Iterator[bytes]:
    return (row.tobytes() for row in np.stack([column[rows] for column in columns], axis=1))


def _span_bytes(words: AnyArray, starts: I64, lengths: I64, columns: Sequence[I64], rows: I64) -> Iterator[bytes]:
    heads: Iterable[bytes] = _row_bytes(columns, rows) if columns else repeat(b"")
    spans = zip(starts[rows].tolist(), lengths[rows].tolist(), strict=True)
    return (head + words[start : start + length].tobytes() for head, (start, length) in zip(heads, spans, strict=False))


class RowInterner:
    """Numbers distinct rows of int64 columns that arrive batch by batch, from 0 in order of arrival.

    Within a batch, rows whose hash is that of a different row come last.
    """

    def __init__(self, columns: int) -> None:
        self._rows = GrowableColumns(np.int64, columns)
        self._index = HashIndex()

    def __len__(self) -> int:
        return len(self._rows)

    def number(self, *columns: I64) -> I64:
        """Return (n,) int64: the number of each row of a batch."""

        def equal(rows: I64, numbers: I64) -> Bools:
            return _columns_equal(columns, rows, self._rows.columns(), numbers)

        def add(rows: I64) -> None:
            self._rows.extend(*(column[rows] for column in columns))

        return self._index.number(hash_columns(*columns), equal, add, lambda rows: _row_bytes(columns, rows))

    def columns(self) -> list[I64]:
        """Return each column of the distinct rows as a (rows,) view, valid until the table grows."""
        return list(self._rows.columns())


class ListInterner:
    """Numbers distinct lists of words, such as callchains, from 0, in the same order as `RowInterner`.

    A row consists of a list and a value in each of ``columns`` further int64 columns.
    """

    def __init__(self, dtype: npt.DTypeLike = np.uint64, columns: int = 0) -> None:
        self._words = GrowableColumns(dtype)
        self._spans = GrowableColumns(np.int64, 2)  # start in ``_words`` and length of each list
        self._columns = GrowableColumns(np.int64, columns) if columns else None
        self._index = HashIndex()

    def __len__(self) -> int:
        return len(self._spans)

    @property
    def word_count(self) -> int:
        """Number of words in all distinct rows together."""
        return len(self._words)

    def number_spans(self, words: AnyArray, starts: I64, lengths: I64, *columns: I64) -> I64:
        """Return (n,) int64: the number of each row of a batch.

        The list of row i is ``words[starts[i] : starts[i] + lengths[i]]``; its other values are in ``columns``. Shapes:
        ``starts``, ``lengths`` and each column (n,).
        """

        def equal(rows: I64, numbers: I64) -> Bools:
            span = take(starts, rows), take(lengths, rows)
            stored_span = (take(column, numbers) for column in self._spans.columns())
            is_equal = _rows_equal(words, *span, self._words[0], *stored_span)
            if self._columns is not None:
                is_equal &= _columns_equal(columns, rows, self._columns.columns(), numbers)
            return is_equal

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
        """Return the lists of the distinct rows, in the order of their numbers."""
        return ListArray(offsets_of(self._spans[1]), self._words[0])


def _rows_equal(
    words: AnyArray, starts: I64, lengths: I64, other_words: AnyArray, other_starts: I64, other_lengths: I64
) -> Bools:
    is_equal: Bools = lengths == other_lengths
    if not is_equal.all():  # compare only rows of equal length
        rows = flatnonzero(is_equal)
        is_equal[rows] = _rows_equal(words, starts[rows], lengths[rows], other_words, other_starts[rows], lengths[rows])
        return is_equal
    differs = end_to_end(words, starts, lengths) != end_to_end(other_words, other_starts, lengths)
    if differs.any():  # hardly ever: these rows' hashes are equal
        is_equal[searchsorted(offsets_of(lengths), flatnonzero(differs), "right") - 1] = False
    return is_equal


def prefix_tree(rows: ListArray, innermost_first: bool = False) -> tuple[I32, I32, I32]:
    """Build the tree of all prefixes of rows of item numbers, such as stacks.

    Returns three arrays: (nodes,) int32 the parent of each node, −1 at a root; (nodes,) int32 the item of each node;
    and (rows,) int32 the node at which each row ends, −1 for an empty row. The root is the last item of a row if
    ``innermost_first``, otherwise the first.

    Nodes are numbered level by level, so that a parent has a smaller number than its children. Here, a node is written
    as (parent, item)::

        rows   a b c        nodes   0: (−1, a)   1: (0, b)   2: (0, d)   3: (1, c)
               a d          rows end at nodes 3 and 2
    """
    lengths = rows.lengths
    root_index, step = (rows.offsets[1:] - 1, -1) if innermost_first else (rows.offsets[:-1], 1)
    order = argsort_small(lengths)[::-1]  # longest first: rows that reach a depth are in front
    root_index = take(root_index, order)
    reaching = (len(rows) - cumsum(bincount(lengths))).tolist()  # how many rows have an item at depth 0, 1, …; then 0
    item_bits = int(rows.values.max(initial=0)).bit_length()
    # the row's node at the level above, as an index within that level
    node_in_level, end_node = np.zeros(len(rows), np.int64), np.full(len(rows), -1, np.int32)
    parents, items = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    level_start, node_count = -1, 0  # so that the parent of a root is −1 + 0
    for depth, (count, going_deeper) in enumerate(pairwise(reaching)):
        parent, item = node_in_level[:count], rows.values[root_index[:count] + step * depth].astype(np.int64)
        first, node_in_level = group_pairs(parent, item, len(parents[-1]), item_bits)
        parents.append((level_start + parent[first]).astype(np.int32))
        items.append(item[first].astype(np.int32))
        end_node[order[going_deeper:count]] = node_count + node_in_level[going_deeper:]  # rows that end at this depth
        level_start, node_count = node_count, node_count + len(first)
    return np.concatenate(parents), np.concatenate(items), end_node
