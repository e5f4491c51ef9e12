"""Prints a command's result in the formats of ``--format``: table, json, markdown and csv."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.render.markdown_table import Section, code, escape_tildes, markdown_document
from perf2x.cli.render.screen import Screen, standard_output
from perf2x.cli.render.text_table import MAX_HEADING, Column, Layout, name_column, table_lines, without_bars
from perf2x.model.printable_text import short

if TYPE_CHECKING:
    from perf2x.tools.tables.result_table import ResultTable

# Maximum length of an event's name above a table, in characters.
_EVENT_WIDTH = 60


class Report(Frozen):
    """The result of a command. Each field is a function that makes the output in one format."""

    lines: Callable[[Screen], Iterable[str]]
    """Returns lines for a terminal, with recorded names escaped."""
    facts: Callable[[], dict[str, Any]]
    """Returns the value for JSON."""
    markdown: Callable[[], Iterable[str]] = tuple
    """Returns lines of Markdown."""
    rows: Callable[[], Iterable[Sequence[object]]] | None = None
    """Returns the rows for CSV, after a row of headings. None: the CSV has a row for each value in the JSON, with
    its path.
    """


def table_report(
    table: "ResultTable",
    title: str,
    layouts: Callable[[Any], Sequence[Layout]],
    facts: Callable[[Any], dict[str, Any]],
    notes: Iterable[str] = (),
    lines_before: Iterable[str] = (),
) -> Report:
    """Return the report of a command whose result is one table; notes are for Markdown only."""

    def rows() -> Iterator[Sequence[object]]:
        yield "event", "unit", *table.columns
        for row in zip(*table.columns.values(), strict=True):
            yield table.whole.event, table.whole.unit, *row

    return Report(
        lambda screen: lines_on_screen(table, layouts(table), screen),
        lambda: facts(table),
        lambda: chain(lines_before, markdown_document(title, [markdown_section(table, layouts(table), notes)])),
        rows,
    )


def side_columns(table: Any) -> tuple[list[Column], list[Column], Column]:
    """Return the columns of ``top`` and ``diff`` next to costs: other events and ratios; objects, if any; names."""
    other_events = [Column(short(head, MAX_HEADING), texts) for head, texts in table.other_column_cells.items()]
    has_objects = table.by in ("function", "data-object")
    objects = [name_column("object", [row.object or "–" for row in table.rows], "dim")] if has_objects else []
    return other_events, objects, name_column(table.by, [row.name for row in table.rows])


def lines_on_screen(table: "ResultTable", layouts: Sequence[Layout], screen: Screen) -> Iterator[str]:
    """Yield a heading with the event and its total, then the table in the layout that fits the screen."""
    yield from screen.sentence(f"{short(table.whole.event, _EVENT_WIDTH)}: {table.totals_note}", "bold")
    yield from table_lines(layouts, screen) if len(table) else filter(None, [table.no_rows_note])


def markdown_section(table: "ResultTable", layouts: Sequence[Layout], notes: Iterable[str] = ()) -> Section:
    """Return a table in its widest layout, below a line with the event, its total and ``notes``, which are Markdown."""
    heading = f"{code(table.whole.event, _EVENT_WIDTH)}: {escape_tildes(table.totals_note)}"
    no_rows_note = "" if len(table) else table.no_rows_note
    layout = [column if column.head else column.with_head("share") for column in without_bars(layouts)[0]]
    return Section("; ".join(filter(None, [heading, no_rows_note, *notes])), layout)


def print_report(report: Report, output_format: str, *, wide: bool = False) -> None:
    """Print the report on standard output as table, json, markdown or csv; with ``wide``, lines may have any length."""
    if output_format == "json":
        import json

        text = json.dumps(report.facts(), indent=2) + "\n"
    elif output_format == "csv":
        from perf2x.cli.render.csv_table import csv_text, flattened

        text = csv_text(report.rows() if report.rows else [("key", "value"), *flattened(report.facts())])
    else:
        lines = report.markdown() if output_format == "markdown" else report.lines(standard_output(wide=wide))
        text = "".join(f"{line}\n" for line in lines)
    print_report_text(text)


def print_report_text(text: str) -> None:
    """Print text on standard output; characters that its encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
