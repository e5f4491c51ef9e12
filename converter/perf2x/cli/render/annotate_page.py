"""The listings of ``perf2x annotate``, as text and as JSON.

A ``Costs`` has a number for each of ``Listings.measures``; the first is the value of the shown event.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from perf2x.base.columnar import Frozen, sum_of
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import Screen, heat
from perf2x.cli.render.text_table import MAX_HEADING, Column, table_lines
from perf2x.model.number_format import format_amount, format_percent
from perf2x.model.printable_text import base_name, escaped, short
from perf2x.model.profile import CodeListing, Costs, FunctionListing, InstructionCost, SourceListing, View
from perf2x.model.totals.event_columns import LineColumns, cell_text, event_columns, overall_cells
from perf2x.model.totals.totals import weights

GAP = "⋮"
"""Stands for source lines that are left out."""
_INSTRUCTION_FIELDS = ("address", "text", "note", "path", "line", "function")


class _Row(Frozen):
    position: str
    """Line number or address; "" for a gap, and for the source line above its instructions."""
    text: str
    self_costs: Costs = ()
    total_costs: Costs = ()


class _ShownEvent(Frozen):
    name: str
    unit: str
    total: int
    """The cost of all samples of the event."""
    other_columns: LineColumns
    """Other events and ratios."""

    def facts(self, self_costs: Costs, total_costs: Costs) -> dict[str, Any]:
        if not self_costs:
            return {"self": 0, "total": 0}
        cells = self.other_columns.cells(self_costs)
        return {"self": self_costs[0], "total": total_costs[0]} | {f"self_{name}": cell for name, cell in cells.items()}


def listing_report(profile: View, columns: Sequence[str] = ()) -> Report:
    """Return the report of all listings in the profile: lines for a terminal, and JSON.

    ``columns`` names other events and ratios to show.
    """
    listings = profile.listings
    assert listings is not None
    measure = listings.measures[0]
    shown_event = _ShownEvent(
        profile.events[measure.event].name,
        measure.unit,
        sum_of(weights(profile, measure.value)[profile.samples.event == measure.event]),
        # only totals of the columns are used, so any kind of rows would do; those for threads take the least time
        LineColumns(event_columns(profile, "thread", "period", columns), listings.measures),
    )

    def lines(screen: Screen) -> Iterator[str]:
        for function in listings.functions:
            yield from _function_lines(function, shown_event, screen)

    def facts() -> dict[str, Any]:
        return {
            "event": shown_event.name,
            "unit": shown_event.unit,
            "value": shown_event.total,
            **({"columns": overall_cells(shown_event.other_columns.columns)} if columns else {}),
            "functions": [_function_facts(function, shown_event) for function in listings.functions],
        }

    return Report(lines, facts)


def _function_facts(function: FunctionListing, shown_event: _ShownEvent) -> dict[str, Any]:
    return {
        "name": function.name,
        "object": function.object,
        **shown_event.facts(function.self_costs, function.total_costs),
        "sources": [
            {
                "path": source.path,
                "reason": source.reason,
                "lines": [
                    {"line": int(row.position) if row.position.isdigit() else 0, "text": row.text}
                    | shown_event.facts(row.self_costs, row.total_costs)
                    for row in source_rows(source)
                ],
            }
            for source in function.sources
        ],
        "code": [
            {
                "object": code.object,
                "symbol": code.symbol,
                "reason": code.reason,
                "instructions": [
                    {name: getattr(row, name) for name in _INSTRUCTION_FIELDS}
                    | shown_event.facts(row.self_costs, row.total_costs)
                    for row in code.rows
                ],
            }
            for code in function.code
        ],
    }


def _function_lines(function: FunctionListing, shown_event: _ShownEvent, screen: Screen) -> Iterator[str]:
    self_cost, total_cost = function.self_costs[0], function.total_costs[0]
    amounts = (f"{label} {format_amount(cost, shown_event.unit)} {format_percent(cost, shown_event.total)}"
               for label, cost in (("self", self_cost), ("total", total_cost)))  # fmt: skip
    in_object = f" ({escaped(function.object)})" if function.object else ""
    of_event = f"{format_amount(shown_event.total, shown_event.unit)} {escaped(shown_event.name)}"
    yield from screen.sentence(f"{escaped(function.name)}{in_object}: {', '.join(amounts)} of {of_event}", "bold")
    for source in function.sources:
        yield from _title_lines(escaped(source.path) or "no source file", source.reason, screen)
        rows = list(source_rows(source))
        yield from _table("line", rows, self_cost, max(self_cost, total_cost), shown_event, screen)
    for code in function.code:
        # a copy of the function in another symbol was inlined there
        inlined_into = f"{escaped(code.symbol)} in " if code.symbol not in ("", function.name) else ""
        yield from _title_lines(f"{inlined_into}{escaped(code.object) or 'memory'}", code.reason, screen)
        sum_of_copy = sum(row.self_costs[0] for row in code.rows)
        rows = list(code_rows(code, function))
        largest = max(self_cost, total_cost)
        yield from _table("address", rows, sum_of_copy, largest, shown_event, screen) if rows else ()
    if function.copy_count > len(function.code):
        yield f"{function.copy_count - len(function.code):,} more places with less cost are left out"
    yield ""


def _title_lines(listed: str, reason: str, screen: Screen) -> Iterator[str]:
    yield ""
    yield from screen.sentence(f"{listed}: {escaped(reason)}" if reason else listed, "bold")


def source_rows(source: SourceListing) -> Iterator[_Row]:
    """Yield the lines with costs and the lines around them, by number, with GAP for lines that are left out."""
    costs = {line.number: line for line in source.lines}
    previous = None
    for number in sorted(costs.keys() | source.text.keys()):
        if previous and number > previous + 1 and source.text:
            yield _Row("", GAP)
        line, position = costs.get(number), str(number) if number else "?"
        text = _code_text(source.text.get(number, ""))
        yield _Row(position, text, line.self_costs, line.total_costs) if line else _Row(position, text)
        previous = number


def code_rows(code: CodeListing, function: FunctionListing) -> Iterator[_Row]:
    """Yield the instructions, preceded by the source line where it changes; ``▸`` marks targets of jumps."""
    jump_targets = {row.target for row in code.rows if row.target >= 0}
    previous = ("", -1, "")
    for index, row in enumerate(code.rows):
        current = (row.path, row.line, row.function)
        if current != previous and row.path:
            inlined = "" if row.function in ("", function.name) else f" {escaped(row.function)}"
            text = _code_text(function.text.get(row.path, {}).get(row.line, "")).strip()
            yield _Row("", f"{escaped(base_name(row.path))}:{row.line or '?'}{inlined}  {text}".rstrip())
        previous = current
        mark = "▸" if index in jump_targets else " "
        yield _Row(f"{mark}{row.address:x}", f"  {instruction_text(row, index)}", row.self_costs, row.total_costs)


def instruction_text(row: InstructionCost, index: int) -> str:
    """Return the text of the instruction in row ``index``, with an arrow for a jump or a name (``<main+0x10>``)."""
    arrow = "" if row.target < 0 else " ↑" if row.target <= index else " ↓"
    return escaped(row.text) + arrow + (f"  <{escaped(row.note)}>" if row.note else "")


def _code_text(text: str) -> str:
    return escaped(text.expandtabs(8))


def _table(
    position_head: str, rows: Sequence[_Row], self_sum: int, largest: int, shown_event: _ShownEvent, screen: Screen
) -> Iterator[str]:
    """Yield the lines of a table; shares are of ``self_sum``, amounts have the unit of ``largest``."""

    def amounts(costs_of_rows: Iterable[Costs]) -> list[str]:
        # "" for a line without costs, "." for one whose first cost is 0
        return [
            "" if not costs else format_amount(costs[0], shown_event.unit, largest) if costs[0] else "."
            for costs in costs_of_rows
        ]

    self_costs = [row.self_costs[0] if row.self_costs else 0 for row in rows]
    shares = [format_percent(cost, self_sum) if cost else "" for cost in self_costs]
    other_cells = [shown_event.other_columns.cells(row.self_costs) if row.self_costs else {} for row in rows]
    styles = ["" if any(row.total_costs[:1]) else "dim" for row in rows]
    columns = [
        Column("self", amounts(row.self_costs for row in rows)),
        Column("", shares, [heat(cost, self_sum) for cost in self_costs]),
        Column("total", amounts(row.total_costs for row in rows)),
        *(
            Column(
                short(column.name, MAX_HEADING),
                [cell_text(by_name[column.name], column.overall) if by_name else "" for by_name in other_cells],
            )
            for column in shown_event.other_columns.columns
        ),
        Column(position_head, [row.position for row in rows], "dim"),
        Column("", [row.text for row in rows], styles, is_name=True, cut_at_end=True),
    ]
    return table_lines([columns], screen)
