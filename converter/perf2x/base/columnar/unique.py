"""Finds distinct values, groups equal rows, and numbers rows: which tool to use when.

==============================  ====================================================  ==============================
input                           result                                                tool
==============================  ====================================================  ==============================
one column                      distinct values; also each row's index among them     `unique`; `unique_inverse`
several columns, all at once    first row of each group of equal rows, and the group  `group_rows`; `sum_rows`
                                of each row; or sums of equal rows
the same, few distinct rows     the first row of each group, and the group of each    `group_rows_by_hash`
rows that come in batches       a number per row, the same in later batches           `interner.RowInterner` (columns),
                                                                                      `ListInterner` (chains)
==============================  ====================================================  ==============================

Costs, in units of the time of np.sort for a column of random 64-bit numbers (2 million rows: 10 to 20 ns a row):

- `unique` 1; `unique_inverse` 0.5 for a sorted column or numbers in a small range, 6 to 9 for any others;
- `group_rows` 4 if all columns of a row, and the row's number, fit 64 bits together, 6 for 100 bits, 12 for 200 bits;
  `group_rows_by_hash` 4 for 400 bits;
- `RowInterner` 10 to 20: use it only where a row must keep its number while more rows arrive.

Results are in the order of the contents, so that output does not depend on the order of rows. Only the interners and
`number_keys` number in order of arrival. Rows with equal hashes are compared, so all results are exact. For strings and
for tables of a few hundred rows, use Python's ``set`` and ``dict``.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar.arrays import (
    I64,
    U64,
    AnyArray,
    Bools,
    Number,
    arange,
    begins_run,
    bincount,
    cumsum,
    flatnonzero,
    lexsort,
    row_slices,
    take,
)
from perf2x.base.columnar.hashing import hash_columns

Key = TypeVar("Key", bound=Hashable)

# Up to this many rows, np.lexsort is faster than packing them into words: the overhead of numpy calls dominates.
FEW_ROWS = 256

_WORD_BITS = 64
# Rows to pack at a time, so few that intermediate results stay in the CPU cache and take hardly any memory.
_ROWS_AT_ONCE = 1 << 15
# `unique_inverse` uses a table if the table has at most this many entries per value; otherwise it sorts.
_MAX_SPARSENESS = 8


def unique(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values of an array of any shape, ascending.

    np.unique of numpy 2.3 and later uses a hash set, takes ten times as long or more, and loads numpy.ma (15 ms).
    """
    ascending = np.sort(values, axis=None)
    return ascending[begins_run(ascending)]


def unique_inverse(values: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], I64]:
    """Return the distinct whole numbers of a column, ascending, and each value's index among them: (n,) int64.

    For example, 5 2 5 0 becomes 0 2 5 and 2 1 2 0.
    """
    if not np.less(values[1:], values[:-1]).any():
        is_new = begins_run(values)
        return values[is_new], _run_numbers(is_new)
    if len(values) <= FEW_ROWS:
        return _sorted_inverse(values)
    least = values.min()
    offset = values if least == 0 else values - least  # may wrap around, and is right when read as unsigned
    offset = offset.view(np.uint64) if offset.dtype.itemsize == _WORD_BITS // 8 else offset.astype(np.uint64)
    table_size = int(offset.max()) + 1
    if table_size > _MAX_SPARSENESS * len(values):
        return _sorted_inverse(values)
    distinct, index = _marked_inverse(offset.view(np.int64), table_size)
    return distinct.astype(values.dtype) + least, index


def number_keys(keys: Iterable[Key]) -> tuple[list[Key], I64]:
    """Return the distinct keys in order of first occurrence, and each key's index among them: (n,) int64."""
    numbers: dict[Key, int] = {}
    index = [numbers.setdefault(key, len(numbers)) for key in keys]
    return list(numbers), np.array(index, np.int64)


def map_distinct(values: npt.NDArray[Number], function: Callable[[int], int]) -> I64:
    """Return (n,) int64: ``function(value)`` for each value, computed once for each distinct value."""
    distinct, index = unique_inverse(values)
    return np.array([function(value) for value in distinct.tolist()], np.int64)[index]


def unique_known(numbers: I64) -> tuple[I64, I64]:
    """Do what `unique_inverse` does for numbers from −1 (unknown) on, without −1 among the distinct numbers.

    The index of −1 is −1. For example, 7 −1 5 7 becomes 5 7 and 1 −1 0 1.
    """
    distinct, index = unique_inverse(numbers)
    unknown_count = int(np.searchsorted(distinct, 0))  # 1 if −1 occurs, else 0
    return distinct[unknown_count:], index - unknown_count


