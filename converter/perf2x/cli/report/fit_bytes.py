"""Makes the report that fits a number of bytes: parts become smaller until it does."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from perf2x.base.errors import OptionError
from perf2x.cli.report.next_steps import as_facts, next_steps
from perf2x.cli.report.report_facts import Limits
from perf2x.cli.report.report_markdown import report_markdown

LEAST = 8_000
"""Bytes that any report fits, whatever the names."""
_NARROWEST = 12


def check_size(most: int) -> None:
    """Raise OptionError for a number of bytes that not every report fits."""
    if most < LEAST:
        raise OptionError(f"--max-bytes {most}: not every report fits fewer than {LEAST:,} bytes")


def fitted_report(make_facts: Callable[[Limits], dict[str, Any]], shape: str, rows: int, most: int) -> str:
    """Return the report as ``markdown`` or ``json``, of at most ``most`` bytes of UTF-8 (at least LEAST)."""
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


def _text(facts: dict[str, Any], shape: str) -> str:
    steps = [*next_steps(facts, facts.pop("advice"))]
    if shape == "json":
        return json.dumps(facts | {"next": as_facts(steps)}, indent=1) + "\n"
    return "".join(f"{line}\n" for line in report_markdown(facts, steps))
