"""Distinct values, distinct rows and numbered rows: three tools, and when to use which.

==============================  ====================================================  ==============================
input                           result                                                tool
==============================  ====================================================  ==============================
one column                      distinct values; also each row's index among them     `unique`; `unique_inverse`
several columns, all rows       first row of each group of equal rows, group of each  `group_rows`; `sorted_runs`
                                row; or sums
…, with few distinct rows       the same                                              `group_alike`
rows that arrive in batches     a number per row, the same in later batches           `interner.RowInterner` (columns),
                                                                                      `ListInterner` (chains)
==============================  ====================================================  ==============================

Costs, where 1 is np.sort of a column of random 64-bit numbers (2 million rows: 10 to 20 ns a row):

- `unique` 1; `unique_inverse` 0.5 for a sorted column or numbers in a small range, 6 to 9 for any others;
- `group_rows` 4 where all columns of a row and the row's number fit 64 bits, 6 for a hundred bits, 12 for two hundred;
  `group_alike` 4 for four hundred;
- `RowInterner` 10 to 20, most of it hashing and searching: only for numbers that must stay while rows come.

The first two number rows in the order of their values, so that outputs do not depend on the order of rows; interners
number rows in order of arrival, and the caller sorts them in the end. All are exact. Use Python's ``set`` and ``dict``
for texts and for tables of a few hundred rows.
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
"""Up to this many rows np.lexsort is quicker than packing them: the overhead of numpy calls dominates."""

_WORD_BITS = 64
_AT_ONCE = 1 << 15
"""Rows to pack together: their columns stay in the CPU cache, and use no memory besides the packed words."""
_SPARSE = 8
"""`unique_inverse` uses a table if it has at most this many entries per value; otherwise it sorts."""


def unique(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values of an array of any shape, ascending: np.unique, in a tenth of its time or less.

    numpy 2.3 and later put the values into a hash set, and load numpy.ma (15 ms) to check whether they are masked.
    """
    ordered = np.sort(values, axis=None)
    return ordered[begins_run(ordered)]


def unique_inverse(values: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], I64]:
    """Return the distinct whole numbers of a column, rising, and (n,) int64 the place of each value among them.

    A column that is sorted already is compared with itself; numbers in a small range are marked in a table, any others
    are sorted::

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
    """Return distinct keys in order of first occurrence, and (n,) the index of each key among them."""
    numbers: dict[Key, int] = {}
    place = [numbers.setdefault(key, len(numbers)) for key in keys]
    return list(numbers), np.array(place, np.int64)


def numbers_of(values: npt.NDArray[Number], number: Callable[[int], int]) -> I64:
    """Return (n,) the number for each whole number; ``number`` is called once for each distinct one, ascending."""
    distinct, place = unique_inverse(values)
    return np.array([number(value) for value in distinct.tolist()], np.int64)[place]


def unique_known(numbers: I64) -> tuple[I64, I64]:
    """Do what `unique_inverse` does, ignoring −1, which stands for unknown and gets the index −1."""
    values, place = unique_inverse(numbers)
    unknown = int(np.searchsorted(values, 0))
    return values[unknown:], place - unknown


def group_rows(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Group rows that are equal in every column: (groups,) the first row of each, and (n,) the group of each row.

    Groups are ordered by their values, the first column leading; columns hold whole numbers.
    """
    return _grouped(*_order_and_starts(columns))


def group_pairs(first: I64, second: I64, firsts: int, bits: int) -> tuple[I64, I64]:
    """Do what `group_rows` does, for two columns of numbers below ``firsts`` and below 2**``bits``.

    Known limits save measuring, and halve the time for a table of a few hundred rows.
    """
    below = len(first).bit_length()
    if firsts.bit_length() + bits + below > _WORD_BITS:
        return group_rows([first, second])
    words = (first << bits | second).view(np.uint64) << np.uint64(below)
    return _grouped(*_sorted_words(words, np.uint64(below)))


def _grouped(order: I64, is_new: Bools) -> tuple[I64, I64]:
    """Return the first row and the group of each row; ``order`` sorts the rows, groups begin where ``is_new``."""
    group = np.empty(len(order), np.int64)
    group[order] = _places(is_new)
    return order[is_new], group


