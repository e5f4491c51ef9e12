"""The table of ``perf2x diff``: its layouts for a terminal, and its JSON."""

from typing import Any

from msgspec import to_builtins

from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.render.markdown_table import code
from perf2x.cli.render.report_formats import Report, side_columns, table_report
from perf2x.cli.render.screen import change_style
from perf2x.cli.render.text_table import Column, Layout
from perf2x.model.number_format import format_amount
from perf2x.tools.diff.changed_rows import DiffTable, number_of, rounded
from perf2x.tools.tables.result_table import COSTS


def diff_report(table: DiffTable, confidence: float, verdict: Verdict | None = None) -> Report:
    """Return the comparison in every format; ``confidence`` is that of the intervals in the JSON."""
    renamed = ", ".join(f"{code(new)} as the renamed {code(old)}" for old, new in table.renamed_objects)
    return table_report(
        table,
        f"perf2x diff: {' → '.join(map(code, table.sources))}",
        diff_layouts,
        lambda table: diff_facts(table, confidence) | ({"verdict": to_builtins(verdict)} if verdict else {}),
        [
            *[table.unchanged_note] * bool(table.rows and table.unchanged_count),
            *[f"treating {renamed}"] * bool(renamed),
        ],
        verdict.markdown() if verdict else (),
    )


def diff_layouts(table: DiffTable) -> list[Layout]:
    """Return layouts from wide to narrow; rows are sorted by the change of one cost, self or total.

    All have columns of other events, and names. Besides these, they have:

    1. all columns of both costs (before, after, factor, change), and objects
    2. all columns of the sorted cost, the change of the other cost, and objects
    3. the same without objects
    4. all columns of the sorted cost
    5. the changes of both costs
    """
    column_groups, changes = [], []  # first of self, then of total costs
    for column in COSTS:
        styles = [change_style(row.change(column), row.significant(column)) for row in table.rows]
        factor, change = (
            Column(head, table.display_cells[head], styles) for head in (f"{column} ×", f"{column} change")
        )
        amounts = [_amounts(table, f"{column} before", f"{column}_before"), _amounts(table, "after", f"{column}_after")]
        column_groups.append([*amounts, factor.with_head("×"), change.with_head("of the total")])
        changes.append(change)
    self_columns, total_columns = column_groups
    sorted_columns, with_other_change = (
        (self_columns, [*self_columns, changes[1]])
        if table.sort == "self"
        else (total_columns, [changes[0], *total_columns])
    )
    other_events, objects, name = side_columns(table)
    return [
        [*self_columns, *total_columns, *other_events, *objects, name],
        [*with_other_change, *other_events, *objects, name],
        [*with_other_change, *other_events, name],
        [*sorted_columns, *other_events, name],
        [*changes, *other_events, name],
    ]


def _amounts(table: DiffTable, head: str, field: str) -> Column:
    before = table.whole
    return Column(head, [format_amount(getattr(row, field), before.unit, before.cost) for row in table.rows])


def diff_facts(table: DiffTable, confidence: float) -> dict[str, Any]:
    """Return the table for JSON."""
    return {
        "event": table.whole.event,
        "unit": table.whole.unit,
        "before": table.whole.cost,
        "after": table.comparison.cost_after,
        "confidence": confidence,
        "rows": [
            {
                "name": row.name,
                "object": row.object,
                "self": [row.self_before, row.self_after],
                "total": [row.total_before, row.total_after],
                "interval": {column: rounded(row.interval(column)) for column in COSTS},
                "significant": {column: row.significant(column) for column in COSTS},
            }
            | other_events
            for row, other_events in zip(table.rows, _other_event_facts(table), strict=True)
        ],
        "unmoved": table.unchanged_count,
        "renamed_objects": [list(names) for names in table.renamed_objects],
        **({"work": table.work} if table.work else {}),
    }


def _other_event_facts(table: DiffTable) -> list[dict[str, list[float | None]]]:
    pairs_by_name = {
        f"{column}_{change.name}": change.pairs(table.keys, column)
        for change in table.other_columns
        for column in COSTS
    }
    return [
        {name: [*map(number_of, pairs[index])] for name, pairs in pairs_by_name.items()}
        for index in range(len(table.rows))
    ]
