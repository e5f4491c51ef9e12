"""CSV: whole names, raw numbers, one heading line; lines end with ``\\n``.

A recording is foreign data, and spreadsheets run cells that begin like a formula: such a name gets an apostrophe in
front (``'=HYPERLINK(…)``). Names as they were recorded are in the JSON.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perf2x.tables.printable import plain

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""The wide ones count in East Asian versions."""


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """The rows, headings first; texts are made harmless, numbers stay as they are."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def flattened(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Every plain value below ``value`` with its path: ``events.0.name``, as in the JSON."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from flattened(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from flattened(one, f"{path}.{number}" if path else str(number))
    else:
        yield path, value


def _cell(cell: object) -> object:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return cell
    text = plain(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