def group_rows(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Group rows that are equal in every column; return the first row of each group, and the group of each row.

    Groups are in the order of their values; the first column is the primary key. For example, one column with 7 5 7
    becomes 1 0 (the first rows with 5 and 7) and 1 0 1. Columns hold whole numbers. Shapes: returns (groups,) and (n,)
    int64.
    """
    return _grouped(*_order_and_starts(columns))


def group_pairs(first_column: I64, second_column: I64, limit: int, second_bits: int) -> tuple[I64, I64]:
    """Do what `group_rows` does for two columns of nonnegative numbers, in half the time for a few hundred rows.

    The first column has numbers below ``limit``, the second below 2**``second_bits``.
    """
    index_bits = len(first_column).bit_length()
    if limit.bit_length() + second_bits + index_bits > _WORD_BITS:
        return group_rows([first_column, second_column])
    words = (first_column << second_bits | second_column).view(np.uint64) << np.uint64(index_bits)
    return _grouped(*_sorted_words(words, np.uint64(index_bits)))


def _grouped(order: I64, is_new: Bools) -> tuple[I64, I64]:
    group = np.empty(len(order), np.int64)
    group[order] = _run_numbers(is_new)
    return order[is_new], group


def group_rows_by_hash(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Do what `group_rows` does, in a quarter of the time if there are many columns and few distinct rows."""
    index_bits = np.uint64(len(columns[0]).bit_length())
    # without its lowest bits, a hash and the row's index fit one word
    first, hash_group = group_rows([hash_columns(*columns) >> index_bits])
    if not all((column == column[first][hash_group]).all() for column in columns):  # hardly ever: a collision
        return group_rows(columns)
    # only the first row of each group is sorted by content
    order = argsort_rows([column[first] for column in columns])
    rank = np.empty(len(order), np.int64)
    rank[order] = arange(len(order))
    return first[order], rank[hash_group]


def sorted_runs(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Return the indices that sort rows stably by their columns, and where in this order each run of equal rows begins.

    For example, one column with 7 5 7 becomes 1 0 2 and 0 1. This takes half the memory of `group_rows`. Shapes:
    returns (n,) and (groups,) int64.
    """
    order, is_new = _order_and_starts(columns)
    return order, flatnonzero(is_new)


def sum_runs(values: AnyArray, order: I64, begins: I64) -> I64:
    """Return (groups,) int64: the sum of the values in each run that `sorted_runs` found."""
    sums = take(values, order).astype(np.int64, copy=False)
    if len(begins) == len(sums):
        return sums
    # the difference between running sums at the ends of runs; np.add.reduceat is slower, as most runs are short
    np.cumsum(sums, dtype=np.int64, out=sums)
    sums = take(sums, np.append(begins, len(sums))[1:] - 1)
    sums[1:] -= sums[:-1].copy()
    return sums


def sum_rows(keys: Sequence[AnyArray], values: Sequence[AnyArray]) -> tuple[list[AnyArray], list[I64]]:
    """Return the distinct rows of the columns ``keys``, and for each of them the sum of each column in ``values``.

    The distinct rows are in the order of `group_rows`.
    """
    order, begins = sorted_runs(keys)
    return [key[order[begins]] for key in keys], [sum_runs(column, order, begins) for column in values]


def rows_by(values: npt.NDArray[Number]) -> Iterator[tuple[int, I64]]:
    """Yield each distinct whole number, ascending, with the rows that have it, ascending."""
    distinct, index = unique_inverse(values)
    if len(distinct) <= 1:
        yield from ((number, arange(len(values))) for number in distinct.tolist())
        return
    rows = argsort_rows([index])
    ends = cumsum(bincount(index))
    for number, begin, end in zip(distinct.tolist(), [0, *ends.tolist()], ends.tolist(), strict=False):
        yield number, rows[begin:end]


def argsort_rows(columns: Sequence[AnyArray]) -> I64:
    """Return the indices that sort rows stably by columns of whole numbers; the first column is the primary key.

    np.lexsort takes several times as long: numpy has vector instructions for sorting, but not for a stable argsort. So
    rows are packed into words, and the words are sorted. The lowest bits of a word are the row's index, so that equal
    rows keep their order::

        columns   3 7     word   3 7 | 0     sorted   2 9 | 1     result   1
                  2 9            2 9 | 1              3 7 | 0              0
    """
    return _order_and_starts(columns)[0]


def _run_numbers(is_new: Bools) -> I64:
    """Return (n,) int64: the number of each row's run; True False True becomes 0 0 1."""
    numbers: I64 = cumsum(is_new)
    numbers -= 1  # in place: columns may be very long
    return numbers


def _sorted_inverse(values: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], I64]:
    first, group = group_rows([values])
    return values[first], group


def _marked_inverse(values: I64, limit: int) -> tuple[I64, I64]:
    """Do what `unique_inverse` does for numbers from 0 to ``limit`` − 1, by marking them in a table.

    The rank of an entry is the number of marked entries before it. For 5 2 5 0::

        is_marked   1 0 1 0 0 1
        rank        0 1 1 2 2 2
    """
    is_marked = np.zeros(limit, np.bool_)
    is_marked[values] = True
    # int32 saves memory where the table is longer than the column
    use_int32 = len(values) < min(limit, 1 << 31)
    rank = np.zeros(limit, np.int32 if use_int32 else np.int64)
    np.cumsum(is_marked[:-1], dtype=rank.dtype, out=rank[1:])
    index = rank[values].astype(np.int64, copy=False)
    return flatnonzero(is_marked), index


def _order_and_starts(columns: Sequence[AnyArray]) -> tuple[I64, Bools]:
    """Return the indices that sort rows, and which of the sorted rows differ from the row before. Shapes: (n,) each."""
    count = len(columns[0])
    if count <= FEW_ROWS:
        order = lexsort(columns[::-1])
        return order, begins_run(*(column[order] for column in columns))
    index_bits = np.uint64((count - 1).bit_length())
    words, unpacked_columns = _pack_columns(columns, count, _WORD_BITS - int(index_bits))
    words <<= index_bits  # here and in _sorted_words in place, to avoid copying millions of rows
    order, is_new = _sorted_words(words, index_bits)
    if unpacked_columns and not is_new.all():
        _break_ties(unpacked_columns, order, is_new)
    return order, is_new


def _sorted_words(words: U64, index_bits: np.uint64) -> tuple[I64, Bools]:
    """Do what `_order_and_starts` does for one column of words, whose lowest ``index_bits`` bits must be zero."""
    words |= np.arange(len(words), dtype=np.uint64)
    words.sort()
    order = (words & ((np.uint64(1) << index_bits) - np.uint64(1))).view(np.int64)
    words >>= index_bits
    return order, begins_run(words)


def _pack_columns(columns: Sequence[AnyArray], count: int, free_bits: int) -> tuple[U64, list[AnyArray]]:
    """Pack as much of each row as fits ``free_bits`` bits, the first column highest; also return what does not fit.

    A column may be split: its upper bits are packed, and its lower bits are returned. Every round of `_break_ties`
    packs at least one bit of a column, because the number of a run and the row's index never fill a word.
    """
    words = np.zeros(count, np.uint64)
    unpacked_columns: list[AnyArray] = []
    for column in columns:
        if not free_bits:
            unpacked_columns.append(column)
            continue
        least, most = column.min(), column.max()
        bits = (int(most) - int(least)).bit_length()
        packed_bits = min(bits, free_bits)
        if packed_bits < bits:
            unpacked_columns.append(_minus_least(column, least) & np.uint64((1 << (bits - packed_bits)) - 1))
        if packed_bits:
            for rows in row_slices(count, _ROWS_AT_ONCE):
                part, offset = words[rows], _minus_least(column[rows], least)
                part <<= np.uint64(packed_bits)
                part |= offset >> np.uint64(bits - packed_bits) if bits > packed_bits else offset
        free_bits -= packed_bits
    return words, unpacked_columns


def _minus_least(column: AnyArray, least: AnyArray) -> U64:
    # an int64 difference may wrap around; read as unsigned, it is right
    dtype = np.uint64 if column.dtype == np.uint64 else np.int64
    difference: U64 = (column.astype(dtype, copy=False) - least.astype(dtype)).view(np.uint64)
    return difference


def _break_ties(columns: Sequence[AnyArray], order: I64, is_new: Bools) -> None:
    """Sort each run of rows that are equal so far by further columns; change ``order`` and ``is_new`` in place."""
    is_tied = ~is_new
    is_tied[:-1] |= is_tied[1:]  # the first row of a run is tied, too
    tied = flatnonzero(is_tied)  # indices in the sorted order
    run, rows = cumsum(is_new)[tied], order[tied]
    order_of_tied, is_new[tied] = _order_and_starts([run, *(column[rows] for column in columns)])
    order[tied] = rows[order_of_tied]
