"""Converts numpy columns to Arrow arrays, and back."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.columnar import I64, AnyArray, as_int32, as_int64, unique_known
from perf2x.model.printable_text import printable, undo_printable
from perf2x.sources.dataset.dataset_schema import arrow, schema_of

if TYPE_CHECKING:
    import pyarrow


def string_column(strings: Sequence[str], rows: AnyArray) -> Any:
    r"""Return an Arrow array of the strings ``strings[rows[i]]``, null for row −1.

    Bytes that are not UTF-8 are written as ``\xNN``, because Arrow's strings must be UTF-8.
    """
    pa = arrow()
    used_rows, inverse = unique_known(as_int64(rows))
    distinct = pa.array([printable(strings[row]) for row in used_rows.tolist()], pa.string())
    return distinct.take(pa.array(as_int32(inverse), mask=inverse < 0))


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Apply ``change`` to all strings in a JSON-like value, except keys of dicts; lists become tuples."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_strings(item, change) for key, item in value.items()}
    return tuple(map_strings(item, change) for item in value) if isinstance(value, list | tuple) else value


def list_column(offsets: I64, values: Any, is_null: AnyArray | None = None) -> Any:
    """Return an Arrow array of n lists, ``values[offsets[i] : offsets[i + 1]]``; null where ``is_null`` (n,) holds."""
    pa = arrow()
    mask = None if is_null is None else pa.array(is_null)
    return pa.ListArray.from_arrays(pa.array(as_int32(offsets)), values, mask=mask)


def null_if_negative(numbers: AnyArray) -> Any:
    """Make an Arrow array with null in place of negative numbers."""
    return arrow().array(numbers, mask=numbers < 0)


def table_of(name: str, columns: Mapping[str, Any]) -> "pyarrow.Table":
    """Make rows of the table ``name`` from its columns; None stands for a column of nulls.

    uint64 is stored as int64 with the same bits.
    """
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
    """Return a column of numbers or booleans, (n,), with ``missing`` in place of null."""
    column = as_one_array(table, name)
    if column.null_count:
        column = column.fill_null(arrow().scalar(missing).cast(column.type))  # the cast makes it a boolean if need be
    result: AnyArray = column.to_numpy(zero_copy_only=False)
    return result


def has_value(table: "pyarrow.Table", name: str) -> AnyArray:
    """Return (n,) whether the column is not null."""
    result: AnyArray = as_one_array(table, name).is_valid().to_numpy(zero_copy_only=False)
    return result


def string_codes(table: "pyarrow.Table", name: str) -> tuple[AnyArray, list[str]]:
    """Return a column of strings as (n,) indices in a list of distinct strings (−1 for null), and that list.

    The strings are as recorded, undecodable bytes included.
    """
    return encode_strings(as_one_array(table, name))


def encode_strings(column: Any) -> tuple[AnyArray, list[str]]:
    """Do what ``string_codes`` does, for an Arrow array."""
    encoded = column if arrow().types.is_dictionary(column.type) else column.dictionary_encode()
    indices = (
        encoded.indices.fill_null(-1) if encoded.null_count else encoded.indices
    )  # fill_null imports pandas, so it is called only where there are nulls
    codes: AnyArray = indices.to_numpy(zero_copy_only=False)
    return as_int64(codes), [undo_printable(text) for text in encoded.dictionary.to_pylist()]


def rows_of_table(table: "pyarrow.Table", rows: I64) -> "pyarrow.Table":
    """Select rows of a table.

    The row numbers are passed as a buffer. For a numpy array, Arrow would import numpy.ma (15 ms) to check for masks.
    """
    pa = arrow()
    return table.take(pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))]))


def as_one_array(table: "pyarrow.Table", name: str) -> Any:
    """Join the chunks of a column to one Arrow array."""
    column = table[name]
    if arrow().types.is_dictionary(column.type) and column.num_chunks > 1:
        column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
