"""Rows of different lengths as two arrays; all index arithmetic on them is in this module. ::

rows      [a b c]  []  [d e]
values     a b c        d e          all rows concatenated
offsets    0     3 3        5        row i is values[offsets[i] : offsets[i + 1]]
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
    """``n`` rows: ``offsets`` (n + 1,) int64, ascending from 0; ``values`` (offsets[-1],) of any dtype."""

    offsets: I64
    values: AnyArray

    @classmethod
    def of_empty_rows(cls, count: int, dtype: npt.DTypeLike) -> "ListArray":
        """Return rows without entries."""
        return cls(np.zeros(count + 1, np.int64), np.zeros(0, dtype))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> I64:
        """(n,) int64: number of entries in each row."""
        return np.diff(self.offsets)

    def row(self, index: int) -> AnyArray:
        """The entries of one row, a view."""
        return self.values[int(self.offsets[index]) : int(self.offsets[index + 1])]

    def rows(self) -> Iterable[AnyArray]:
        """Yield every row; for tests and small tables, never for samples."""
        return (self.row(i) for i in range(len(self)))

    @classmethod
    def of(cls, values: AnyArray, starts: I64, lengths: I64) -> "ListArray":
        """Return the rows ``values[start : start + length]``, copied."""
        return cls(offsets_of(lengths), take(values, ranges(starts, lengths)))

    def heads(self, lengths: I64) -> "ListArray":
        """Return the first ``lengths`` (n,) values of each row."""
        return ListArray.of(self.values, self.offsets[:-1], lengths)

    def numbers_at(self, offset: int, dtype: npt.DTypeLike, rows: I64 | slice = slice(None)) -> AnyArray:
        """Return (rows,) the number at ``offset`` of each row of bytes; bytes beyond a row's end count as zeros."""
        kind = np.dtype(dtype)
        place = arange(kind.itemsize) + offset
        inside = place < self.lengths[rows, None]
        octets = np.append(self.values, np.uint8(0))
        at = np.where(inside, self.offsets[:-1][rows, None] + place, len(self.values))
        return octets[at].astype(np.uint8).reshape(-1).view(kind)

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
    """``n`` rows, many of them equal: ``number`` (n,) int32 indexes ``table``, which has each row once."""

    number: I32
    table: ListArray

    def __len__(self) -> int:
        return len(self.number)

    @classmethod
    def joined(cls, parts: "Sequence[SharedRows]") -> "SharedRows":
        """Return a column of the rows of every part, in order."""
        begins = offsets_of(np.array([len(part.table) for part in parts], np.int64))[:-1]
        numbers = [part.number + begin for part, begin in zip(parts, begins, strict=True)]
        none = np.zeros(0, np.int32)
        return cls(np.concatenate([none, *numbers]).astype(np.int32), ListArray.joined([part.table for part in parts]))

    def __getitem__(self, rows: I64) -> "SharedRows":
        return SharedRows(self.number[rows], self.table)


def offsets_of(lengths: AnyArray) -> I64:
    """Return the offsets (n + 1,) of lengths (n,): 3 0 2 becomes 0 3 3 5."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def ranges(starts: I64, lengths: I64) -> I64:
    """Return start, start + 1, … for every row, end to end.

    ::

        starts   10   40        lengths   3   2
        result   10 11 12 40 41
    """
    if not lengths.all():
        filled = flatnonzero(lengths)
        starts, lengths = take(starts, filled), take(lengths, filled)
    if not len(starts):
        return np.zeros(0, np.int64)
    offsets = offsets_of(lengths)
    # steps from each value to the next, which is quicker than repeating starts
    result: I64 = np.ones(offsets[-1], np.int64)
    result[0] = starts[0]
    result[offsets[1:-1]] = starts[1:] - starts[:-1] - lengths[:-1] + 1
    return np.cumsum(result, dtype=np.int64, out=result)


def end_to_end(values: AnyArray, starts: I64, lengths: I64) -> AnyArray:
    """Return values[start : start + length] of every row, end to end; a view if they already lie that way."""
    ends = starts + lengths
    if len(starts) and np.array_equal(ends[:-1], starts[1:]):
        return values[starts[0] : ends[-1]]
    return take(values, ranges(starts, lengths))


def row_numbers(lengths: I64) -> I64:
    """Return the row that each value belongs to: lengths 3 0 2 become 0 0 0 2 2."""
    return repeat(arange(len(lengths)), lengths)


def row_batches(lengths: I64, limit: int) -> Iterator[I64]:
    """Yield runs of row numbers with about ``limit`` entries each, so that the work on a run stays in the CPU cache.

    ::

        lengths   2 3 4 0 9      limit 8, where a row counts one more than its length
        runs      0 1 | 2 3 | 4
    """
    ends = cumsum(lengths + 1)
    cuts = searchsorted(ends, arange(limit, ends[-1], limit), "right") if len(ends) else np.zeros(0, np.int64)
    bounds = sorted({0, *cuts.tolist(), len(lengths)})
    return (arange(first, last) for first, last in pairwise(bounds))


def argsort_small(numbers: I64) -> I64:
    """Return the stable order of small nonnegative numbers (lengths, depths); numpy radix-sorts 16-bit numbers."""
    return argsort(numbers.astype(np.uint16) if numbers.max(initial=0) < 1 << 16 else numbers)


def join_columns(parts: Sequence[Any]) -> Any:
    """Return a column of the rows of every part, in order: arrays, columns with a ``joined`` method, or None."""
    return None if parts[0] is None else getattr(parts[0], "joined", np.concatenate)(parts)


def join_tables(tables: Sequence[Table]) -> Table:
    """Return a table of the rows of every table, in order; all have the same columns."""
    names = tables[0].__struct_fields__
    return type(tables[0])(**{name: join_columns([getattr(table, name) for table in tables]) for name in names})


def side_by_side(parts: Sequence[ListArray]) -> ListArray:
    """Join tables of equally many rows row by row; all values get the dtype of the first part.

    ::

        parts     [a b] [] [c]     [x] [y z] []
        result    [a b x] [y z] [c]
    """
    offsets: I64 = np.sum([part.offsets for part in parts], axis=0, dtype=np.int64)
    values = np.empty(offsets[-1], parts[0].values.dtype)
    start = offsets[:-1].copy()
    for part in parts:
        values[ranges(start, part.lengths)] = part.values
        start += part.lengths
    return ListArray(offsets, values)
