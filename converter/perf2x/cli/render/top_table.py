"""The table of ``perf2x top`` in every format."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perf2x.cli.render.fit_text import wrap_sentence
from perf2x.cli.render.number_format import format_amount, format_percent, plural
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.text_table import Layout, name_column, number_column, table_lines
from perf2x.model.printable_text import short

if TYPE_CHECKING:
    from perf2x.analysis.totals import Total, Totals

_EVENT = 60
"""Characters of an event's name in a heading."""


def top_report(
    found: "Totals",
    rows: Sequence["Total"],
    by: str,
    sort: str,
    duration_ns: int,
    sources: Sequence[str],
    beside: "Totals | None" = None,
) -> Report:
    """``rows`` of ``found``, in their order; ``sources`` are the recordings, for the Markdown's heading.

    ``beside`` is the same table of periods, for a column that shows what latencies are shares of.
    """
    periods = None if beside is None else Periods(beside)
    heading = _total_heading(found, len(rows), by, duration_ns)

    def lines(room: int | None) -> Iterator[str]:
        yield from wrap_sentence(f"{short(found.event, _EVENT)}: {heading}", room)
        yield from table_lines(_total_layouts(found, rows, by, sort, periods), room)

    def markdown() -> Iterator[str]:
        from perf2x.cli.render.markdown_table import Section, code, markdown_document, name_list

        text = f"{code(found.event, _EVENT)}: {heading}"
        layout = [
            column if column.head else column.called("share")
            for column in _total_layouts(found, rows, by, sort, periods)[0]
        ]
        return markdown_document(f"perf2x top: {name_list(sources)}", [Section(text, layout)])

    return Report(
        lines, lambda: _total_facts(found, rows, periods), markdown, lambda: _total_rows(found, rows, periods)
    )


class Periods:
    """Costs of the same functions by period, in a table of latencies."""

    def __init__(self, table: "Totals") -> None:
        self._whole = table.whole
        self._row_of = {(row.name, row.object): row for row in table.rows}

    def facts(self, row: "Total") -> dict[str, int]:
        """Period of a row of latencies, by itself and with all that it calls."""
        same = self._row_of[row.name, row.object]
        return {"self_period": same.own, "total_period": same.total}

    def shares(self, rows: Sequence["Total"], sort: str) -> list[str]:
        """Share of the periods of each row, of the column sorted by."""
        return [format_percent(self.facts(row)[f"{sort}_period"], self._whole) for row in rows]


def _total_heading(found: "Totals", shown: int, by: str, duration_ns: int) -> str:
    time = f" in {duration_ns / 1e9:.3f} s" if duration_ns else ""
    whole = f"{plural(found.samples, 'sample')}, {format_amount(found.whole, found.unit)}{time}"
    return f"{whole}; showing {shown:,} of {plural(len(found.rows), by)}"


def _total_layouts(
    found: "Totals", rows: Sequence["Total"], by: str, sort: str, periods: Periods | None
) -> list[Layout]:
    """Layouts from wide to narrow: all; without the amounts not sorted by; without objects; shares only."""
    own = number_column("self", [format_amount(row.own, found.unit, found.whole) for row in rows])
    own_share = number_column("", [format_percent(row.own, found.whole) for row in rows])
    total = number_column("total", [format_amount(row.total, found.unit, found.whole) for row in rows])
    share = number_column("", [format_percent(row.total, found.whole) for row in rows])
    name = name_column(by, [row.name for row in rows])
    thing = [name_column("object", [row.object or "–" for row in rows])] if by in ("function", "data-object") else []
    shares = [own_share.called("self"), share.called("total")]
    narrow = [own, own_share, shares[1]] if sort == "self" else [shares[0], total, share]
    cpu = [] if periods is None else [number_column(f"{sort} period", periods.shares(rows, sort))]
    return [
        [own, own_share, total, share, *cpu, *thing, name],
        [*narrow, *cpu, *thing, name],
        [*narrow, *cpu, name],
        [*shares, name],
    ]


def _total_facts(found: "Totals", rows: Sequence["Total"], periods: Periods | None) -> dict[str, Any]:
    def costs(row: "Total") -> dict[str, int]:
        return {"self": row.own, "total": row.total} | ({} if periods is None else periods.facts(row))

    return {
        "event": found.event,
        "unit": found.unit,
        "samples": found.samples,
        "value": found.whole,
        "rows": [{"name": row.name, "object": row.object, **costs(row)} for row in rows],
    }


def _total_rows(found: "Totals", rows: Sequence["Total"], periods: Periods | None) -> Iterator[Sequence[object]]:
    more = () if periods is None else ("self_period", "total_period")
    yield "event", "unit", "name", "object", "self", "total", *more
    for row in rows:
        extra = () if periods is None else periods.facts(row).values()
        yield found.event, found.unit, row.name, row.object, row.own, row.total, *extra
