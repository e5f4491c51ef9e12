"""Finds distinct values, groups equal rows, and numbers rows: which tool to use when.

==============================  ====================================================  ==============================
input                           result                                                tool
==============================  ====================================================  ==============================
one column                      distinct values; also each row's index among them     `unique`; `unique_inverse`
several columns, all rows       first row of each group of equal rows, group of each  `group_rows`; `sorted_runs`
                                row; or sums
the same, few distinct rows     the same                                              `group_alike`
rows that arrive in batches     a number per row, the same in later batches           `interner.RowInterner` (columns),
                                                                                      `ListInterner` (chains)
==============================  ====================================================  ==============================

Costs, where 1 is np.sort of a column of random 64-bit numbers (2 million rows: 10 to 20 ns a row):

- `unique` 1; `unique_inverse` 0.5 for a sorted column or numbers in a small range, 6 to 9 for any others;
- `group_rows` 4 where all columns of a row and the row's number fit 64 bits, 6 for 100 bits, 12 for 200 bits;
  `group_alike` 4 for 400 bits;
- `RowInterner` 10 to 20, most of it hashing and searching: use it only where a row must keep its number while more rows
  arrive.

All but the interners number values and rows in the order of their contents, so that output does not depend on the order
of rows. Interners number rows in order of arrival, and the caller sorts them at the end. All are exact. Use Python's
``set`` and ``dict`` for texts and for tables of a few hundred rows.
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

FEW = 256
"""Up to this many rows, np.lexsort is faster than packing them into words: the overhead of numpy calls dominates."""

_WORD_BITS = 64
_AT_ONCE = 1 << 15
"""Rows to pack at a time, so few that intermediate results stay in the CPU cache and take hardly any memory."""
_SPARSE = 8
"""`unique_inverse` uses a table if the table has at most this many entries per value; otherwise it sorts."""


def unique(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values of an array of any shape, ascending: np.unique, in a tenth of its time or less.

    numpy 2.3 and later put the values into a hash set, and load numpy.ma (15 ms) to check whether they are masked.
    """
    ordered = np.sort(values, axis=None)
    return ordered[begins_run(ordered)]


def unique_inverse(values: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], I64]:
    """Return the distinct whole numbers of a column, ascending, and each value's index among them: (n,) int64.

    In a column that is sorted already, each value is compared with the one before; numbers in a small range are marked
    in a table; any other numbers are sorted::

        values   5 2 5 0        marked   0 · 2 · · 5        result   0 2 5,  2 1 2 0
    """
    if not np.less(values[1:], values[:-1]).any():
        is_new = begins_run(values)
        return values[is_new], _places(is_new)
    if len(values) <= FEW:
        return _sorted_inverse(values)
    least = values.min()
    above = values if least == 0 else values - least
    above = above.view(np.uint64) if above.dtype.itemsize == _WORD_BITS // 8 else above.astype(np.uint64)
    most = int(above.max()) + 1
    if most > _SPARSE * len(values):
        return _sorted_inverse(values)
    distinct, place = _marked_inverse(above.view(np.int64), most)
    return distinct.astype(values.dtype) + least, place


def number_keys(keys: Iterable[Key]) -> tuple[list[Key], I64]:
    """Return the distinct keys in order of first occurrence, and each key's index among them: (n,) int64."""
    numbers: dict[Key, int] = {}
    place = [numbers.setdefault(key, len(numbers)) for key in keys]
    return list(numbers), np.array(place, np.int64)


def numbers_of(values: npt.NDArray[Number], number: Callable[[int], int]) -> I64:
    """Return (n,) int64: ``number(value)`` of each value; it is called once per distinct value, in ascending order."""
    distinct, place = unique_inverse(values)
    return np.array([number(value) for value in distinct.tolist()], np.int64)[place]


def unique_known(numbers: I64) -> tuple[I64, I64]:
    """Do what `unique_inverse` does, except that −1 (unknown) is not among the distinct values and has the index −1."""
    values, place = unique_inverse(numbers)
    unknown = int(np.searchsorted(values, 0))
    return values[unknown:], place - unknown


