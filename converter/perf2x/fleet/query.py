"""Answers of DuckDB to SQL about a dataset, a batch of rows at a time.

SQL that reads is told from SQL that would write before any of it runs. Values of Arrow become those that every output
has: ids in hexadecimal, times as texts, whole decimals as numbers.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.errors import OptionError
from perf2x.storage.dataset.dataset_address import parse_address
from perf2x.storage.dataset.dataset_schema import arrow
from perf2x.storage.dataset.read.dataset_part import DatasetPart
from perf2x.storage.dataset.sql.duckdb_engine import Limits, address_space, duckdb, engine, told_apart

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
    return zip(*(_plain_column(column) for column in batch.columns), strict=True)


@contextlib.contextmanager
def answered(dataset: str | Path, sql: str, limits: Limits | None = None) -> Iterator[Answer]:
    """Run SQL on a dataset, or the part of it that tags behind a question mark choose, and give its answer.

    FormatError when the dataset is none or damaged, OptionError for SQL that is wrong or does not only read.
    """
    address_space(str(dataset))  # threads of deltalake wait for ever where there is too little
    part = DatasetPart(parse_address(str(dataset)))
    if part.is_empty:
        part.require()
    with engine(part, sql, limits) as connection:
        check_reads(connection, sql)
        rows = connection.sql(sql).to_arrow_reader(_ROWS)
        batches = _batches(part.tables.root, rows)
        first = list(islice(batches, 1))
        yield Answer(rows.schema, chain(first, batches))


def _batches(root: str, rows: Any) -> "Iterator[pyarrow.RecordBatch]":
    with told_apart(root):
        yield from rows


_READS = frozenset(
    ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "DESCRIBE", "DESC", "SHOW", "SUMMARIZE")
)
"""First words of statements that are run."""
_TYPES = frozenset(("SELECT", "EXPLAIN", "MULTI"))
"""DuckDB's kinds of them; a PIVOT is MULTI."""
_SPACE = r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_WORD = re.compile(_SPACE + r"(\w*)", re.DOTALL)
_EXPLAIN = re.compile(_SPACE + r"EXPLAIN\b" + _SPACE + r"(?:ANALYZE\b)?", re.DOTALL | re.IGNORECASE)


def check_reads(connection: Any, sql: str) -> None:
    """OptionError for all but one statement, and for one that might write a file or change how DuckDB runs."""
    statements: Sequence[Any] = connection.extract_statements(sql)
    if not statements:
        raise OptionError("give an SQL statement, such as 'SELECT * FROM by_function'")
    if not _is_one(sql):
        raise OptionError("only one SQL statement can be run at a time")
    word, kinds = _first_word(sql), {one.type.name for one in statements}
    if word not in _READS or not kinds <= _TYPES:
        raise OptionError(f"only queries are run: {word or min(kinds)} is not")


def _is_one(sql: str) -> bool:
    """Whether nothing stands behind a semicolon but more of them, and comments."""
    module, text = duckdb(), sql.encode()
    tokens = (text[start : start + 1] for start, kind in module.tokenize(sql) if kind != module.token_type.comment)
    return b";" not in b"".join(tokens).rstrip(b";")


def _first_word(text: str) -> str:
    """First word of a statement in upper case; of one to be explained, that of what is explained."""
    explained = _EXPLAIN.match(text)
    found = _WORD.match(text, explained.end() if explained else 0)
    return found.group(1).upper() if found else ""


def _plain_column(column: "pyarrow.Array") -> list[object]:
    """Return the values of a column; None for null, and for numbers that are none."""
    pa = arrow()
    if pa.types.is_timestamp(column.type):
        return list(_times(column))
    if pa.types.is_map(column.type):
        return [
            None if row is None else {str(_plain(key)): _plain(value) for key, value in row}
            for row in column.to_pylist()
        ]
    return [_plain(value) for value in column.to_pylist()]


def _plain(value: Any) -> object:
    """Return one value as text, number, truth, list or mapping."""
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
    """Times of a day as ISO 8601, in UTC those that have a zone: no table of zones is needed."""
    zone = "Z" if column.type.tz else ""
    ticks = column.cast(arrow().int64()).to_pylist()
    for tick in ticks:
        yield None if tick is None else f"{np.datetime64(tick, column.type.unit)}{zone}"
