r"""CSV: full names, raw numbers, one heading line; lines end with ``\n``.

Recordings are untrusted, and spreadsheets evaluate cells that look like a formula. So an apostrophe is put in front of
such a string (``'=HYPERLINK(…)``). JSON output has names as recorded.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from perf2x.model.printable_text import escaped

# Characters that begin a formula; the last four are full-width, which spreadsheets in East Asia accept, too.
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return the rows as CSV; the first row has the headings."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def flattened(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield every leaf of nested mappings and lists, a number, string, bool or None, as its path and its value.

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
    """Return a cell as CSV shows it.

    Booleans are written as in JSON. In strings, control characters are escaped, and an apostrophe precedes a formula.
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return cell
    text = escaped(cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
