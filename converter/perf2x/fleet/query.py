"""Answers of DuckDB to SQL about a dataset, a batch of rows at a time."""

import contextlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.fleet.read_only_sql import check_reads
from perf2x.fleet.sql_values import plain_column
from perf2x.storage.dataset.fetched_dataset import fetched_folder
from perf2x.storage.dataset.listed_files import until_whole
from perf2x.storage.dataset.sql.duckdb_engine import Limits, engine, told_apart

if TYPE_CHECKING:
    import pyarrow

_ROWS = 10_000
"""Rows of a batch."""

Row = tuple[object, ...]
"""Plain values: texts, numbers, lists and mappings of them, None."""


class Answer(Struct, frozen=True):
    """Columns of an answer, and its rows, which are read once."""

    schema: "pyarrow.Schema"
    batches: "Iterator[pyarrow.RecordBatch]"

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns; two may be equal."""
        return list(self.schema.names)

    def rows(self) -> Iterator[Row]:
        """Yield all rows."""
        for batch in self.batches:
            yield from _rows_of(batch)

    def first_rows(self, limit: int) -> tuple[list[Row], int]:
        """Return the first rows, all of them for 0, and the number of rows that are left out."""
        shown: list[Row] = []
        total = 0
        for batch in self.batches:
            room = limit - len(shown) if limit else len(batch)
            shown += _rows_of(batch.slice(0, room))
            total += len(batch)
        return shown, total - len(shown)


def _rows_of(batch: "pyarrow.RecordBatch") -> Iterator[Row]:
    return zip(*(plain_column(column) for column in batch.columns), strict=True)


@contextlib.contextmanager
def answered(dataset: str | Path, sql: str, limits: Limits | None = None) -> Iterator[Answer]:
    """Run SQL on a dataset, a folder or an address, and give its answer.

    Where files are put together meanwhile, it is run again until the first rows are there. FormatError when the dataset
    is none or damaged, OptionError for SQL that is wrong or does not only read.
    """
    with fetched_folder(str(dataset)) as folder, contextlib.ExitStack() as stack:
        yield until_whole(lambda: stack.enter_context(_asked(folder, sql, limits)))


@contextlib.contextmanager
def _asked(folder: Path, sql: str, limits: Limits | None) -> Iterator[Answer]:
    with engine(folder, sql, limits) as connection:
        check_reads(connection, sql)
        found = connection.sql(sql)
        reader = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # its name before 1.4
        rows = reader(_ROWS)
        batches = _batches(folder, rows)
        first = list(islice(batches, 1))
        yield Answer(rows.schema, chain(first, batches))


def _batches(folder: Path, rows: Any) -> "Iterator[pyarrow.RecordBatch]":
    with told_apart(folder):
        yield from rows
