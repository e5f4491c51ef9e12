"""Listings of ``perf2x annotate`` as JSON."""

from collections.abc import Sequence
from typing import Any

from perf2x.analysis.event_columns import Cell, LineColumns, event_columns, wholes
from perf2x.cli.render.annotate_page import ListingRow, source_rows, whole_of
from perf2x.model.profile import CodeListing, Costs, FunctionListing, View


def listing_json(profile: View, columns: Sequence[str] = ()) -> str:
    """All listings as JSON."""
    import json

    listings = profile.listings
    assert listings is not None
    measure = listings.measures[0]
    beside = LineColumns(event_columns(profile, "thread", "period", columns), listings.measures)
    facts = {
        "event": profile.events[measure.event].name,
        "unit": measure.unit,
        "value": whole_of(profile, listings),
        **({"columns": wholes(beside.columns)} if columns else {}),
        "functions": [_facts(one, beside) for one in listings.functions],
    }
    return json.dumps(facts, indent=2) + "\n"


def _facts(one: FunctionListing, beside: LineColumns) -> dict[str, Any]:
    return {
        "name": one.name,
        "object": one.object,
        **_numbers(one.own, one.total),
        **_beside(one.own, beside),
        "sources": [
            {
                "path": each.path,
                "reason": each.reason,
                "lines": [_line_facts(row) | _beside(row.costs, beside) for row in source_rows(each)],
            }
            for each in one.sources
        ],
        "code": [
            {"object": each.object, "symbol": each.symbol, "reason": each.reason, "instructions": _rows(each, beside)}
            for each in one.code
        ],
    }


def _numbers(own: Costs, total: Costs) -> dict[str, int]:
    return {"self": own[0], "total": total[0]}


def _beside(costs: Costs, beside: LineColumns) -> dict[str, Cell]:
    """The other columns of what is by itself, by name."""
    return {f"self_{name}": cell for name, cell in beside.cells(costs).items()} if costs else {}


def _line_facts(row: ListingRow) -> dict[str, Any]:
    number = int(row.place) if row.place.isdigit() else 0
    return {"line": number, "text": row.text, "self": row.own or 0, "total": row.total}


def _rows(code: CodeListing, beside: LineColumns) -> list[dict[str, Any]]:
    return [
        {
            "address": row.address, "text": row.text, "note": row.note, "path": row.path, "line": row.line,
            "function": row.function, **_numbers(row.own, row.total), **_beside(row.own, beside),
        }
        for row in code.rows
    ]  # fmt: skip
