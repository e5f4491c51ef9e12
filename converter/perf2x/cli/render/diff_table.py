"""The table of ``perf2x diff`` in every format."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perf2x.analysis.diff.changed_rows import COLUMNS, change_text, rounded
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import Screen, change_style
from perf2x.cli.render.text_table import Column, Layout, name_column, number_column, table_lines
from perf2x.model.number_format import format_amount, format_change
from perf2x.model.terminal_text import short

if TYPE_CHECKING:
    from perf2x.analysis.diff.changed_rows import DiffTable

_EVENT = 60
"""Characters of an event's name in a heading."""


def diff_report(table: "DiffTable", confidence: float) -> Report:
    """The comparison in every format; ``confidence`` is that of its intervals."""

    def lines(screen: Screen) -> Iterator[str]:
        yield from screen.sentence(f"{short(table.comparison.before.event, _EVENT)}: {table.measured}", "bold")
        if table.rows:
            yield from table_lines(_change_layouts(table), screen)
        else:
            yield f"no {table.by} changed"

    def markdown() -> Iterator[str]:
        from perf2x.cli.render.markdown_table import Section, code, escape_tildes, markdown_document

        text = f"{code(table.comparison.before.event, _EVENT)}: {escape_tildes(table.measured)}"
        if not table.rows:
            text += f"; no {table.by} changed"
        elif table.unmoved:
            text += f"; {table.unmoved_note}"
        before, after = map(code, table.sources)
        return markdown_document(f"perf2x diff: {before} → {after}", [Section(text, _change_layouts(table)[0])])

    return Report(lines, lambda: _change_facts(table, confidence), markdown, lambda: _change_rows(table))


def _change_layouts(table: "DiffTable") -> list[Layout]:
    """Layouts from wide to narrow: all; without the column not sorted by; without objects; changes only."""
    was, rows = table.comparison.before, table.rows
    own_changes, total_changes = (
        number_column(
            "change",
            [change_text(row, column, was.whole) for row in rows],
            [change_style(row.moved(column), row.significant(column)) for row in rows],
        )
        for column in COLUMNS
    )
    own = [_amounts(table, "self before", "own_before"), _amounts(table, "after", "own_after"), own_changes]
    total = [_amounts(table, "total before", "total_before"), _amounts(table, "after", "total_after"), total_changes]
    changes = [own_changes.called("self"), total_changes.called("total")]
    narrow = [*own, changes[1]] if table.sort == "self" else [changes[0], *total]
    name = name_column(table.by, [row.name for row in rows])
    thing = (
        [name_column("object", [row.object or "–" for row in rows], "dim")]
        if table.by in ("function", "data-object")
        else []
    )
    thing = [*_period_changes(table), *thing]
    return [[*own, *total, *thing, name], [*narrow, *thing, name], [*narrow, name], [*changes, name]]


def _period_changes(table: "DiffTable") -> list[Column]:
    """The change by period of the column sorted by: what a latency's change is in time of CPUs."""
    if table.periods is None:
        return []
    changes = [format_change(row.moved(table.sort), table.period_whole) for row in table.periods]
    return [number_column(f"{table.sort} period", changes)]


def _amounts(table: "DiffTable", head: str, field: str) -> Column:
    return number_column(
        head,
        [
            format_amount(getattr(row, field), table.comparison.before.unit, table.comparison.before.whole)
            for row in table.rows
        ],
    )


def _change_facts(table: "DiffTable", confidence: float) -> dict[str, Any]:
    return {
        "event": table.comparison.before.event,
        "unit": table.comparison.before.unit,
        "before": table.comparison.before.whole,
        "after": table.comparison.after.whole,
        "confidence": confidence,
        "rows": [
            {
                "name": row.name,
                "object": row.object,
                "self": [row.own_before, row.own_after],
                "total": [row.total_before, row.total_after],
                "interval": {column: rounded(row.interval(column)) for column in COLUMNS},
                "significant": {column: row.significant(column) for column in COLUMNS},
            }
            | more
            for row, more in zip(table.rows, _period_facts(table), strict=True)
        ],
        "unmoved": table.unmoved,
    }


def _period_facts(table: "DiffTable") -> list[dict[str, list[int]]]:
    if table.periods is None:
        return [{}] * len(table.rows)
    return [
        {"self_period": [row.own_before, row.own_after], "total_period": [row.total_before, row.total_after]}
        for row in table.periods
    ]


def _change_rows(table: "DiffTable") -> Iterator[Sequence[object]]:
    yield "event", "unit", *table.columns
    for row in zip(*table.columns.values(), strict=True):
        yield table.comparison.before.event, table.comparison.before.unit, *row
