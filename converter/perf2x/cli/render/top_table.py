"""The table of ``perf2x top`` in every format."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perf2x.cli.render.fit_text import wrap_sentence
from perf2x.cli.render.number_format import format_amount, format_percent, plural
from perf2x.cli.render.report import Report
from perf2x.cli.render.text_table import Layout, name_column, number_column, table_lines
from perf2x.tables.printable import short

if TYPE_CHECKING:
    from perf2x.analysis.totals import Total, Totals

_EVENT = 60
"""Characters of an event's name in a heading."""


def top_report(
    found: "Totals", rows: Sequence["Total"], by: str, sort: str, duration_ns: int, sources: Sequence[str]
) -> Report:
    """``rows`` of ``found``, in their order; ``sources`` are the recordings, for the Markdown's heading."""
    heading = _total_heading(found, len(rows), by, duration_ns)

    def lines(room: int | None) -> Iterator[str]:
        yield from wrap_sentence(f"{short(found.event, _EVENT)}: {heading}", room)
        yield from table_lines(_total_layouts(found, rows, by, sort), room)

    def markdown() -> Iterator[str]:
        from perf2x.cli.render.markdown import Section, code, markdown_document, name_list

        text = f"{code(found.event, _EVENT)}: {heading}"
        layout = [
            column if column.head else column.called("share") for column in _total_layouts(found, rows, by, sort)[0]
        ]
        return markdown_document(f"perf2x top: {name_list(sources)}", [Section(text, layout)])

    return Report(lines, lambda: _total_facts(found, rows), markdown, lambda: _total_rows(found, rows))


def _total_heading(found: "Totals", shown: int, by: str, duration_ns: int) -> str:
    time = f" in {duration_ns / 1e9:.3f} s" if duration_ns else ""
    whole = f"{plural(found.samples, 'sample')}, {format_amount(found.whole, found.unit)}{time}"
    return f"{whole}; showing {shown:,} of {plural(len(found.rows), by)}"


def _total_layouts(found: "Totals", rows: Sequence["Total"], by: str, sort: str) -> list[Layout]:
    """Layouts from wide to narrow: all; without the amounts not sorted by; without objects; shares only."""
    own = number_column("self", [format_amount(row.own, found.unit, found.whole) for row in rows])
    own_share = number_column("", [format_percent(row.own, found.whole) for row in rows])
    total = number_column("total", [format_amount(row.total, found.unit, found.whole) for row in rows])
    share = number_column("", [format_percent(row.total, found.whole) for row in rows])
    name = name_column(by, [row.name for row in rows])
    thing = [name_column("object", [row.object or "–" for row in rows])] if by == "function" else []
    shares = [own_share.called("self"), share.called("total")]
    narrow = [own, own_share, shares[1]] if sort == "self" else [shares[0], total, share]
    return [[own, own_share, total, share, *thing, name], [*narrow, *thing, name], [*narrow, name], [*shares, name]]


def _total_facts(found: "Totals", rows: Sequence["Total"]) -> dict[str, Any]:
    return {
        "event": found.event,
        "unit": found.unit,
        "samples": found.samples,
        "value": found.whole,
        "rows": [{"name": row.name, "object": row.object, "self": row.own, "total": row.total} for row in rows],
    }


def _total_rows(found: "Totals", rows: Sequence["Total"]) -> Iterator[Sequence[object]]:
    yield "event", "unit", "name", "object", "self", "total"
    for row in rows:
        yield found.event, found.unit, row.name, row.object, row.own, row.total
