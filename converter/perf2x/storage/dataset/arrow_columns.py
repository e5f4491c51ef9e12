"""Columns of numpy as Arrow arrays."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.columnar.arrays import U8, AnyArray, Bools
from perf2x.base.columnar.unique import unique_known
from perf2x.model.printable_text import printable
from perf2x.storage.dataset.content_ids import WIDTH
from perf2x.storage.dataset.dataset_schema import arrow, schema_of

if TYPE_CHECKING:
    import pyarrow


def ids(rows: U8, known: Bools | None = None) -> Any:
    """A column of ids (n, 16); null where ``known`` is False."""
    pa = arrow()
    valid = None if known is None else pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
    data = pa.py_buffer(np.ascontiguousarray(rows).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(WIDTH), len(rows), [valid, data])


def same_id(one: bytes, count: int) -> Any:
    """A column with the same id in all rows."""
    return ids(np.broadcast_to(np.frombuffer(one, np.uint8), (count, WIDTH)))


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
