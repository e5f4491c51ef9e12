"""Rows of columns in the order of their contents, and rows that are alike made one."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from perf2x.columnar.arrays import I64, U64, AnyArray, Bools

Number = TypeVar("Number", bound=np.generic)

FEW = 256
"""Up to this many rows np.lexsort is quicker than packing them: a numpy call costs more than what it does."""

_WORD_BITS = 64


def unique(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Distinct values, rising, of an array of any shape: np.unique, in a tenth of its time or less.

    numpy 2.3 and later put the values into a hash set, and load numpy.ma (15 ms) to ask whether they are masked.
    """
    ordered = np.sort(values, axis=None)
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def order_of(columns: Sequence[AnyArray]) -> I64:
    """Stable order of rows by their columns of whole numbers, the first one leading; np.lexsort, several times as fast.

    Rows are packed into words that are sorted themselves: numpy does that with vector instructions, and does not order
    indices so. The row's number stands lowest, so that equal rows keep their order::

        columns   3 7     word   3 7 | 0     sorted   2 9 | 1     order   1
                  2 9            2 9 | 1              3 7 | 0             0
    """
    return _order_and_news(columns)[0]


def unique_rows(columns: Sequence[AnyArray]) -> tuple[I64, I64]:
    """Rows equal in every column made one: the first row of each kind, and the kind of each row.

    Ordered by the columns' values, the first column leading.
    """
    order, is_new = _order_and_news(columns)
    kind = np.empty(len(order), np.int64)
    kind[order] = np.cumsum(is_new) - 1
    return order[is_new], kind


def kinds_of(values: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], I64]:
    """Distinct whole numbers, rising, and the place of each value among them."""
    first, kind = unique_rows([values])
    return values[first], kind


def rows_by(values: npt.NDArray[Number]) -> Iterator[tuple[int, I64]]:
    """Each distinct whole number, rising, and the rows that have it, rising.

    One pass, however many numbers there are: comparing all rows with each of them takes the square of that.
    """
    first, kind = unique_rows([values])
    if len(first) <= 1:
        yield from ((int(values[row]), np.arange(len(values))) for row in first)
        return
    rows = order_of([kind])
    ends = np.cumsum(np.bincount(kind))
    for number, begin, end in zip(values[first].tolist(), [0, *ends.tolist()], ends.tolist(), strict=False):
        yield number, rows[begin:end]


def _order_and_news(columns: Sequence[AnyArray]) -> tuple[I64, Bools]:
    """The order, and which rows in it differ from the one before."""
    count = len(columns[0])
    if count <= FEW:
        return _of_few(columns)
    below = np.uint64((count - 1).bit_length())
    key, rest = _packed(columns, count, _WORD_BITS - int(below))
    key = np.sort(key << below | np.arange(count, dtype=np.uint64))
    order = (key & ((np.uint64(1) << below) - np.uint64(1))).astype(np.int64)
    key >>= below
    is_new = np.ones(count, np.bool_)
    np.not_equal(key[1:], key[:-1], out=is_new[1:])
    if rest and not is_new.all():
        _settle(rest, order, is_new)
    return order, is_new


def _packed(columns: Sequence[AnyArray], count: int, room: int) -> tuple[U64, list[AnyArray]]:
    """As much of each row as ``room`` bits hold, the first column highest, and what is left of the columns.

    Bits are taken from a column, not whole columns, so that every round gets on: a run's number and a row's number
    together leave some.
    """
    key = np.zeros(count, np.uint64)
    rest: list[AnyArray] = []
    for column in columns:
        if not room:
            rest.append(column)
            continue
        wide = column if column.dtype == np.uint64 else column.astype(np.int64)
        # wraps where the span does not fit int64, and is right all the same
        above = (wide - wide.min()).view(np.uint64)
        bits = int(above.max()).bit_length()
        taken = min(bits, room)
        if taken:
            key = key << np.uint64(taken) | above >> np.uint64(bits - taken)
        if taken < bits:
            rest.append(above & np.uint64((1 << (bits - taken)) - 1))
        room -= taken
    return key, rest


def _of_few(columns: Sequence[AnyArray]) -> tuple[I64, Bools]:
    """The same, column by column."""
    order = np.lexsort(columns[::-1])
    is_new = np.zeros(len(order), np.bool_)
    is_new[:1] = True
    for column in columns:
        ordered = column[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    return order, is_new


def _settle(columns: Sequence[AnyArray], order: I64, is_new: Bools) -> None:
    """Put runs of rows that are alike so far into the order of further columns."""
    is_tied = ~is_new
    is_tied[:-1] |= is_tied[1:]
    at = np.flatnonzero(is_tied)
    run, rows = np.cumsum(is_new)[at], order[at]
    order_of_tied, is_new[at] = _order_and_news([run, *(column[rows] for column in columns)])
    order[at] = rows[order_of_tied]
