"""Reports of commands in the formats of ``--format table|json|markdown|csv``."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.render.markdown_table import Section, code, escape_tildes, markdown_document
from perf2x.cli.render.screen import Screen, standard_output
from perf2x.cli.render.text_table import HEAD, Column, Layout, name_column, table_lines, without_bars
from perf2x.model.printable_text import short

if TYPE_CHECKING:
    from perf2x.tools.tables.library_tables import ResultTable

# Maximum number of characters of an event's name in a heading.
_EVENT = 60


class Report(Frozen):
    """A report in every format, each made on demand."""

    lines: Callable[[Screen], Iterable[str]]
    """Lines for people; control characters of recorded names are escaped."""
    facts: Callable[[], dict[str, Any]]
    """A function that returns the value for JSON."""
    markdown: Callable[[], Iterable[str]] = tuple
    rows: Callable[[], Iterable[Sequence[object]]] | None = None
    """Returns the rows for CSV, headings first; None: CSV has a row for each value of the JSON."""


def table_report(
    table: "ResultTable",
    title: str,
    layouts: Callable[[Any], Sequence[Layout]],
    facts: Callable[[Any], dict[str, Any]],
    notes: Iterable[str] = (),
    ahead: Iterable[str] = (),
) -> Report:
    """Return a report with one table of an event, ``title`` and ``notes`` in Markdown, after the lines ``ahead``."""

    def rows() -> Iterator[Sequence[object]]:
        yield "event", "unit", *table.columns
        for row in zip(*table.columns.values(), strict=True):
            yield table.whole.event, table.whole.unit, *row

    return Report(
        lambda screen: lines(table, layouts(table), screen),
        lambda: facts(table),
        lambda: chain(ahead, markdown_document(title, [section(table, layouts(table), notes)])),
        rows,
    )


def side_columns(table: Any) -> tuple[list[Column], list[Column], Column]:
    """Return columns of the table of ``top`` or ``diff``: other events and ratios, objects if rows have them, names."""
    beside = [Column(short(head, HEAD), cells) for head, cells in table.texts_beside.items()]
    has_objects = table.by in ("function", "data-object")
    objects = [name_column("object", [row.object or "–" for row in table.rows], "dim")] if has_objects else []
    return beside, objects, name_column(table.by, [row.name for row in table.rows])


def lines(table: "ResultTable", layouts: Sequence[Layout], screen: Screen) -> Iterator[str]:
    """Yield the lines of an event's table on a screen."""
    yield from screen.sentence(f"{short(table.whole.event, _EVENT)}: {table.measured}", "bold")
    yield from table_lines(layouts, screen) if len(table) or not table.nothing else [table.nothing]


def section(table: "ResultTable", layouts: Sequence[Layout], notes: Iterable[str] = ()) -> Section:
    """Return the table of an event in Markdown; ``notes`` are Markdown, too."""
    text = f"{code(table.whole.event, _EVENT)}: {escape_tildes(table.measured)}"
    texts = [*([] if len(table) or not table.nothing else [table.nothing]), *notes]
    layout = [column if column.head else column.called("share") for column in without_bars(layouts)[0]]
    return Section("; ".join([text, *texts]), layout)


def print_report(report: Report, shape: str, *, wide: bool = False) -> None:
    """Print the report on standard output as table, json, markdown or csv; ``wide`` does not shorten names."""
    if shape == "json":
        import json

        text = json.dumps(report.facts(), indent=2) + "\n"
    elif shape == "csv":
        from perf2x.cli.render.csv_table import csv_text, flattened

        text = csv_text(report.rows() if report.rows else [("key", "value"), *flattened(report.facts())])
    else:
        lines = report.markdown() if shape == "markdown" else report.lines(standard_output(wide=wide))
        text = "".join(f"{line}\n" for line in lines)
    print_report_text(text)


def print_report_text(text: str) -> None:
    """Print text on standard output; characters that its encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
