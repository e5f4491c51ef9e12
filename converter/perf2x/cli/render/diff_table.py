"""The table of ``perf2x diff`` in every format."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.cli.render.fit_text import wrap_sentence
from perf2x.cli.render.number_format import format_amount, format_change, plural
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.text_table import Column, Layout, name_column, number_column, table_lines
from perf2x.model.printable_text import short

if TYPE_CHECKING:
    from perf2x.analysis.diff.changes import Change, Comparison
    from perf2x.analysis.totals import Totals
    from perf2x.cli.diff.verdict import Verdict

_EVENT = 60
"""Characters of an event's name in a heading."""
_COLUMNS = ("self", "total")
_SMALLEST_PART = 2000
"""A change below 1/2000 of the whole before reads as 0.0 %."""


class ChangeTable(Struct, frozen=True):
    """Contents of the table: a comparison and the rows of it to show."""

    comparison: "Comparison"
    rows: Sequence["Change"]
    by: str
    sort: str
    confidence: float
    unmoved: int
    """Rows left out because they did not change."""
    sources: tuple[str, str]
    renamed_objects: Sequence[tuple[str, str]]
    """Names before and after of objects that are one in the table."""
    periods: "Comparison | None" = None
    """The same lines by period, where the values are latencies."""
    work: tuple[float, float] | None = None
    """Units of work on both sides, by which costs are compared."""
    verdict: "Verdict | None" = None
    """Outcome of the limits, if there are any."""

    @property
    def before(self) -> "Totals":
        """The table before."""
        return self.comparison.before


def sort_changes(rows: Iterable["Change"], sort: str) -> list["Change"]:
    """The largest changes first, whether up or down; then by name."""
    return sorted(rows, key=lambda row: (-abs(row.moved(sort)), row.name, row.object))


def has_moved(row: "Change", whole: int) -> bool:
    """True when the row changed by at least 0.05 % of the whole before, itself or in total: less reads as 0.0 %."""
    return max(abs(row.own), abs(row.total)) * _SMALLEST_PART >= max(whole, 1)


def diff_report(table: ChangeTable) -> Report:
    """The comparison in every format."""

    def lines(room: int | None) -> Iterator[str]:
        yield from wrap_sentence(f"{short(table.before.event, _EVENT)}: {_change_heading(table)}", room)
        if table.rows:
            yield from table_lines(_change_layouts(table), room)
        else:
            yield f"no {table.by} changed"

    def markdown() -> Iterator[str]:
        from perf2x.cli.diff.verdict import verdict_markdown
        from perf2x.cli.render.markdown_table import Section, code, escape_tildes, markdown_document

        if table.verdict:
            yield from verdict_markdown(table.verdict.facts())
        text = f"{code(table.before.event, _EVENT)}: {escape_tildes(_change_heading(table))}"
        if not table.rows:
            text += f"; no {table.by} changed"
        elif table.unmoved:
            text += f"; {unmoved_note(table)}"
        if table.renamed_objects:
            pairs = (f"{code(new)} for {code(old)}" for old, new in table.renamed_objects)
            text += f"; takes {', '.join(pairs)}"
        before, after = map(code, table.sources)
        yield from markdown_document(f"perf2x diff: {before} → {after}", [Section(text, _change_layouts(table)[0])])

    return Report(lines, lambda: _change_facts(table), markdown, lambda: _change_rows(table))


def unmoved_note(table: ChangeTable) -> str:
    """A sentence on the rows that are left out because they did not change."""
    return f"left out: {plural(table.unmoved, table.by)} that did not change"


def _change_heading(table: ChangeTable) -> str:
    before, after = table.before, table.comparison.whole_after
    whole = f"{format_amount(before.whole, before.unit)} before, {format_amount(after, before.unit)} after"
    marked = any(_uncertain(row, column) for row in table.rows for column in _COLUMNS)
    compared = work_note(table.work) if table.work else "; shares compared" if table.comparison.normalize else ""
    return f"{whole} ({format_change(after - before.whole, before.whole)}){compared}" + "; ~ may be noise" * marked


def work_note(work: Sequence[float]) -> str:
    """The end of a heading: what costs are scaled by."""
    before, after = (f"{units:,.15g}" for units in work)
    return f"; per unit of work: {before} before, {after} after, scaled to {before}"


