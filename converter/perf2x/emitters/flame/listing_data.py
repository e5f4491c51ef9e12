"""Listings for the page (emitters/flame/page/code.js): source lines and instructions with their costs."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from perf2x.model.printable_text import printable
from perf2x.model.profile import CodeListing, Costs, FunctionListing, InstructionCost, Listings, SourceListing

MAX_ROWS = 2000
"""Listings with more instructions than this omit those far from any cost."""
_CONTEXT_ROWS = 20
"""Number of instructions to keep before and after each one with a cost."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def listing_data(listings: Listings) -> dict[str, Any]:
    """Return all listings as values that JSON can hold."""
    return {
        "measures": [[measure.event, measure.value] for measure in listings.measures],
        "functions": [_function(function) for function in listings.functions],
    }


def _function(function: FunctionListing) -> dict[str, Any]:
    return {
        "name": clean(function.name),
        "object": clean(function.object),
        "left": function.copy_count - len(function.code),
        "sources": [_source(source) for source in function.sources],
        "code": [_code(code, function) for code in function.code],
    }


def _source(source: SourceListing) -> dict[str, Any]:
    costs = {line.number: [*_costs(line.self_costs, line.total_costs)] for line in source.lines}
    numbers = sorted(costs.keys() | source.text.keys())
    rows = [[number, clean(source.text.get(number, "")), *costs.get(number, ())] for number in numbers]
    return {"path": clean(source.path), "reason": clean(source.reason), "rows": rows}


def _code(code: CodeListing, function: FunctionListing) -> dict[str, Any]:
    """Return a listing of instructions; ``left`` is the number of rows that are left out.

    A row is the address, the instruction, a note, the row to which it jumps (−1: none that is shown), an index of
    ``spots`` and, if it has any, its costs. A spot is path, line, function, and the line's text.
    """
    indices = rows_to_show(code.rows)
    shown_row = {index: number for number, index in enumerate(indices)}  # by index in code.rows
    spots: dict[tuple[str, int, str], int] = {}
    rows = []
    for index in indices:
        row = code.rows[index]
        spot = spots.setdefault((row.path, row.line, row.function), len(spots))
        target = shown_row.get(row.target, -1)
        costs = _costs(row.self_costs, row.total_costs)
        rows.append([f"{row.address:x}", clean(row.text), clean(row.note), target, spot, *costs])
    spot_rows = [
        [clean(path), line, clean(name), clean(function.text.get(path, {}).get(line, "").strip())]
        for path, line, name in spots
    ]
    return {
        "object": clean(code.object), "symbol": clean(code.symbol), "reason": clean(code.reason), "spots": spot_rows,
        "left": len(code.rows) - len(indices), "rows": rows,
    }  # fmt: skip


def rows_to_show(rows: Sequence[InstructionCost]) -> list[int]:
    """Return the indices of the rows to show: all or, if there are more than MAX_ROWS, those near a row with a cost."""
    if len(rows) <= MAX_ROWS:
        return list(range(len(rows)))
    shown: set[int] = set()
    for index, row in enumerate(rows):
        if any(row.self_costs) or any(row.total_costs):
            shown.update(range(max(index - _CONTEXT_ROWS, 0), min(index + _CONTEXT_ROWS + 1, len(rows))))
    return sorted(shown)


def _costs(self_costs: Costs, total_costs: Costs) -> Iterable[list[int]]:
    return (list(self_costs), list(total_costs)) if any(self_costs) or any(total_costs) else ()


def clean(text: str) -> str:
    """Return the text as one line: tabs expanded, control characters replaced by spaces."""
    return _CONTROLS.sub(" ", printable(text.expandtabs(8)))
