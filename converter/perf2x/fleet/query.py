"""Runs SQL on a dataset with DuckDB, and returns rows batch by batch.

Statements other than queries are refused before they run, and DuckDB refuses to open files. Arrow values become values
that every output has: ids in hexadecimal, times as texts, whole decimals as numbers.
"""

import contextlib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import OptionError
from perf2x.sources.dataset.dataset_address import parse_address
from perf2x.sources.dataset.dataset_schema import arrow
from perf2x.sources.dataset.read.dataset_part import DatasetPart
from perf2x.sources.dataset.sql.duckdb_engine import address_space, engine, query_errors
from perf2x.sources.dataset.sql.query_limits import QueryLimits

if TYPE_CHECKING:
    import pyarrow

_ROWS = 10_000
"""Rows of a batch."""

Row = tuple[object, ...]
"""Plain values: texts, numbers, lists and mappings of them, None."""


class Answer(Frozen):
    """Columns of a result, and its rows, which can be read once."""

    schema: "pyarrow.Schema"
    batches: "Iterator[pyarrow.RecordBatch]"

    def rows(self) -> Iterator[Row]:
        """Yield all rows."""
        for batch in self.batches:
            yield from _rows_of(batch)

    def first_rows(self, limit: int) -> tuple[list[Row], int]:
        """Return the first rows, all of them for 0, and the number of remaining rows."""
        shown: list[Row] = []
        total = 0
        for batch in self.batches:
            room = limit - len(shown) if limit else len(batch)
            shown += _rows_of(batch.slice(0, room))
            total += len(batch)
        return shown, total - len(shown)


def _rows_of(batch: "pyarrow.RecordBatch") -> Iterator[Row]:
    return zip(*(_plain_column(column) for column in batch.columns), strict=True)


@contextlib.contextmanager
def answered(dataset: str | Path, sql: str, limits: QueryLimits | None = None) -> Iterator[Answer]:
    """Run SQL on a dataset, or on the part selected by tags after a question mark, and return its result.

    Raises FormatError if the dataset is missing or damaged, OptionError for SQL that is wrong or not read-only.
    """
    address_space(str(dataset))  # deltalake's threads hang if there is too little
    part = DatasetPart(parse_address(str(dataset)))
    with engine(part, sql, limits) as connection:
        check_reads(connection, sql)
        rows = connection.sql(sql).to_arrow_reader(_ROWS)
        batches = _batches(part.tables.root, rows)
        first = list(islice(batches, 1))
        yield Answer(rows.schema, chain(first, batches))


def _batches(root: str, rows: Any) -> "Iterator[pyarrow.RecordBatch]":
    with query_errors(root):
        yield from rows


_KINDS = frozenset(("SELECT", "EXPLAIN", "MULTI"))
"""DuckDB's kinds of statements that may run; a PIVOT is MULTI."""


def check_reads(connection: Any, sql: str) -> None:
    """Raise OptionError for anything but one query; DuckDB itself refuses to open files."""
    kinds = [one.type.name for one in connection.extract_statements(sql)]
    if not kinds:
        raise OptionError("give an SQL statement, such as 'SELECT * FROM by_function'")
    if len(kinds) > 1:
        raise OptionError("only one SQL statement can be run at a time")
    if kinds[0] not in _KINDS:
        raise OptionError(f"only queries are allowed, not {kinds[0]}")


def _plain_column(column: "pyarrow.Array") -> list[object]:
    """Return the values of a column; None for null and NaN."""
    pa = arrow()
    if pa.types.is_timestamp(column.type):
        return list(_times(column))
    return [_plain(value) for value in column.to_pylist(maps_as_pydicts="lossy")]


def _plain(value: Any) -> object:
    """Return a value as text, number, boolean, list or mapping."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return str(value)


def _times(column: "pyarrow.Array") -> Iterator[str | None]:
    """Yield times as ISO 8601, in UTC if they have a zone, so that no time zone table is needed."""
    zone = "Z" if column.type.tz else ""
    ticks = column.cast(arrow().int64()).to_pylist()
    for tick in ticks:
        yield None if tick is None else f"{np.datetime64(tick, column.type.unit)}{zone}"