def group_rows(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Group rows that are equal in every column; return the first row of each group, and the group of each row.

    Groups are ordered by their values, the first column being the primary key; columns hold whole numbers. Shapes:
    returns (groups,) and (n,).
    """
    return _grouped(*_order_and_starts(columns))


def group_pairs(first: I64, second: I64, firsts: int, bits: int) -> tuple[I64, I64]:
    """Do what `group_rows` does for two columns: ``first`` has numbers below ``firsts``, ``second`` below 2**``bits``.

    As the caller knows these limits, they need not be measured, which halves the time for a few hundred rows.
    """
    below = len(first).bit_length()
    if firsts.bit_length() + bits + below > _WORD_BITS:
        return group_rows([first, second])
    words = (first << bits | second).view(np.uint64) << np.uint64(below)
    return _grouped(*_sorted_words(words, np.uint64(below)))


def _grouped(order: I64, is_new: Bools) -> tuple[I64, I64]:
    """Return what `group_rows` does, given the order that sorts the rows and which sorted rows begin a group."""
    group = np.empty(len(order), np.int64)
    group[order] = _places(is_new)
    return order[is_new], group


def group_alike(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Do what `group_rows` does, in a quarter of the time where rows are wide, and few of many rows are distinct.

    Rows are grouped by their hash, and each row is compared with the first row that has its hash; only these first rows
    are sorted by content.
    """
    below = np.uint64(len(columns[0]).bit_length())
    first, kind = group_rows([hash_columns(*columns) >> below])
    if not all((column == column[first][kind]).all() for column in columns):  # hardly ever: unlike rows of one hash
        return group_rows(columns)
    order = argsort_rows([column[first] for column in columns])
    rank = np.empty(len(order), np.int64)
    rank[order] = arange(len(order))
    return first[order], rank[kind]


def sorted_runs(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Return the stable order that sorts rows by their columns, and where in it each run of equal rows begins.

    For sums of millions of rows (`sum_runs`): takes half the memory of `group_rows`. Shapes: returns (n,) and
    (groups,).
    """
    order, is_new = _order_and_starts(columns)
    return order, flatnonzero(is_new)


def sum_runs(values: AnyArray, order: I64, begins: I64) -> I64:
    """Return (groups,) int64: the sum of the values in each run that `sorted_runs` found."""
    sums = take(values, order).astype(np.int64, copy=False)
    if len(begins) == len(sums):
        return sums
    np.cumsum(sums, dtype=np.int64, out=sums)  # most runs are too short for reduceat
    sums = take(sums, np.append(begins, len(sums))[1:] - 1)
    sums[1:] -= sums[:-1].copy()
    return sums


def sum_rows(keys: Sequence[AnyArray], values: Sequence[AnyArray]) -> tuple[list[AnyArray], list[I64]]:
    """Return the distinct rows of ``keys``, in the order of `group_rows`, and for each the sums of ``values``."""
    order, begins = sorted_runs(keys)
    return [key[order[begins]] for key in keys], [sum_runs(column, order, begins) for column in values]


def rows_by(values: npt.NDArray[Number]) -> Iterator[tuple[int, I64]]:
    """Yield each distinct whole number, ascending, with the rows that hold it, ascending.

    Rows are sorted once, however many numbers there are: comparing all rows with each number would take quadratic time.
    """
    distinct, place = unique_inverse(values)
    if len(distinct) <= 1:
        yield from ((number, arange(len(values))) for number in distinct.tolist())
        return
    rows = argsort_rows([place])
    ends = cumsum(bincount(place))
    for number, begin, end in zip(distinct.tolist(), [0, *ends.tolist()], ends.tolist(), strict=False):
        yield number, rows[begin:end]


def argsort_rows(columns: Sequence[AnyArray]) -> I64:
    """Return the stable order that sorts rows by columns of whole numbers, the first column being the primary key.

    np.lexsort, whose primary key is the last column, takes several times as long. Here rows are packed into words, and
    the words are sorted: numpy has vector instructions for sorting words, but not for argsort. The lowest bits of a
    word are the row's index, so that equal rows keep their order::

        columns   3 7     word   3 7 | 0     sorted   2 9 | 1     order   1
                  2 9            2 9 | 1              3 7 | 0             0
    """
    return _order_and_starts(columns)[0]


def _places(is_new: Bools) -> I64:
    """Return (n,) the index of each sorted value among the distinct values; ``is_new`` marks the first of each."""
    places: I64 = cumsum(is_new)
    places -= 1  # in place: there may be a row for each address in the recording
    return places


def _sorted_inverse(values: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], I64]:
    """Do what `unique_inverse` does, by sorting."""
    first, group = group_rows([values])
    return values[first], group


def _marked_inverse(values: I64, reach: int) -> tuple[I64, I64]:
    """Do what `unique_inverse` does for numbers from 0 to ``reach`` − 1, by marking them in a table."""
    is_used = np.zeros(reach, np.bool_)
    is_used[values] = True
    narrow = len(values) < min(reach, 1 << 31)  # the table may have eight entries for each value
    rank = np.zeros(reach, np.int32 if narrow else np.int64)
    np.cumsum(is_used[:-1], dtype=rank.dtype, out=rank[1:])
    place = rank[values].astype(np.int64, copy=False)
    return flatnonzero(is_used), place


def _order_and_starts(columns: Sequence[AnyArray]) -> tuple[I64, Bools]:
    """Return the order that sorts rows, and which of the sorted rows differ from the row before. Shapes: (n,) each."""
    count = len(columns[0])
    if count <= FEW:
        order = lexsort(columns[::-1])
        return order, begins_run(*(column[order] for column in columns))
    below = np.uint64((count - 1).bit_length())
    key, rest = _pack_columns(columns, count, _WORD_BITS - int(below))
    key <<= below  # here and in _sorted_words in place, to avoid copying millions of rows
    order, is_new = _sorted_words(key, below)
    if rest and not is_new.all():
        _break_ties(rest, order, is_new)
    return order, is_new


def _sorted_words(key: U64, below: np.uint64) -> tuple[I64, Bools]:
    """Do what `_order_and_starts` does for one column of words, whose lowest ``below`` bits must be zero."""
    key |= np.arange(len(key), dtype=np.uint64)
    key.sort()
    order = (key & ((np.uint64(1) << below) - np.uint64(1))).view(np.int64)
    key >>= below
    return order, begins_run(key)


def _pack_columns(columns: Sequence[AnyArray], count: int, room: int) -> tuple[U64, list[AnyArray]]:
    """Pack as much of each row as fits ``room`` bits, the first column highest; also return the columns left over.

    A column may be split. So every round of `_break_ties`, which packs the number of the run first, makes progress:
    that number and the row's index never fill a word.
    """
    key = np.zeros(count, np.uint64)
    rest: list[AnyArray] = []
    for column in columns:
        if not room:
            rest.append(column)
            continue
        least, most = column.min(), column.max()
        bits = (int(most) - int(least)).bit_length()
        used = min(bits, room)
        if used < bits:
            rest.append(_above(column, least) & np.uint64((1 << (bits - used)) - 1))
        if used:
            for rows in row_slices(count, _AT_ONCE):
                part, above = key[rows], _above(column[rows], least)
                part <<= np.uint64(used)
                part |= above >> np.uint64(bits - used) if bits > used else above
        room -= used
    return key, rest


def _above(column: AnyArray, least: AnyArray) -> U64:
    """Return (n,) each number minus the least one.

    Where the difference does not fit int64, it wraps around, and is still right when read as unsigned.
    """
    dtype = np.uint64 if column.dtype == np.uint64 else np.int64
    above: U64 = (column.astype(dtype, copy=False) - least.astype(dtype)).view(np.uint64)
    return above


def _break_ties(columns: Sequence[AnyArray], order: I64, is_new: Bools) -> None:
    """Sort each run of rows that are equal so far by further columns; change ``order`` and ``is_new`` in place."""
    is_tied = ~is_new
    is_tied[:-1] |= is_tied[1:]
    at = flatnonzero(is_tied)
    run, rows = cumsum(is_new)[at], order[at]
    order_of_tied, is_new[at] = _order_and_starts([run, *(column[rows] for column in columns)])
    order[at] = rows[order_of_tied]
