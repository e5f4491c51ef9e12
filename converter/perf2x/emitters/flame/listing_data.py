"""Listings for the page (emitters/flame/page/code.js): source lines and instructions with their costs."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from perf2x.model.printable_text import printable
from perf2x.model.profile import CodeListing, Costs, FunctionListing, InstructionCost, Listings, SourceListing

MOST_ROWS = 2000
"""Listings with more instructions than this omit those far from any cost."""
_AROUND = 20
"""Number of instructions to keep before and after each one with a cost."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def listing_data(listings: Listings) -> dict[str, Any]:
    """Return all listings as plain values; texts have no control characters."""
    return {
        "measures": [[one.event, one.value] for one in listings.measures],
        "functions": [_function(one) for one in listings.functions],
    }


def _function(one: FunctionListing) -> dict[str, Any]:
    return {
        "name": clean(one.name),
        "object": clean(one.object),
        "left": one.places - len(one.code),
        "sources": [_source(source) for source in one.sources],
        "code": [_code(code, one) for code in one.code],
    }


def _source(source: SourceListing) -> dict[str, Any]:
    costs = {line.number: [*_costs(line.own, line.total)] for line in source.lines}
    numbers = sorted(costs.keys() | source.text.keys())
    rows = [[number, clean(source.text.get(number, "")), *costs.get(number, ())] for number in numbers]
    return {"path": clean(source.path), "reason": clean(source.reason), "rows": rows}


def _code(code: CodeListing, one: FunctionListing) -> dict[str, Any]:
    kept = kept_rows(code.rows)
    place = {row: at for at, row in enumerate(kept)}
    spots: dict[tuple[str, int, str], int] = {}
    rows = []
    for number in kept:
        row = code.rows[number]
        spot = spots.setdefault((row.path, row.line, row.function), len(spots))
        target = place.get(row.target, -1)
        rows.append([f"{row.address:x}", clean(row.text), clean(row.note), target, spot, *_costs(row.own, row.total)])
    texts = [
        [clean(path), line, clean(name), clean(one.text.get(path, {}).get(line, "").strip())]
        for path, line, name in spots
    ]
    return {
        "object": clean(code.object), "symbol": clean(code.symbol), "reason": clean(code.reason), "spots": texts,
        "left": len(code.rows) - len(kept), "rows": rows,
    }  # fmt: skip


def kept_rows(rows: Sequence[InstructionCost]) -> list[int]:
    """Return the rows to show: all, or those near a row with a cost."""
    if len(rows) <= MOST_ROWS:
        return list(range(len(rows)))
    near: set[int] = set()
    for at, row in enumerate(rows):
        if any(row.own) or any(row.total):
            near.update(range(max(at - _AROUND, 0), min(at + _AROUND + 1, len(rows))))
    return sorted(near)


def _costs(own: Costs, total: Costs) -> Iterable[list[int]]:
    """Return self and total costs; nothing if there are none, as for most lines."""
    return (list(own), list(total)) if any(own) or any(total) else ()


def clean(text: str) -> str:
    """Return the text as one line: tabs expanded, control characters replaced by spaces."""
    return _CONTROLS.sub(" ", printable(text.expandtabs(8)))
