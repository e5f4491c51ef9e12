"""Runs SQL on a dataset with DuckDB, and returns rows batch by batch.

Arrow's values become types that every output format has: ids become hexadecimal strings, times ISO 8601 strings, and
decimals without a fraction integers.
"""

import contextlib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from importlib import import_module
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

_BATCH_ROWS = 10_000
"""Number of rows to request for a batch."""

Row = tuple[object, ...]
"""Values of one row: strings, numbers, booleans, None, and lists and dictionaries of these."""


class QueryResult(Frozen):
    """The columns of a query's result, and its rows, which can be read only once."""

    schema: "pyarrow.Schema"
    batches: "Iterator[pyarrow.RecordBatch]"

    def rows(self) -> Iterator[Row]:
        """Yield all rows."""
        for batch in self.batches:
            yield from _rows_of(batch)

    def first_rows(self, limit: int) -> tuple[list[Row], int]:
        """Return the first ``limit`` rows (0: all) and the number of rows after them."""
        rows: list[Row] = []
        row_count = 0
        for batch in self.batches:
            rows += _rows_of(batch.slice(0, limit - len(rows) if limit else len(batch)))
            row_count += len(batch)
        return rows, row_count - len(rows)


def _rows_of(batch: "pyarrow.RecordBatch") -> Iterator[Row]:
    return zip(*(_plain_column(column) for column in batch.columns), strict=True)


@contextlib.contextmanager
def run_query(dataset: str | Path, sql: str, limits: QueryLimits | None = None) -> Iterator[QueryResult]:
    """Run SQL on a dataset, or on its part with the tags after a question mark (``DIR?host=web1``); provide the result.

    Raises FormatError if the dataset is missing or damaged, OptionError for SQL that is wrong or not read-only.
    """
    # raises an error if the address space is limited (ulimit -v): deltalake's threads would hang
    address_space(str(dataset))
    part = DatasetPart(parse_address(str(dataset)))
    with engine(part, sql, limits) as connection:
        check_read_only(connection, sql)
        reader = connection.sql(sql).to_arrow_reader(_BATCH_ROWS)
        batches = _batches(part.tables.root, reader)
        first = list(islice(batches, 1))  # most errors occur here, before the caller has begun its output
        yield QueryResult(reader.schema, chain(first, batches))


def _batches(root: str, reader: Any) -> "Iterator[pyarrow.RecordBatch]":
    with query_errors(root):
        try:
            yield from reader
        except OSError as error:  # Arrow raises this for DuckDB's errors after the first batches, with their text
            module, text = import_module("duckdb"), str(error)
            kind = module.OutOfMemoryException if text.startswith("Out of Memory Error: ") else module.Error
            raise kind(text) from None


_READING_KINDS = frozenset(("SELECT", "EXPLAIN", "MULTI"))
"""DuckDB's names for the kinds of statements that may run; PIVOT is a MULTI, because it runs several statements."""


def check_read_only(connection: Any, sql: str) -> None:
    """Raise OptionError unless ``sql`` is one statement that only reads; DuckDB itself refuses to open files."""
    kinds = [statement.type.name for statement in connection.extract_statements(sql)]
    if not kinds:
        raise OptionError("give an SQL statement, such as 'SELECT * FROM by_function'")
    if len(kinds) > 1:
        raise OptionError("only one SQL statement can be run at a time")
    if kinds[0] not in _READING_KINDS:
        raise OptionError(f"only queries are allowed, not {kinds[0]}")


def _plain_column(column: "pyarrow.Array") -> list[object]:
    if arrow().types.is_timestamp(column.type):
        return list(_times(column))
    return [_plain(value) for value in column.to_pylist(maps_as_pydicts="lossy")]


def _plain(value: Any) -> object:
    """NaN and infinities become None, because JSON cannot express them."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(element) for key, element in value.items()}
    return str(value)


def _times(column: "pyarrow.Array") -> Iterator[str | None]:
    # in UTC if there is a zone, so that no time zone database is needed
    zone = "Z" if column.type.tz else ""
    ticks = column.cast(arrow().int64()).to_pylist()
    for tick in ticks:
        yield None if tick is None else f"{np.datetime64(tick, column.type.unit)}{zone}"
