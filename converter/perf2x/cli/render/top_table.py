"""The table of ``perf2x top`` in every format."""

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
from perf2x.model.totals.event_columns import wholes
from perf2x.tools.tables.top_rows import TopTable, linked_functions


def top_report(table: TopTable, sources: Sequence[str]) -> Report:
    """Return the table in every format; ``sources`` are the recordings, for the Markdown's heading."""
    return table_report(table, f"perf2x top: {name_list(sources)}", total_layouts, total_facts)


def remarks(table: TopTable, loaded: Loaded, *, verbose: bool = False) -> Iterator[str]:
    """Yield sentences on other events, and on the quality of the recording."""
    from perf2x.cli.render.summary import quality_lines

    shown = {table.whole.event.removeprefix("latency:"), *(part.event for one in table.beside for part in one.tables)}
    own, names = loaded.profile.default_event, numbered_names(loaded.profile.events)
    others = [
        names[row]
        for row, event in enumerate(loaded.events)
        if event.samples and row != own and (event.name not in shown or names[row] != event.name)
    ]
    if others:
        yield f"other events: {', '.join(others)} (select with --event)"
    yield from quality_lines(loaded, verbose)
    if table.by == "function":
        yield from _hints(table, loaded)


def _hints(table: TopTable, loaded: Loaded) -> Iterator[str]:
    """Yield hints on functions: what hides them, and how to see them."""
    whole = table.whole.whole
    if not any(5 * row.self > whole for row in table.whole.rows):
        inlined, linked = linked_functions(loaded.profile, table.value)
        named = (f"{name} {format_percent(cost, whole)}" for name, cost in linked.items() if cost)
        if 3 * inlined > whole:
            yield (
                f"hint: {format_percent(inlined, whole)} of the cost is in inlined functions; as linked, the "
                f"costliest are {', '.join(named)} (--no-inline shows them)."
            )
    for preset, pattern in RUNTIMES.items():
        number = sum(bool(re.search(pattern, row.name)) for row in table.rows)
        if number > len(table.rows) / 4:
            yield f"hint: {number} of the {len(table.rows)} rows belong to a runtime; to hide them: --hide {preset}"


def total_layouts(table: TopTable) -> list[Layout]:
    """Return layouts from wide to narrow: all columns; fewer amounts; no objects; shares only.

    They are preceded by those with bars.
    """

    found, rows, sort, shown = table.whole, table.rows, table.sort, table.shown

    def amounts(column: str, costs: Sequence[int]) -> list[Column]:
        texts = [format_amount(cost, found.unit, found.whole) for cost in costs]
        hot = [heat(cost, found.whole) for cost in costs] if column == sort else ""
        return [Column(column, texts), Column("", shown[column], hot)]

    costs = {"self": [row.self for row in rows], "total": [row.total for row in rows]}
    own, total = (amounts(column, cost) for column, cost in costs.items())
    beside, thing, name = side_columns(table)
    narrow = [*own, total[1].called("total")] if sort == "self" else [own[1].called("self"), *total]
    shares = [own[1].called("self"), total[1].called("total"), *beside]
    numbers = ([*own, *total, *beside], [*narrow, *beside], shares)
    bar = bar_column(costs[sort])
    drawn = [[bar, *columns, *thing, name] for columns in numbers]
    return [*drawn, *([*columns, *thing, name] for columns in numbers[:2]), [*narrow, *beside, name], [*shares, name]]


def total_facts(table: TopTable) -> dict[str, Any]:
    """Return the table for JSON."""
    found, columns = table.whole, table.columns
    return {
        "event": found.event,
        "unit": found.unit,
        "samples": found.samples,
        "value": found.whole,
        **({"columns": wholes(table.beside)} if table.beside else {}),
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }
