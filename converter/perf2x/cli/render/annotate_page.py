"""The listings of ``perf2x annotate``, as text and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from perf2x.base.columnar import Frozen, sum_of
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import Screen, heat
from perf2x.cli.render.text_table import HEAD, Column, table_lines
from perf2x.model.number_format import format_amount, format_percent
from perf2x.model.printable_text import base_name, plain, short
from perf2x.model.profile import CodeListing, Costs, FunctionListing, InstructionCost, SourceListing, View
from perf2x.model.totals.event_columns import LineColumns, cell_text, event_columns, wholes
from perf2x.model.totals.totals import weights

GAP = "⋮"
_OF_INSTRUCTION = ("address", "text", "note", "path", "line", "function")


class _Row(Frozen):
    """A line of a listing; if ``own`` is empty, the line has no costs."""

    place: str
    """Line number or address."""
    text: str
    own: Costs = ()
    total: Costs = ()


class _Listed(Frozen):
    """The data that all listings share."""

    event: str
    unit: str
    whole: int
    """The sum of all samples."""
    beside: LineColumns
    """Other events and ratios."""

    def facts(self, own: Costs, total: Costs) -> dict[str, Any]:
        """Return costs for JSON, and the self costs of other events and ratios."""
        if not own:
            return {"self": 0, "total": 0}
        cells = self.beside.cells(own)
        return {"self": own[0], "total": total[0]} | {f"self_{name}": cell for name, cell in cells.items()}


def listing_report(profile: View, columns: Sequence[str] = ()) -> Report:
    """Return all listings, as lines for people and as JSON."""
    listings = profile.listings
    assert listings is not None
    measure = listings.measures[0]
    listed = _Listed(
        profile.events[measure.event].name,
        measure.unit,
        sum_of(weights(profile, measure.value)[profile.samples.event == measure.event]),
        LineColumns(event_columns(profile, "thread", "period", columns), listings.measures),
    )

    def lines(screen: Screen) -> Iterator[str]:
        for one in listings.functions:
            yield from _function_lines(one, listed, screen)

    def facts() -> dict[str, Any]:
        return {
            "event": listed.event,
            "unit": listed.unit,
            "value": listed.whole,
            **({"columns": wholes(listed.beside.columns)} if columns else {}),
            "functions": [_function_facts(one, listed) for one in listings.functions],
        }

    return Report(lines, facts)


def _function_facts(one: FunctionListing, listed: _Listed) -> dict[str, Any]:
    return {
        "name": one.name,
        "object": one.object,
        **listed.facts(one.own, one.total),
        "sources": [
            {
                "path": each.path,
                "reason": each.reason,
                "lines": [
                    {"line": int(row.place) if row.place.isdigit() else 0, "text": row.text}
                    | listed.facts(row.own, row.total)
                    for row in source_rows(each)
                ],
            }
            for each in one.sources
        ],
        "code": [
            {
                "object": each.object,
                "symbol": each.symbol,
                "reason": each.reason,
                "instructions": [
                    {name: getattr(row, name) for name in _OF_INSTRUCTION} | listed.facts(row.own, row.total)
                    for row in each.rows
                ],
            }
            for each in one.code
        ],
    }


def _function_lines(one: FunctionListing, listed: _Listed, screen: Screen) -> Iterator[str]:
    own, total = one.own[0], one.total[0]
    amounts = (f"{word} {format_amount(cost, listed.unit)} {format_percent(cost, listed.whole)}"
               for word, cost in (("self", own), ("total", total)))  # fmt: skip
    thing = f" ({plain(one.object)})" if one.object else ""
    all_of_it = f"{format_amount(listed.whole, listed.unit)} {plain(listed.event)}"
    yield from screen.sentence(f"{plain(one.name)}{thing}: {', '.join(amounts)} of {all_of_it}", "bold")
    for source in one.sources:
        yield from _titled(plain(source.path) or "no source file", source.reason, screen)
        yield from _table("line", list(source_rows(source)), own, max(own, total), listed, screen)
    for code in one.code:
        place = f"{plain(code.symbol)} in " if code.symbol not in ("", one.name) else ""
        yield from _titled(f"{place}{plain(code.object) or 'memory'}", code.reason, screen)
        here = sum(row.own[0] for row in code.rows)
        rows = list(code_rows(code, one))
        yield from _table("address", rows, here, max(own, total), listed, screen) if rows else ()
    if one.places > len(one.code):
        yield f"{one.places - len(one.code):,} more places with less cost are left out"
    yield ""


def _titled(head: str, reason: str, screen: Screen) -> Iterator[str]:
    yield ""
    yield from screen.sentence(f"{head}: {plain(reason)}" if reason else head, "bold")


def source_rows(source: SourceListing) -> Iterator[_Row]:
    """Yield the lines with costs, in file order, and the text around them."""
    costs = {line.number: line for line in source.lines}
    before = None
    for number in sorted(costs.keys() | source.text.keys()):
        if before and number > before + 1 and source.text:
            yield _Row("", GAP)
        line, place = costs.get(number), str(number) if number else "?"
        text = _code_text(source.text.get(number, ""))
        yield _Row(place, text, line.own, line.total) if line else _Row(place, text)
        before = number


def code_rows(code: CodeListing, one: FunctionListing) -> Iterator[_Row]:
    """Yield the instructions, each change of source line preceded by the line."""
    led_to = {row.target for row in code.rows if row.target >= 0}
    source = ("", -1, "")
    for at, row in enumerate(code.rows):
        here = (row.path, row.line, row.function)
        if here != source and row.path:
            inlined = "" if row.function in ("", one.name) else f" {plain(row.function)}"
            text = _code_text(one.text.get(row.path, {}).get(row.line, "")).strip()
            yield _Row("", f"{plain(base_name(row.path))}:{row.line or '?'}{inlined}  {text}".rstrip())
        source = here
        mark = "▸" if at in led_to else " "
        yield _Row(f"{mark}{row.address:x}", f"  {instruction_text(row, at)}", row.own, row.total)


def instruction_text(row: InstructionCost, at: int) -> str:
    """Return an instruction with its target: an arrow for jumps inside the listing, a name for others."""
    arrow = "" if row.target < 0 else " ↑" if row.target <= at else " ↓"
    return plain(row.text) + arrow + (f"  <{plain(row.note)}>" if row.note else "")


def _code_text(text: str) -> str:
    return plain(text.expandtabs(8))


def _table(
    place: str, rows: Sequence[_Row], whole: int, largest: int, listed: _Listed, screen: Screen
) -> Iterator[str]:
    """Yield lines of a table whose last column is truncated if necessary; costs are shares of ``whole``."""

    def amounts(costs: Iterable[Costs]) -> list[str]:
        return ["" if not one else format_amount(one[0], listed.unit, largest) if one[0] else "." for one in costs]

    own = [row.own[0] if row.own else 0 for row in rows]
    shares = [format_percent(cost, whole) if cost else "" for cost in own]
    cells = [listed.beside.cells(row.own) if row.own else {} for row in rows]
    style = ["" if any(row.total[:1]) else "dim" for row in rows]
    columns = [
        Column("self", amounts(row.own for row in rows)),
        Column("", shares, [heat(cost, whole) for cost in own]),
        Column("total", amounts(row.total for row in rows)),
        *(
            Column(short(one.name, HEAD), [cell_text(each[one.name], one.whole) if each else "" for each in cells])
            for one in listed.beside.columns
        ),
        Column(place, [row.place for row in rows], "dim"),
        Column("", [row.text for row in rows], style, is_name=True, cut_at_end=True),
    ]
    return table_lines([columns], screen)
