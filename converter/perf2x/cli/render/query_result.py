"""The result of ``perf2x fleet query`` in every format. All but tables are written as rows arrive, to save memory."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from perf2x.cli.render.csv_table import csv_text
from perf2x.cli.render.markdown_table import Section, markdown_document
from perf2x.cli.render.screen import Screen
from perf2x.cli.render.text_table import Column, Layout, name_column, table_lines
from perf2x.fleet.query import QueryResult

_ROWS_AT_ONCE = 1000


def _write_csv(result: QueryResult, out: BinaryIO) -> None:
    out.write(csv_text([result.schema.names]).encode())
    rows = result.rows()
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        out.write(csv_text([map(_text, row) for row in chunk]).encode())


def _write_json(result: QueryResult, out: BinaryIO) -> None:
    """Write an object per row, each on a line; of columns with equal names, only the last is written."""
    separator = "[\n"
    for row in result.rows():
        out.write((separator + json.dumps(dict(zip(result.schema.names, row, strict=True)))).encode())
        separator = ",\n"
    out.write(b"[]\n" if separator == "[\n" else b"\n]\n")


def _write_parquet(result: QueryResult, out: BinaryIO) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(out, result.schema, compression="zstd") as writer:
        for batch in result.batches:
            writer.write_batch(batch)


WRITERS: dict[str, Callable[["QueryResult", BinaryIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
"""Functions that write a result as its rows arrive, by format."""


def first_rows(result: QueryResult, limit: int) -> tuple[Layout, int]:
    """Return the first ``limit`` rows (0: all) of a result as columns of a table, and the number of rows left out."""
    rows, left_out = result.first_rows(limit)
    columns = list(zip(*rows, strict=True)) or [()] * len(result.schema.names)
    return [_column(name, cells) for name, cells in zip(result.schema.names, columns, strict=True)], left_out


def text_lines(layout: Layout, screen: Screen) -> Iterable[str]:
    """Return the lines of a table on a screen."""
    return table_lines([layout], screen) if layout else ()


def markdown_lines(layout: Layout) -> Iterator[str]:
    """Yield lines of a table in Markdown, without a heading."""
    lines = markdown_document("", [Section("", layout)])
    yield from islice(lines, 2, None)  # the heading and the empty line after it are left out


def _column(name: str, cells: Sequence[object]) -> Column:
    present = [cell for cell in cells if cell is not None]
    texts = ["" if cell is None else str(_text(cell)) for cell in cells]
    is_number = bool(present) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in present)
    return Column(name, texts) if is_number else name_column(name, texts)


def _text(cell: object) -> object:
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, bool | list | dict) else cell
