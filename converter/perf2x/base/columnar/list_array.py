"""List arrays: rows of different lengths as two arrays.

::

    rows      [a b c]  []  [d e]
    values     a b c        d e          all rows concatenated
    offsets    0     3 3        5        row i is values[offsets[i] : offsets[i + 1]]

Where functions take rows as ``starts`` and ``lengths`` (n,), the rows may overlap, and need not be in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar.arrays import (
    I32,
    I64,
    AnyArray,
    Table,
    arange,
    argsort,
    cumsum,
    flatnonzero,
    repeat,
    searchsorted,
    take,
)
from perf2x.base.frozen_struct import Frozen


class ListArray(Frozen):
    """``n`` rows of different lengths."""

    offsets: I64
    """(n + 1,) ascending, from 0 to the number of values."""
    values: AnyArray
    """(offsets[-1],) of any dtype."""

    @classmethod
    def of_empty_rows(cls, count: int, dtype: npt.DTypeLike) -> "ListArray":
        """Return ``count`` rows without entries."""
        return cls(np.zeros(count + 1, np.int64), np.zeros(0, dtype))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> I64:
        """(n,) int64: the number of values in each row."""
        return np.diff(self.offsets)

    def row(self, index: int) -> AnyArray:
        """Return the values of one row, as a view."""
        return self.values[int(self.offsets[index]) : int(self.offsets[index + 1])]

    def rows(self) -> Iterable[AnyArray]:
        """Yield every row as an array: slow, so only for tests and small tables."""
        return (self.row(index) for index in range(len(self)))

    @classmethod
    def of(cls, values: AnyArray, starts: I64, lengths: I64) -> "ListArray":
        """Return a copy of the rows ``values[starts[i] : starts[i] + lengths[i]]``."""
        return cls(offsets_of(lengths), take(values, ranges(starts, lengths)))

    def truncated(self, lengths: I64) -> "ListArray":
        """Return the rows, each cut to its first ``lengths[i]`` values; no row may have fewer."""
        return ListArray.of(self.values, self.offsets[:-1], lengths)

    def numbers_at(self, offset: int, dtype: npt.DTypeLike, rows: I64 | slice = slice(None)) -> AnyArray:
        """Read a number of type ``dtype`` at ``offset`` of each of the given rows, whose values are bytes.

        Bytes beyond a row's end count as zeros. Shapes: returns (rows,).
        """
        number = np.dtype(dtype)
        offsets_in_row = arange(number.itemsize) + offset
        is_inside = offsets_in_row < self.lengths[rows, None]
        padded = np.append(self.values, np.uint8(0))
        index = np.where(is_inside, self.offsets[:-1][rows, None] + offsets_in_row, len(self.values))
        return padded[index].astype(np.uint8).reshape(-1).view(number)

    @classmethod
    def joined(cls, parts: "Sequence[ListArray]") -> "ListArray":
        """Concatenate the rows of all parts; without parts, return no rows, of uint64."""
        if not parts:
            return cls.of_empty_rows(0, np.uint64)
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(offsets_of(lengths), np.concatenate([part.values for part in parts]))

    def __getitem__(self, rows: I64) -> "ListArray":
        return ListArray.of(self.values, take(self.offsets, rows), take(self.lengths, rows))


class SharedRows(Frozen):
    """``n`` rows, of which equal ones may be stored once: row i is row ``indices[i]`` of ``table``."""

    indices: I32
    """(n,) indices of rows in ``table``."""
    table: ListArray

    def __len__(self) -> int:
        return len(self.indices)

    @classmethod
    def joined(cls, parts: "Sequence[SharedRows]") -> "SharedRows":
        """Concatenate the rows of all parts; equal rows of different parts stay stored separately."""
        begins = offsets_of(np.array([len(part.table) for part in parts], np.int64))[:-1]
        indices = [part.indices + begin for part, begin in zip(parts, begins, strict=True)]
        none = np.zeros(0, np.int32)
        return cls(np.concatenate([none, *indices]).astype(np.int32), ListArray.joined([part.table for part in parts]))

    def __getitem__(self, rows: I64) -> "SharedRows":
        return SharedRows(self.indices[rows], self.table)


def offsets_of(lengths: AnyArray) -> I64:
    """Return (n + 1,) int64: the offsets of rows with these lengths (n,). 3 0 2 becomes 0 3 3 5."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def ranges(starts: I64, lengths: I64) -> I64:
    """Return start, start + 1, … for every row, ``lengths[i]`` numbers for row i, end to end.

    ::

        starts   10   40        lengths   3   2
        result   10 11 12 40 41
    """
    if not lengths.all():
        not_empty = flatnonzero(lengths)
        starts, lengths = take(starts, not_empty), take(lengths, not_empty)
    if not len(starts):
        return np.zeros(0, np.int64)
    offsets = offsets_of(lengths)
    # the differences from each number to the next: 10 1 1 28 1; their running sum is faster than repeating starts
    result: I64 = np.ones(offsets[-1], np.int64)
    result[0] = starts[0]
    result[offsets[1:-1]] = starts[1:] - starts[:-1] - lengths[:-1] + 1
    return np.cumsum(result, dtype=np.int64, out=result)


