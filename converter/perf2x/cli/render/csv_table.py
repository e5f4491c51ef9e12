r"""CSV: full names, raw numbers, one heading line; lines end with ``\n``.

Spreadsheets evaluate cells that look like a formula, so an apostrophe precedes these (``'=HYPERLINK(…)``).
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from perf2x.model.printable_text import escaped

# Spreadsheets in East Asia accept full-width characters, too.
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return the rows as CSV; the first row has the headings."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def flattened(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the path and the value of every leaf of nested mappings and lists.

    The path consists of keys and indices: ``events.0.name``.
    """
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from flattened(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            yield from flattened(child, f"{path}.{index}" if path else str(index))
    else:
        yield path, value


def _cell(cell: object) -> object:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return cell
    text = escaped(cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
