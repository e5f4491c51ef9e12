r"""CSV: full names, raw numbers, one heading line; lines end with ``\n``.

Recordings are untrusted, and spreadsheets evaluate cells that look like a formula. So such a name gets an
apostrophe in front (``'=HYPERLINK(…)``). JSON output has names as recorded.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from perf2x.model.printable_text import escaped

# Characters that begin a formula; the last four are full-width, which spreadsheets in East Asia accept, too.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return the rows as CSV; the first row has the headings. Texts are escaped, numbers unchanged."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def flattened(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield every number, text and None inside nested mappings and lists, with its path: ``events.0.name``."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from flattened(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            yield from flattened(child, f"{path}.{index}" if path else str(index))
    else:
        yield path, value


def _cell(cell: object) -> object:
    """Return a cell as CSV shows it: booleans as in JSON, texts with control characters escaped and not as formulas."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return cell
    text = escaped(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
