r"""CSV: full names, raw numbers, one heading line; lines end with ``\n``.

Recordings are untrusted, and spreadsheets evaluate cells that look like a formula, so such a name is prefixed with an
apostrophe (``'=HYPERLINK(…)``). The JSON has names as recorded.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from perf2x.model.printable_text import plain

# East Asian spreadsheets also accept the full-width characters.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return the rows as CSV, headings first; texts are escaped, numbers unchanged."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def flattened(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield every plain value below ``value`` with its path: ``events.0.name``, as in the JSON."""
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
