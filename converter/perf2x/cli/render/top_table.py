"""The table of ``perf2x top``: its layouts for a terminal, its JSON, and remarks about it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from perf2x.cli.render.markdown_table import name_list
from perf2x.cli.render.report_formats import Report, side_columns, table_report
from perf2x.cli.render.screen import heat
from perf2x.cli.render.text_table import Column, Layout, bar_column
from perf2x.kernel.load_result import Loaded
from perf2x.model.filters.frame_presets import RUNTIMES
from perf2x.model.number_format import format_amount, format_percent
from perf2x.model.profile import numbered_names
from perf2x.model.totals.event_columns import overall_cells
from perf2x.tools.tables.top_rows import TopTable, linked_functions


def top_report(table: TopTable, sources: Sequence[str]) -> Report:
    """Return the table in every format; ``sources`` are for the Markdown's heading."""
    return table_report(table, f"perf2x top: {name_list(sources)}", top_layouts, top_facts)


def remarks(table: TopTable, loaded: Loaded, *, verbose: bool = False) -> Iterator[str]:
    """Yield lines for standard error: events that the table does not show, the recording's quality, and hints."""
    from perf2x.cli.render.summary import quality_lines

    shown_events = {
        table.whole.event.removeprefix("latency:"),
        *(totals.event for column in table.other_columns for totals in column.tables),
    }
    default_event, names = loaded.profile.default_event, numbered_names(loaded.profile.events)
    # the name differs if several events have the same one (cycles#2); the table shows only one of them
    others = [
        names[index]
        for index, event in enumerate(loaded.events)
        if event.samples and index != default_event and (event.name not in shown_events or names[index] != event.name)
    ]
    if others:
        yield f"other events: {', '.join(others)} (select with --event)"
    yield from quality_lines(loaded, verbose)
    if table.by == "function":
        yield from _hints(table, loaded)


def _hints(table: TopTable, loaded: Loaded) -> Iterator[str]:
    event_total = table.whole.cost
    if not any(5 * row.self > event_total for row in table.whole.rows):
        inlined, linked = linked_functions(loaded.profile, table.value)
        costliest = (f"{name} {format_percent(cost, event_total)}" for name, cost in linked.items() if cost)
        if 3 * inlined > event_total:
            yield (
                f"hint: {format_percent(inlined, event_total)} of the cost is in inlined functions; as linked, the "
                f"costliest are {', '.join(costliest)} (--no-inline shows them)."
            )
    for preset, pattern in RUNTIMES.items():
        count = sum(bool(re.search(pattern, row.name)) for row in table.rows)
        if count > len(table.rows) / 4:
            yield f"hint: {count} of the {len(table.rows)} rows belong to a runtime; to hide them: --hide {preset}"


def top_layouts(table: TopTable) -> list[Layout]:
    """Return layouts from wide to narrow; rows are sorted by one cost, self or total.

    All have columns of other events, and names. Besides these, they have:

    1. bars, amounts and shares of both costs, and objects
    2. bars, amounts of the sorted cost, shares of both costs, and objects
    3. bars, shares of both costs, and objects
    4. and 5. as 1. and 2., but without bars
    6. as 2., but without bars and objects
    7. shares of both costs
    """
    totals, rows, sort, cells = table.whole, table.rows, table.sort, table.display_cells

    def amounts_and_shares(column: str, costs: Sequence[int]) -> list[Column]:
        amounts = [format_amount(cost, totals.unit, totals.cost) for cost in costs]
        styles = [heat(cost, totals.cost) for cost in costs] if column == sort else ""
        return [Column(column, amounts), Column("", cells[column], styles)]

    costs = {"self": [row.self for row in rows], "total": [row.total for row in rows]}
    self_columns, total_columns = (amounts_and_shares(column, values) for column, values in costs.items())
    self_share, total_share = self_columns[1].with_head("self"), total_columns[1].with_head("total")
    other_events, objects, name = side_columns(table)
    narrow = [*self_columns, total_share] if sort == "self" else [self_share, *total_columns]
    shares = [self_share, total_share, *other_events]
    number_columns = ([*self_columns, *total_columns, *other_events], [*narrow, *other_events], shares)
    bar = bar_column(costs[sort])
    with_bars = [[bar, *columns, *objects, name] for columns in number_columns]
    without_bars = ([*columns, *objects, name] for columns in number_columns[:2])
    return [*with_bars, *without_bars, [*narrow, *other_events, name], [*shares, name]]


def top_facts(table: TopTable) -> dict[str, Any]:
    """Return the table for JSON."""
    totals, columns = table.whole, table.columns
    return {
        "event": totals.event,
        "unit": totals.unit,
        "samples": totals.samples,
        "value": totals.cost,
        **({"columns": overall_cells(table.other_columns)} if table.other_columns else {}),
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }
