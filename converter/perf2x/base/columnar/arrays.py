"""Array types, the base class of tables, numpy functions that return int64 on every platform, and growable columns.

On 32-bit platforms, numpy's own ``argsort`` and ``bincount`` return int32, whose sums and products may overflow.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]


class ColumnTable(Frozen):
    """An immutable table of equally long columns; a column may be missing (None), except the first one."""

    def __len__(self) -> int:
        return len(getattr(self, self.__struct_fields__[0]))


class SampleColumns(ColumnTable):
    """A table of samples; its columns ``time`` and ``cpu`` may be missing (None)."""

    @property
    def times(self) -> U64:
        """Times, (n,) uint64; zeros if the column is missing."""
        return self._column("time", np.uint64(0))

    @property
    def cpus(self) -> I32:
        """CPU numbers, (n,) int32; −1 if the column is missing."""
        return self._column("cpu", np.int32(-1))

    def _column(self, name: str, absent: np.generic) -> AnyArray:
        column = getattr(self, name)
        return np.full(len(self), absent, absent.dtype) if column is None else column


Table = TypeVar("Table", bound=Struct)
Number = TypeVar("Number", bound=np.generic)


def take_rows_of(table: Table, rows: I64 | Bools | slice) -> Table:
    """Return a table of the given rows, in the given order; a missing column (None) stays missing."""
    columns = {name: getattr(table, name) for name in table.__struct_fields__}
    return replace(table, **{name: column[rows] for name, column in columns.items() if column is not None})


def column_type(table_class: type[Struct], column: str) -> Any:
    """Return the numpy scalar type that a table class declares for a column; int64 if it declares AnyArray."""
    declared: Any = _annotation(table_class, column)
    # the scalar type is the innermost argument; how deeply it is nested depends on the version of numpy
    while arguments := get_args(declared):
        declared = arguments[-1]
    return np.int64 if declared is Any else declared


def _annotation(table_class: type[Struct], column: str) -> Any:
    return next(base.__annotations__[column] for base in table_class.__mro__ if column in base.__annotations__)


def no_rows(table_class: type[Table]) -> Table:
    """Return an empty table of a class; columns with a default get the default."""
    required = table_class.__struct_fields__[
        : len(table_class.__struct_fields__) - len(table_class.__struct_defaults__)
    ]
    return table_class(**{column: _no_values(table_class, column) for column in required})


def _no_values(table_class: type[Struct], column: str) -> Any:
    join = getattr(_annotation(table_class, column), "joined", None)
    return join(()) if join else np.zeros(0, column_type(table_class, column))


def row_slices(count: int, at_once: int) -> Iterator[slice]:
    """Divide ``count`` rows into slices of at most ``at_once`` rows."""
    return (slice(start, min(start + at_once, count)) for start in range(0, count, at_once))


_INT32_MIN, _INT32_MAX = np.iinfo(np.int32).min, np.iinfo(np.int32).max
_IS_32_BIT = np.intp is not np.int64


def as_intp(numbers: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Return whole numbers as intp, numpy's type for indices and counts.

    On 32-bit platforms, int64 numbers that are out of range are clipped.
    """
    if _IS_32_BIT and (wide := np.asarray(numbers)).dtype == np.int64:
        numbers = wide.clip(_INT32_MIN, _INT32_MAX)
    return np.asarray(numbers, np.intp)


def take(
    values: npt.NDArray[Number], rows: AnyArray, mode: Literal["raise", "clip"] = "raise", axis: int | None = None
) -> npt.NDArray[Number]:
    """Do what np.take does, with indices of any integer type."""
    return values.take(as_intp(rows), axis, mode=mode)


def repeat(values: npt.ArrayLike, counts: npt.ArrayLike) -> AnyArray:
    """Return each value as often as its count says: values 5 7 8 with counts 2 0 1 become 5 5 8."""
    return np.repeat(values, as_intp(counts))


def bincount(values: AnyArray, at_least: int = 0) -> I64:
    """Return how often each number from 0 on occurs, in at least ``at_least`` entries: 1 3 1 becomes 0 2 0 1."""
    return np.bincount(as_intp(values), minlength=at_least).astype(np.int64, copy=False)


def arange(*bounds: int) -> I64:
    """Do what np.arange does, for int64."""
    return np.arange(*bounds, dtype=np.int64)


def zeros(shape: int | tuple[int, ...]) -> I64:
    """Return int64 zeros."""
    return np.zeros(shape, np.int64)


def minus_ones(shape: int | tuple[int, ...]) -> I64:
    """Return int64 numbers −1, which stand for "none"."""
    return np.full(shape, -1, np.int64)


def falses(shape: int | tuple[int, ...]) -> Bools:
    """Return a boolean array of False."""
    return np.zeros(shape, np.bool_)


def trues(shape: int | tuple[int, ...]) -> Bools:
    """Return a boolean array of True."""
    return np.ones(shape, np.bool_)


def as_int64(values: npt.ArrayLike) -> I64:
    """Return a copy of numbers as int64. Numbers of an array that are out of range wrap around."""
    return np.array(values, np.int64)


def as_int32(values: npt.ArrayLike) -> I32:
    """Do what ``as_int64`` does, for int32."""
    return np.array(values, np.int32)


def as_uint64(values: npt.ArrayLike) -> U64:
    """Do what ``as_int64`` does, for uint64."""
    return np.array(values, np.uint64)


def flatnonzero(values: AnyArray) -> I64:
    """Return the indices of nonzero values, ascending."""
    return values.ravel().nonzero()[0].astype(np.int64, copy=False)


