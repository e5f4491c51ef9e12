"""Reports of commands in the formats of ``--format table|json|markdown|csv``."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from perf2x.cli.render.screen import Screen, standard_output


class Report(Struct, frozen=True):
    """A report in every format, each made on demand."""

    lines: Callable[[Screen], Iterable[str]]
    """For people; control characters of recorded names are escaped."""
    facts: Callable[[], dict[str, Any]]
    """For JSON."""
    markdown: Callable[[], Iterable[str]]
    rows: Callable[[], Iterable[Sequence[object]]]
    """For CSV, headings first."""


def print_report(report: Report, shape: str, *, wide: bool = False) -> None:
    """Print the report on standard output as table, json, markdown or csv; ``wide`` does not shorten names."""
    if shape == "json":
        import json

        text = json.dumps(report.facts(), indent=2) + "\n"
    elif shape == "csv":
        from perf2x.cli.render.csv_table import csv_text

        text = csv_text(report.rows())
    else:
        lines = report.markdown() if shape == "markdown" else report.lines(standard_output(wide=wide))
        text = "".join(f"{line}\n" for line in lines)
    print_report_text(text)


def print_report_text(text: str) -> None:
    """Print text on standard output; characters that its encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