def end_to_end(values: AnyArray, starts: I64, lengths: I64) -> AnyArray:
    """Return ``values[starts[i] : starts[i] + lengths[i]]`` of every row i, end to end.

    The result is a view if each row begins where the one before it ends, otherwise a copy.
    """
    ends = starts + lengths
    if len(starts) and np.array_equal(ends[:-1], starts[1:]):
        return values[starts[0] : ends[-1]]
    return take(values, ranges(starts, lengths))


def row_numbers(lengths: I64) -> I64:
    """Return (values,) int64: the row to which each value belongs. Lengths 3 0 2 become 0 0 0 2 2."""
    return repeat(arange(len(lengths)), lengths)


def row_batches(lengths: I64, limit: int) -> Iterator[I64]:
    """Divide rows of these lengths into runs of about ``limit`` values, so that work on a run stays in the CPU cache.

    Yields the row numbers of each run. A row counts as one value more than it has, which also limits runs of empty
    rows::

        lengths   2 3 4 0 9      limit 8
        runs      0 1 | 2 3 | 4
    """
    ends = cumsum(lengths + 1)
    cuts = searchsorted(ends, arange(limit, ends[-1], limit), "right") if len(ends) else np.zeros(0, np.int64)
    bounds = sorted({0, *cuts.tolist(), len(lengths)})
    return (arange(first, last) for first, last in pairwise(bounds))


def argsort_small(numbers: I64) -> I64:
    """Return the indices that sort nonnegative numbers stably.

    This is fast if all are below 2¹⁶: numpy sorts 16-bit numbers by radix sort.
    """
    return argsort(numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers)


def join_columns(parts: Sequence[Any]) -> Any:
    """Concatenate the parts of a column: arrays, or objects with a ``joined`` method; None if the column is missing.

    A column that is missing in one part must be missing in all.
    """
    return None if parts[0] is None else getattr(parts[0], "joined", np.concatenate)(parts)


def join_tables(tables: Sequence[Table]) -> Table:
    """Concatenate tables of the same class, column by column, as `join_columns` does."""
    names = tables[0].__struct_fields__
    return type(tables[0])(**{name: join_columns([getattr(table, name) for table in tables]) for name in names})


def side_by_side(parts: Sequence[ListArray]) -> ListArray:
    """Join list arrays of equally many rows: row i of the result is row i of each part, concatenated.

    The values get the dtype of the first part::

        parts     [a b] [] [c]     and     [x] [y z] []
        result    [a b x] [y z] [c]
    """
    offsets: I64 = np.sum([part.offsets for part in parts], axis=0, dtype=np.int64)
    values = np.empty(offsets[-1], parts[0].values.dtype)
    starts = offsets[:-1].copy()  # where the next part's values of each row go
    for part in parts:
        values[ranges(starts, part.lengths)] = part.values
        starts += part.lengths
    return ListArray(offsets, values)
