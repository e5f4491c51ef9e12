"""Makes the report that fits a number of bytes: parts become smaller until it does."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perf2x.analysis.report.report_tables import report_tables
from perf2x.base.errors import OptionError
from perf2x.cli.render.screen import Screen
from perf2x.cli.report.next_steps import as_facts, next_steps
from perf2x.cli.report.report_facts import Limits, report_facts
from perf2x.cli.report.report_page import markdown_page, terminal_page

if TYPE_CHECKING:
    from perf2x.cli.diff.gate_outcome import Verdict
    from perf2x.pipeline.load_result import Loaded

LEAST = 8_000
"""Bytes that any report fits, whatever the names."""
_NARROWEST = 12


def check_size(most: int) -> None:
    """Raise OptionError for a number of bytes that not every report fits."""
    if most < LEAST:
        raise OptionError(f"--max-bytes {most}: not every report fits fewer than {LEAST:,} bytes")


def report_text(
    loaded: "Loaded",
    sources: Sequence[str],
    value: str,
    shape: str | Screen,
    rows: int,
    most: int,
    difference: Callable[[Limits], dict[str, Any]] | None = None,
    verdict: "Verdict | None" = None,
    columns: Sequence[str] = (),
) -> str:
    """Return the report about a recording; ``difference`` gives what changed, ``columns`` are other events and ratios.
    The rest is as in ``fitted_report``."""
    tables = report_tables(loaded.profile, value, rows, columns)

    def facts(size: Limits) -> dict[str, Any]:
        changed, judged = difference(size) if difference else None, verdict.facts(size) if verdict else None
        return report_facts(loaded, tables, sources, changed, size, judged)

    return fitted_report(facts, shape, rows, most)


def fitted_report(make_facts: Callable[[Limits], dict[str, Any]], shape: str | Screen, rows: int, most: int) -> str:
    """Return the report as ``markdown``, ``json`` or for a screen, at most ``most`` bytes of it (at least LEAST)."""
    for size in sizes(rows):
        text = _text(make_facts(size), shape)
        if len(text.encode()) <= most:
            break
    return text


def sizes(rows: int) -> Iterator[Limits]:
    """Sizes to try, from large to small."""
    size = Limits(rows, 3, 12, 120)
    yield size
    while size.rows or size.width > _NARROWEST:
        width = max(size.width // 2, _NARROWEST)
        size = Limits(size.rows // 2, max(size.callers - 1, 1), max(size.frames // 2, 3), width)
        yield size


def _text(facts: dict[str, Any], shape: str | Screen) -> str:
    steps = [*next_steps(facts, facts.pop("advice"))]
    if shape == "json":
        return json.dumps(facts | {"next": as_facts(steps)}, indent=1) + "\n"
    lines = terminal_page(facts, steps, shape) if isinstance(shape, Screen) else markdown_page(facts, steps)
    return "".join(f"{line}\n" for line in lines)
