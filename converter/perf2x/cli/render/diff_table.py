"""The table of ``perf2x diff`` in every format."""

from typing import Any

from msgspec import to_builtins

from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.render.markdown_table import code
from perf2x.cli.render.report_formats import Report, side_columns, table_report
from perf2x.cli.render.screen import change_style
from perf2x.cli.render.text_table import Column, Layout
from perf2x.model.number_format import format_amount
from perf2x.tools.diff.changed_rows import DiffTable, number_of, rounded
from perf2x.tools.tables.library_tables import COLUMNS


def diff_report(table: DiffTable, confidence: float, verdict: Verdict | None = None) -> Report:
    """Return the comparison in every format.

    ``confidence`` is that of its intervals, ``verdict`` the outcome of limits.
    """
    renamed = ", ".join(f"{code(new)} as the renamed {code(old)}" for old, new in table.renamed_objects)
    return table_report(
        table,
        f"perf2x diff: {' → '.join(map(code, table.sources))}",
        change_layouts,
        lambda table: change_facts(table, confidence) | ({"verdict": to_builtins(verdict)} if verdict else {}),
        [*[table.unmoved_note] * bool(table.rows and table.unmoved), *[f"treating {renamed}"] * bool(renamed)],
        verdict.markdown() if verdict else (),
    )


def change_layouts(table: DiffTable) -> list[Layout]:
    """Return layouts from wide to narrow.

    Each layout drops more columns than the one before it: first the details of the cost by which rows are not sorted,
    then objects, then that cost altogether, then everything but the changes.
    """
    parts, changes = [], []
    for column in COLUMNS:
        style = [change_style(row.moved(column), row.significant(column)) for row in table.rows]
        factor, share = (Column(head, table.shown[head], style) for head in (f"{column} ×", f"{column} change"))
        costs = [_amounts(table, f"{column} before", f"{column}_before"), _amounts(table, "after", f"{column}_after")]
        parts.append([*costs, factor.called("×"), share.called("of the total")])
        changes.append(share)
    own, total = parts
    sorted_by, narrow = (own, [*own, changes[1]]) if table.sort == "self" else (total, [changes[0], *total])
    beside, objects, name = side_columns(table)
    thing = [*beside, *objects]
    return [
        [*own, *total, *thing, name],
        [*narrow, *thing, name],
        [*narrow, *beside, name],
        [*sorted_by, *beside, name],
        [*changes, *beside, name],
    ]


def _amounts(table: DiffTable, head: str, field: str) -> Column:
    whole = table.whole
    return Column(head, [format_amount(getattr(row, field), whole.unit, whole.whole) for row in table.rows])


def change_facts(table: DiffTable, confidence: float) -> dict[str, Any]:
    """Return the table for JSON."""
    return {
        "event": table.whole.event,
        "unit": table.whole.unit,
        "before": table.whole.whole,
        "after": table.comparison.whole_after,
        "confidence": confidence,
        "rows": [
            {
                "name": row.name,
                "object": row.object,
                "self": [row.self_before, row.self_after],
                "total": [row.total_before, row.total_after],
                "interval": {column: rounded(row.interval(column)) for column in COLUMNS},
                "significant": {column: row.significant(column) for column in COLUMNS},
            }
            | more
            for row, more in zip(table.rows, _facts_beside(table), strict=True)
        ],
        "unmoved": table.unmoved,
        "renamed_objects": [list(names) for names in table.renamed_objects],
        **({"work": table.work} if table.work else {}),
    }


def _facts_beside(table: DiffTable) -> list[dict[str, list[float | None]]]:
    """Return the other columns of each row, before and after, by name."""
    named = {f"{column}_{one.name}": one.pairs(table.keys, column) for one in table.beside for column in COLUMNS}
    return [{name: [*map(number_of, pairs[row])] for name, pairs in named.items()} for row in range(len(table.rows))]