def _change_layouts(table: ChangeTable) -> list[Layout]:
    """Layouts from wide to narrow: all; without the column not sorted by; without objects; changes only."""
    was, rows = table.before, table.rows
    own_changes = number_column("change", [_change(row, "self", was.whole) for row in rows])
    total_changes = number_column("change", [_change(row, "total", was.whole) for row in rows])
    own = [_amounts(table, "self before", "own_before"), _amounts(table, "after", "own_after"), own_changes]
    total = [_amounts(table, "total before", "total_before"), _amounts(table, "after", "total_after"), total_changes]
    changes = [own_changes.called("self"), total_changes.called("total")]
    narrow = [*own, changes[1]] if table.sort == "self" else [changes[0], *total]
    name = name_column(table.by, [row.name for row in rows])
    thing = (
        [name_column("object", [row.object or "–" for row in rows])] if table.by in ("function", "data-object") else []
    )
    thing = [*_period_changes(table), *thing]
    return [[*own, *total, *thing, name], [*narrow, *thing, name], [*narrow, name], [*changes, name]]


def _period_changes(table: ChangeTable) -> list[Column]:
    """The change by period of the column sorted by: what a latency's change is in time of CPUs."""
    if table.periods is None:
        return []
    whole = table.periods.before.whole
    rows = [row.moved(table.sort) for row in _by_period(table.periods, table.rows)]
    return [number_column(f"{table.sort} period", [format_change(moved, whole) for moved in rows])]


def _by_period(periods: "Comparison", rows: Sequence["Change"]) -> list["Change"]:
    """The same lines of the comparison of periods."""
    found = {(row.name, row.object): row for row in periods.changes()}
    return [found[row.name, row.object] for row in rows]


def _amounts(table: ChangeTable, head: str, field: str) -> Column:
    return number_column(
        head, [format_amount(getattr(row, field), table.before.unit, table.before.whole) for row in table.rows]
    )


def _change(row: "Change", column: str, whole: int) -> str:
    """In percent of the whole before, marked when sampling noise explains it."""
    return ("~" if _uncertain(row, column) else "") + format_change(row.moved(column), whole)


def _uncertain(row: "Change", column: str) -> bool:
    return row.moved(column) != 0 and not row.significant(column)


def _change_facts(table: ChangeTable) -> dict[str, Any]:
    return {
        "event": table.before.event,
        "unit": table.before.unit,
        "before": table.before.whole,
        "after": table.comparison.whole_after,
        "confidence": table.confidence,
        "rows": [
            {
                "name": row.name,
                "object": row.object,
                "self": [row.own_before, row.own_after],
                "total": [row.total_before, row.total_after],
                "interval": {column: _rounded(row.interval(column)) for column in _COLUMNS},
                "significant": {column: row.significant(column) for column in _COLUMNS},
            }
            | more
            for row, more in zip(table.rows, _period_facts(table), strict=True)
        ],
        "unmoved": table.unmoved,
        "renamed_objects": [list(names) for names in table.renamed_objects],
        **({"work": table.work} if table.work else {}),
        **({"verdict": table.verdict.facts()} if table.verdict else {}),
    }


def _period_facts(table: ChangeTable) -> list[dict[str, list[int]]]:
    if table.periods is None:
        return [{}] * len(table.rows)
    return [
        {"self_period": [row.own_before, row.own_after], "total_period": [row.total_before, row.total_after]}
        for row in _by_period(table.periods, table.rows)
    ]


def _rounded(limits: tuple[float, float]) -> list[float]:
    """To six digits: the last ones may differ between machines."""
    return [float(f"{limit:.6g}") for limit in limits]


def _change_rows(table: ChangeTable) -> Iterator[Sequence[object]]:
    fields = ("before", "after", "change_low", "change_high", "significant")
    periods = [f"{column}_period_{field}" for column in _COLUMNS for field in fields[:2]] if table.periods else []
    yield "event", "unit", "name", "object", *(f"{column}_{field}" for column in _COLUMNS for field in fields), *periods
    event, unit = table.before.event, table.before.unit
    for row, more in zip(table.rows, _period_facts(table), strict=True):
        own, total = (_rounded(row.interval(column)) for column in _COLUMNS)
        yield (
            event, unit, row.name, row.object,
            row.own_before, row.own_after, *own, row.significant("self"),
            row.total_before, row.total_after, *total, row.significant("total"),
            *(value for pair in more.values() for value in pair),
        )  # fmt: skip