def group_alike(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Do what `group_rows` does, in a quarter of its time if there are many wide rows of few kinds.

    Rows are sorted by their hash and compared with the first row of that hash; only these first rows are sorted by
    content.
    """
    below = np.uint64(len(columns[0]).bit_length())
    first, kind = group_rows([hash_columns(*columns) >> below])
    if not all((column == column[first][kind]).all() for column in columns):  # hardly ever: equal hashes
        return group_rows(columns)
    order = argsort_rows([column[first] for column in columns])
    rank = np.empty(len(order), np.int64)
    rank[order] = arange(len(order))
    return first[order], rank[kind]


def sorted_runs(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Return the stable order of rows by their columns, and (groups,) where each run of equal rows begins in it.

    Uses half the memory of `group_rows`, for sums of millions of rows: np.add.reduceat sums the runs.
    """
    order, is_new = _order_and_starts(columns)
    return order, flatnonzero(is_new)


def sum_runs(values: AnyArray, order: I64, begins: I64) -> I64:
    """Return (groups,) the sum of each run of `sorted_runs`."""
    sums = take(values, order).astype(np.int64, copy=False)
    if len(begins) == len(sums):
        return sums
    np.cumsum(sums, dtype=np.int64, out=sums)  # most runs are too short for reduceat
    sums = take(sums, np.append(begins, len(sums))[1:] - 1)
    sums[1:] -= sums[:-1].copy()
    return sums


def sum_rows(keys: Sequence[AnyArray], values: Sequence[AnyArray]) -> tuple[list[AnyArray], list[I64]]:
    """Return the distinct rows of the keys, ordered as by `group_rows`, and the sums of each one's values."""
    order, begins = sorted_runs(keys)
    return [key[order[begins]] for key in keys], [sum_runs(column, order, begins) for column in values]


def rows_by(values: npt.NDArray[Number]) -> Iterator[tuple[int, I64]]:
    """Yield each distinct whole number, ascending, with its rows, ascending.

    Takes one pass, however many numbers there are: comparing all rows with each number would take quadratic time.
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
    """Return the stable order of rows by their columns of whole numbers, the first one leading.

    np.lexsort, whose last column is the primary key, takes several times as long.

    Rows are packed into words that are sorted themselves: numpy sorts words with vector instructions, but not indices.
    The row's number stands lowest, so that equal rows keep their order::

        columns   3 7     word   3 7 | 0     sorted   2 9 | 1     order   1
                  2 9            2 9 | 1              3 7 | 0             0
    """
    return _order_and_starts(columns)[0]


def _places(is_new: Bools) -> I64:
    """Return (n,) the index of each sorted value among the distinct ones."""
    places: I64 = cumsum(is_new)
    places -= 1  # in place: these are columns of all addresses of a file
    return places


def _sorted_inverse(values: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], I64]:
    """Do what `unique_inverse` does, with one sort."""
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
    """Return the order that sorts rows, and (n,) which of the sorted rows differ from the one before."""
    count = len(columns[0])
    if count <= FEW:
        order = lexsort(columns[::-1])
        return order, begins_run(*(column[order] for column in columns))
    below = np.uint64((count - 1).bit_length())
    key, rest = _pack_columns(columns, count, _WORD_BITS - int(below))
    key <<= below  # in place, here and below, to avoid copying millions of rows
    order, is_new = _sorted_words(key, below)
    if rest and not is_new.all():
        _break_ties(rest, order, is_new)
    return order, is_new


def _sorted_words(key: U64, below: np.uint64) -> tuple[I64, Bools]:
    """Do what `_order_and_starts` does for one column of words whose lowest bits have room for the row's number."""
    key |= np.arange(len(key), dtype=np.uint64)
    key.sort()
    order = (key & ((np.uint64(1) << below) - np.uint64(1))).view(np.int64)
    key >>= below
    return order, begins_run(key)


def _pack_columns(columns: Sequence[AnyArray], count: int, room: int) -> tuple[U64, list[AnyArray]]:
    """Pack as much of each row as fits ``room`` bits, the first column highest; also return the rest.

    A column may be split, so that every round makes progress: the numbers of a run and of a row together leave some
    bits.
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
    """Return (n,) the distance of each number from the least one.

    It wraps around where the span does not fit int64, and is then right as an unsigned number.
    """
    dtype = np.uint64 if column.dtype == np.uint64 else np.int64
    above: U64 = (column.astype(dtype, copy=False) - least.astype(dtype)).view(np.uint64)
    return above


def _break_ties(columns: Sequence[AnyArray], order: I64, is_new: Bools) -> None:
    """Order runs of rows that are equal so far by further columns."""
    is_tied = ~is_new
    is_tied[:-1] |= is_tied[1:]
    at = flatnonzero(is_tied)
    run, rows = cumsum(is_new)[at], order[at]
    order_of_tied, is_new[at] = _order_and_starts([run, *(column[rows] for column in columns)])
    order[at] = rows[order_of_tied]
