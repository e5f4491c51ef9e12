"""Checks what columns' types do not say: values of a recording's row, and ids of its objects."""

from collections.abc import Iterable
from typing import Any

from perf2x.base.errors import FormatError


def check_row(row: dict[str, Any], source: str) -> None:
    """FormatError for values that no recording has."""
    for name in ("samples", "lost", "duration_ns", "clock_start_ns", "cpus", "missing_bytes"):
        if (row[name] or 0) < 0:
            raise FormatError(f"{source}: damaged: {name} is {row[name]}")
    events = max(1, len(row["events"]))
    if not 0 <= row["default_event"] < events:
        raise FormatError(f"{source}: damaged: default_event is {row['default_event']} of {events} events")
    check_build_ids([row["kernel_build_id"]], source)


def check_build_ids(texts: Iterable[str], source: str) -> None:
    """FormatError for a build id that is not hexadecimal."""
    for text in texts:
        try:
            bytes.fromhex(text)
        except ValueError:
            raise FormatError(f"{source}: damaged: not a build id: {text[:64]!r}") from None
