"""Columns of numpy as Arrow arrays."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.unique import unique_known
from perf2x.model.printable_text import printable
from perf2x.storage.dataset.dataset_schema import arrow, schema_of

if TYPE_CHECKING:
    import pyarrow


def same_text(text: str, count: int) -> Any:
    """A column with the same text in all rows."""
    pa = arrow()
    numbers = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(numbers, pa.array([text], pa.string())).cast(pa.string())


def texts(known: Sequence[str], rows: AnyArray) -> Any:
    """A column of texts: ``known[rows[i]]``, null for the row −1; undecodable bytes are written as ``\\xNN``."""
    pa = arrow()
    used, place = unique_known(rows.astype(np.int64))
    words = pa.array([printable(known[row]) for row in used.tolist()], pa.string())
    return words.take(pa.array(place.astype(np.int32), mask=place < 0))


def nulls(table: str, column: str, count: int) -> Any:
    """A column of nulls."""
    return arrow().nulls(count, schema_of(table).field(column).type)


def table_of(name: str, columns: Mapping[str, Any]) -> "pyarrow.Table":
    """Make a table, whose columns must be those of its schema."""
    pa, schema = arrow(), schema_of(name)
    arrays = [pa.array(columns[field.name], field.type) if isinstance(columns[field.name], np.ndarray | list)
              else columns[field.name] for field in schema]  # fmt: skip
    return pa.table(arrays, schema=schema)