def searchsorted(values: AnyArray, targets: npt.ArrayLike, side: Literal["left", "right"] = "left") -> I64:
    """Return for each target the index at which to insert it into the ascending values."""
    return values.searchsorted(targets, side).astype(np.int64, copy=False)


def argsort(values: AnyArray) -> I64:
    """Return (n,) the indices that sort values stably."""
    return values.argsort(kind="stable").astype(np.int64, copy=False)


def lexsort(columns: Sequence[AnyArray]) -> I64:
    """Return (n,) the indices that sort rows stably by their columns. The last column is the primary key."""
    return np.lexsort(columns).astype(np.int64, copy=False)


def cumsum(values: npt.ArrayLike) -> I64:
    """Return (n,) the sum of each value and all before it."""
    return np.cumsum(values, dtype=np.int64)


def sum_of(values: AnyArray) -> int:
    """Return the sum of whole numbers, or the number of True values."""
    return int(values.sum(dtype=np.uint64 if values.dtype.kind == "u" else np.int64))


def sum_at(groups: AnyArray, values: AnyArray, count: int) -> AnyArray:
    """Return the sum of the values in each of ``count`` groups, in the dtype of the values.

    ``groups`` 0 2 0 with ``values`` 5 6 7 and ``count`` 3 become 12 0 6. Shapes: ``groups`` (n,), ``values`` (n,) or
    (n, m); returns (count,) or (count, m).
    """
    sums = np.zeros((count, *values.shape[1:]), values.dtype)
    np.add.at(sums, groups, values)
    return sums


def new_row_numbers(is_kept: Bools) -> I32:
    """Return (n + 1,) int32: the new number of each row after rows were removed, −1 for a removed row.

    The last entry is −1, so that ``new_row_numbers(is_kept)[rows]`` translates −1, which refers to no row, to −1. For
    example, True False True becomes 0 −1 1 −1.
    """
    return np.append(np.where(is_kept, cumsum(is_kept) - 1, -1), -1).astype(np.int32)


def begins_run(*columns: AnyArray) -> Bools:
    """Return (n,) bool: whether a row differs in any column from the row before it; True for the first row."""
    first, *others = columns
    begins = np.ones(len(first), np.bool_)
    np.not_equal(first[1:], first[:-1], out=begins[1:])  # in place: columns may be very long
    for column in others:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def ends_run(*columns: AnyArray) -> Bools:
    """Return (n,) bool: whether a row differs in any column from the next row; True for the last row."""
    return of_next(begins_run(*columns), True)


def chain_ends(next_row: I64) -> I64:
    """Return (n,) int64: the last row of the chain that starts at each row.

    ``next_row`` (n,) is the row after each row in its chain, or the row itself where the chain ends::

        row         0 1 2 3
        next_row    1 3 2 3        the chains 0 → 1 → 3, and 2 alone
        result      3 3 2 3
    """
    target = next_row
    # each iteration doubles the distance from a row to its target
    while (twice_as_far := target[target]).tobytes() != target.tobytes():
        target = twice_as_far
    return target


def of_next(values: npt.NDArray[Number], last: Any) -> npt.NDArray[Number]:
    """Return (n,) the value of the next row; ``last`` for the last row."""
    shifted = np.full_like(values, last)
    shifted[:-1] = values[1:]
    return shifted


def of_previous(values: npt.NDArray[Number], first: Any) -> npt.NDArray[Number]:
    """Return (n,) the value of the previous row; ``first`` for the first row."""
    shifted = np.full_like(values, first)
    shifted[1:] = values[:-1]
    return shifted


def narrow(values: AnyArray) -> AnyArray:
    """Return whole numbers as int32 if all of them fit, to save memory; otherwise the array itself.

    Sums and products of the result may overflow.
    """
    if values.dtype == np.int32 or (len(values) and not _INT32_MIN <= values.min() <= values.max() <= _INT32_MAX):
        return values
    return values.astype(np.int32)


class GrowableColumns:
    """Equally long columns of one dtype, to which rows are appended."""

    def __init__(self, dtype: npt.DTypeLike, columns: int = 1) -> None:
        self._buffer = np.zeros((columns, 1024), dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def extend(self, *columns: AnyArray | int) -> None:
        """Append rows, given as columns; a single number instead of a column is repeated in all new rows."""
        count = max(len(column) for column in columns if not isinstance(column, int))
        end = self._used + count
        if end > self._buffer.shape[1]:
            # pages that were never written to use no memory, so a large factor costs nothing
            grown = np.empty((len(self._buffer), max(end, 4 * self._buffer.shape[1])), self._buffer.dtype)
            grown[:, : self._used] = self.matrix()
            self._buffer = grown
        for target, column in zip(self._buffer, columns, strict=True):
            target[self._used : end] = column
        self._used = end

    def shorten(self, rows: int) -> None:
        """Drop all but the first ``rows`` rows."""
        self._used = min(self._used, rows)

    def columns(self) -> Sequence[AnyArray]:
        """Return each column as a writable (rows,) view; the next ``extend`` may replace the array behind the views."""
        return list(self.matrix())

    def matrix(self) -> AnyArray:
        """Return all columns as one writable (columns, rows) view, like those of ``columns``."""
        view: AnyArray = self._buffer[:, : self._used]
        return view

    def __getitem__(self, column: int) -> AnyArray:
        view: AnyArray = self._buffer[column, : self._used]
        return view
