"""The table of ``perf2x diff`` in every format."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.cli.render.columns import Column, Layout, names, numbers, table_lines
from perf2x.cli.render.fit_text import sentence
from perf2x.cli.render.plain_table import amount, plural, signed
from perf2x.cli.render.show import Report
from perf2x.tables.printable import short

if TYPE_CHECKING:
    from perf2x.analysis.diff import Change
    from perf2x.analysis.totals import Totals

_EVENT = 60
"""Characters of an event's name in a heading."""
_COLUMNS = ("self", "total")
_SHOWN = 2000
"""A change below one in so many of the whole before reads as 0.0 %."""


class Shown(Struct, frozen=True):
    """What the table shows of a comparison."""

    was: "Totals"
    now: "Totals"
    rows: Sequence["Change"]
    by: str
    sort: str
    normalize: bool
    confidence: float
    unmoved: int
    """Rows left out because they did not move."""
    sources: tuple[str, str]


def has_moved(row: "Change", whole: int) -> bool:
    """Whether a change of this row, itself or in total, reads as more than 0.0 % of the whole before."""
    return max(abs(row.own), abs(row.total)) * _SHOWN >= max(whole, 1)


def diff_report(shown: Shown) -> Report:
    """The comparison in every format."""

    def lines(room: int | None) -> Iterator[str]:
        yield from sentence(f"{short(shown.was.event, _EVENT)}: {_contents(shown)}", room)
        if shown.rows:
            yield from table_lines(_layouts(shown), room)
        else:
            yield f"no {shown.by} moved"

    def markdown() -> Iterator[str]:
        from perf2x.cli.render.markdown import Section, code, document, own

        text = f"{code(shown.was.event, _EVENT)}: {own(_contents(shown))}"
        if not shown.rows:
            text += f"; no {shown.by} moved"
        elif shown.unmoved:
            text += f"; {left_out(shown)}"
        before, after = map(code, shown.sources)
        return document(f"perf2x diff: {before} → {after}", [Section(text, _layouts(shown)[0])])

    return Report(lines, lambda: _facts(shown), markdown, lambda: _rows(shown))


def left_out(shown: Shown) -> str:
    """How many rows are not shown because they did not move."""
    return f"left out: {plural(shown.unmoved, shown.by)} that did not move"


def _contents(shown: Shown) -> str:
    was, now = shown.was, shown.now
    whole = f"{amount(was.whole, was.unit)} before, {amount(now.whole, was.unit)} after"
    marked = any(_uncertain(row, column) for row in shown.rows for column in _COLUMNS)
    notes = ("; shares compared" if shown.normalize else "") + ("; ~ may be chance" if marked else "")
    return f"{whole} ({signed(now.whole - was.whole, was.whole)}){notes}"


def _layouts(shown: Shown) -> list[Layout]:
    """With less room goes what the table is not sorted by, then the objects, then all but the changes."""
    was, rows = shown.was, shown.rows
    own_changes = numbers("change", [_change(row, "self", was.whole) for row in rows])
    total_changes = numbers("change", [_change(row, "total", was.whole) for row in rows])
    own = [_amounts(shown, "self before", "own_before"), _amounts(shown, "after", "own_after"), own_changes]
    total = [_amounts(shown, "total before", "total_before"), _amounts(shown, "after", "total_after"), total_changes]
    changes = [own_changes.called("self"), total_changes.called("total")]
    narrow = [*own, changes[1]] if shown.sort == "self" else [changes[0], *total]
    name = names(shown.by, [row.name for row in rows])
    thing = [names("object", [row.object or "–" for row in rows])] if shown.by == "function" else []
    return [[*own, *total, *thing, name], [*narrow, *thing, name], [*narrow, name], [*changes, name]]


def _amounts(shown: Shown, head: str, field: str) -> Column:
    return numbers(head, [amount(getattr(row, field), shown.was.unit, shown.was.whole) for row in shown.rows])


def _change(row: "Change", column: str, whole: int) -> str:
    """In percent of the whole before, marked when sampling noise explains it."""
    return ("~" if _uncertain(row, column) else "") + signed(row.moved(column), whole)


def _uncertain(row: "Change", column: str) -> bool:
    return row.moved(column) != 0 and not row.significant(column)


def _facts(shown: Shown) -> dict[str, Any]:
    return {
        "event": shown.was.event,
        "unit": shown.was.unit,
        "before": shown.was.whole,
        "after": shown.now.whole,
        "confidence": shown.confidence,
        "rows": [
            {
                "name": row.name,
                "object": row.object,
                "self": [row.own_before, row.own_after],
                "total": [row.total_before, row.total_after],
                "interval": {column: _rounded(row.interval(column)) for column in _COLUMNS},
                "significant": {column: row.significant(column) for column in _COLUMNS},
            }
            for row in shown.rows
        ],
        "unmoved": shown.unmoved,
    }


def _rounded(limits: tuple[float, float]) -> list[float]:
    """To six digits: the last ones may differ between machines."""
    return [float(f"{limit:.6g}") for limit in limits]


def _rows(shown: Shown) -> Iterator[Sequence[object]]:
    fields = ("before", "after", "change_low", "change_high", "significant")
    yield "event", "unit", "name", "object", *(f"{column}_{field}" for column in _COLUMNS for field in fields)
    event, unit = shown.was.event, shown.was.unit
    for row in shown.rows:
        own, total = (_rounded(row.interval(column)) for column in _COLUMNS)
        yield (
            event, unit, row.name, row.object,
            row.own_before, row.own_after, *own, row.significant("self"),
            row.total_before, row.total_after, *total, row.significant("total"),
        )  # fmt: skip
