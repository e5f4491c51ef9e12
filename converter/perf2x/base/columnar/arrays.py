"""Names for the array types that every table is made of, and what holds for any table of equally long columns."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]


class ColumnTable(Struct, frozen=True):
    """A table of equally long columns; the first one is always there and gives the number of rows."""

    def __len__(self) -> int:
        return len(getattr(self, self.__struct_fields__[0]))


Table = TypeVar("Table", bound=Struct)
Number = TypeVar("Number", bound=np.generic)


def take_rows_of(table: Table, rows: I64 | Bools | slice) -> Table:
    """Return the table with only ``rows`` of every column, in their order; a slice copies nothing, None stays None."""
    columns = {name: getattr(table, name) for name in table.__struct_fields__}
    return replace(table, **{name: column[rows] for name, column in columns.items() if column is not None})


def row_slices(count: int, at_once: int) -> Iterator[slice]:
    """Yield runs of rows that are worked on together, the last one as long as it is."""
    return (slice(start, min(start + at_once, count)) for start in range(0, count, at_once))


def begins_run(*columns: AnyArray) -> Bools:
    """(n,) True where a row differs in any column from the row before it, and for the first one."""
    first, *others = columns
    begins = np.ones(len(first), np.bool_)
    np.not_equal(first[1:], first[:-1], out=begins[1:])  # columns of all addresses of a file come here
    for column in others:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def ends_run(*columns: AnyArray) -> Bools:
    """(n,) True where a row differs in any column from the row behind it, and for the last one."""
    return of_next(begins_run(*columns), True)


def of_next(values: npt.NDArray[Number], last: Any) -> npt.NDArray[Number]:
    """(n,) the value of the row behind each one; ``last`` for the last one."""
    shifted = np.full_like(values, last)
    shifted[:-1] = values[1:]
    return shifted


def of_previous(values: npt.NDArray[Number], first: Any) -> npt.NDArray[Number]:
    """(n,) the value of the row before each one; ``first`` for the first one."""
    shifted = np.full_like(values, first)
    shifted[1:] = values[:-1]
    return shifted


_LEAST, _GREATEST = np.iinfo(np.int32).min, np.iinfo(np.int32).max


def narrow(values: AnyArray) -> AnyArray:
    """Return whole numbers as int32 if all of them fit, else as they are. Sums and products of them may not fit."""
    if values.dtype == np.int32 or (len(values) and not _LEAST <= values.min() <= values.max() <= _GREATEST):
        return values
    return values.astype(np.int32)
