"""Converts numpy columns to Arrow arrays, and back."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.columnar import I64, AnyArray, as_int32, as_int64, unique_known
from perf2x.model.printable_text import as_recorded, printable
from perf2x.sources.dataset.dataset_schema import arrow, schema_of

if TYPE_CHECKING:
    import pyarrow


def text_column(known: Sequence[str], rows: AnyArray) -> Any:
    r"""Return a column of texts: ``known[rows[i]]``, null for row −1; undecodable bytes are written as ``\xNN``."""
    pa = arrow()
    used, place = unique_known(as_int64(rows))
    words = pa.array([printable(known[row]) for row in used.tolist()], pa.string())
    return words.take(pa.array(as_int32(place), mask=place < 0))


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Apply ``change`` to all texts in a value, including those in lists (which become tuples) and mapping values."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: with_texts(one, change) for key, one in value.items()}
    return tuple(with_texts(one, change) for one in value) if isinstance(value, list | tuple) else value


def list_column(offsets: I64, values: Any, is_null: AnyArray | None = None) -> Any:
    """Return a column of lists, ``values[offsets[i] : offsets[i + 1]]``; null where ``is_null``."""
    pa = arrow()
    mask = None if is_null is None else pa.array(is_null)
    return pa.ListArray.from_arrays(pa.array(as_int32(offsets)), values, mask=mask)


def known(numbers: AnyArray) -> Any:
    """Return a column of numbers, null for those below 0."""
    return arrow().array(numbers, mask=numbers < 0)


def table_of(name: str, columns: Mapping[str, Any]) -> "pyarrow.Table":
    """Make a table from columns of its schema; None is a column of nulls. 64-bit numbers keep their bits."""
    pa, schema = arrow(), schema_of(name)
    count = len(columns[schema.names[0]])
    arrays = []
    for field in schema:
        values = columns[field.name]
        if isinstance(values, np.ndarray):
            values = values.view(np.int64) if values.dtype == np.uint64 else values
        if values is None:
            values = pa.nulls(count, field.type)
        elif isinstance(values, np.ndarray | list):
            values = pa.array(values, field.type)
        arrays.append(values if values.type == field.type else values.cast(field.type))
    return pa.table(arrays, schema=schema)


def numbers(table: "pyarrow.Table", name: str, missing: int = 0) -> AnyArray:
    """Return a column of numbers or booleans; ``missing`` replaces null."""
    column = flat(table, name)
    if column.null_count:
        column = column.fill_null(arrow().scalar(missing).cast(column.type))  # also for booleans
    result: AnyArray = column.to_numpy(zero_copy_only=False)
    return result


def is_known(table: "pyarrow.Table", name: str) -> AnyArray:
    """Return (n,) whether a column has a value."""
    result: AnyArray = flat(table, name).is_valid().to_numpy(zero_copy_only=False)
    return result


def texts(table: "pyarrow.Table", name: str) -> tuple[AnyArray, list[str]]:
    """Return (n,) code of each text, −1 for null, and the distinct texts, as they were recorded."""
    return coded(flat(table, name))


def coded(column: Any) -> tuple[AnyArray, list[str]]:
    """Do for one array what ``texts`` does for a column."""
    words = column if arrow().types.is_dictionary(column.type) else column.dictionary_encode()
    indices = (
        words.indices.fill_null(-1) if words.null_count else words.indices
    )  # fill_null with a scalar imports pandas
    codes: AnyArray = indices.to_numpy(zero_copy_only=False)
    return as_int64(codes), [as_recorded(text) for text in words.dictionary.to_pylist()]


def rows_of_table(table: "pyarrow.Table", rows: I64) -> "pyarrow.Table":
    """Return some rows of a table, without Arrow's check for masked arrays: importing numpy.ma takes 15 ms."""
    pa = arrow()
    return table.take(pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))]))


def flat(table: "pyarrow.Table", name: str) -> Any:
    """Return a column as one array."""
    column = table[name]
    if arrow().types.is_dictionary(column.type) and column.num_chunks > 1:
        column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
