"""Listings of ``perf2x annotate`` as text."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from perf2x.analysis.event_columns import LineColumns, cell_text, event_columns
from perf2x.analysis.totals import weights
from perf2x.base.columnar import Frozen, sum_of
from perf2x.cli.render.screen import Screen, heat
from perf2x.cli.render.text_table import HEAD, Column, number_column, table_lines
from perf2x.model.number_format import format_amount, format_percent
from perf2x.model.printable_text import base_name, plain, short
from perf2x.model.profile import CodeListing, Costs, FunctionListing, InstructionCost, Listings, SourceListing, View

GAP = "⋮"


class ListingRow(Frozen):
    """A line of a listing; ``own`` None: it has no costs."""

    place: str
    """Line or address."""
    text: str
    own: int | None = None
    total: int = 0
    costs: Costs = ()
    """Self of each measure; empty: none."""


class _Scale(Frozen):
    """The unit of a listing's numbers, and what they are shares of."""

    unit: str
    whole: int
    """Self of all lines or instructions of the listing."""
    largest: int
    lines: LineColumns
    """Other events and ratios."""

    def beside(self, rows: Sequence[ListingRow]) -> list[Column]:
        """Columns of other events and ratios."""
        cells = [self.lines.cells(row.costs) if row.costs else {} for row in rows]
        return [
            number_column(
                short(one.name, HEAD), [cell_text(each[one.name], one.whole) if each else "" for each in cells]
            )
            for one in self.lines.columns
        ]

    def cells(self, row: ListingRow) -> tuple[str, str, str, str]:
        """Self, its share, total, and place of a row."""
        if row.own is None:
            return "", "", "", row.place
        own, total = (format_amount(one, self.unit, self.largest) if one else "." for one in (row.own, row.total))
        return own, format_percent(row.own, self.whole) if row.own else "", total, row.place


def listing_lines(profile: View, screen: Screen, columns: Sequence[str] = ()) -> str:
    """All listings as text."""
    listings = profile.listings
    assert listings is not None
    whole = whole_of(profile, listings)
    beside = LineColumns(event_columns(profile, "thread", "period", columns), listings.measures)
    lines = (line for one in listings.functions for line in _function_lines(one, profile, whole, screen, beside))
    return "\n".join(lines) + "\n"


def _function_lines(
    one: FunctionListing,
    profile: View,
    whole: int,
    screen: Screen,
    beside: LineColumns,
) -> Iterator[str]:
    measure = profile.listings.measures[0] if profile.listings else None
    assert measure is not None
    own, total = one.own[0], one.total[0]
    event = profile.events[measure.event].name
    amounts = (f"{word} {format_amount(cost, measure.unit)} {format_percent(cost, whole)}" for word, cost in
               (("self", own), ("total", total)))  # fmt: skip
    thing = f" ({plain(one.object)})" if one.object else ""
    all_of_it = f"{format_amount(whole, measure.unit)} {plain(event)}"
    yield from screen.sentence(f"{plain(one.name)}{thing}: {', '.join(amounts)} of {all_of_it}", "bold")
    scale = _Scale(measure.unit, own, max(own, total), beside)
    for source in one.sources:
        yield ""
        yield from screen.sentence(_source_head(source), "bold")
        yield from _table(list(source_rows(source)), scale, screen, "line")
    for code in one.code:
        yield ""
        yield from screen.sentence(_code_head(code, one), "bold")
        shown = replace(scale, whole=sum(row.own[0] for row in code.rows))
        yield from _table(list(code_rows(code, one)), shown, screen, "address") if code.rows else ()
    if one.places > len(one.code):
        yield f"{one.places - len(one.code):,} more places with less cost are left out"
    yield ""


def _source_head(source: SourceListing) -> str:
    path = plain(source.path) or "no source file"
    return f"{path}: {plain(source.reason)}" if source.reason else path


def _code_head(code: CodeListing, one: FunctionListing) -> str:
    place = f"{plain(code.symbol)} in " if code.symbol not in ("", one.name) else ""
    head = f"{place}{plain(code.object) or 'memory'}"
    return f"{head}: {plain(code.reason)}" if code.reason else head


def source_rows(source: SourceListing) -> Iterator[ListingRow]:
    """The lines that have costs, in the order of the file, and the text around them."""
    costs = {line.number: line for line in source.lines}
    before = None
    for number in sorted(costs.keys() | source.text.keys()):
        if before and number > before + 1 and source.text:
            yield ListingRow("", GAP)
        text = _code_text(source.text.get(number, ""))
        line = costs.get(number)
        place = str(number) if number else "?"
        yield ListingRow(place, text) if line is None else ListingRow(place, text, line.own[0], line.total[0], line.own)
        before = number


def code_rows(code: CodeListing, one: FunctionListing) -> Iterator[ListingRow]:
    """The instructions, with their source lines between them where they change."""
    led_to = {row.target for row in code.rows if row.target >= 0}
    source = ("", -1, "")
    for at, row in enumerate(code.rows):
        here = (row.path, row.line, row.function)
        if here != source and row.path:
            yield ListingRow("", _source_of(row, one))
        source = here
        mark = "▸" if at in led_to else " "
        yield ListingRow(f"{mark}{row.address:x}", f"  {instruction_text(row, at)}", row.own[0], row.total[0], row.own)


def instruction_text(row: InstructionCost, at: int) -> str:
    """An instruction, with what it leads to: an arrow for jumps inside the listing, a name for other places."""
    arrow = "" if row.target < 0 else " ↑" if row.target <= at else " ↓"
    return plain(row.text) + arrow + (f"  <{plain(row.note)}>" if row.note else "")


def _source_of(row: InstructionCost, one: FunctionListing) -> str:
    inlined = "" if row.function in ("", one.name) else f" {plain(row.function)}"
    text = one.text.get(row.path, {}).get(row.line, "")
    return f"{plain(base_name(row.path))}:{row.line or '?'}{inlined}  {_code_text(text).strip()}".rstrip()


def _code_text(text: str) -> str:
    return plain(text.expandtabs(8))


def _table(rows: Sequence[ListingRow], scale: _Scale, screen: Screen, place: str) -> Iterator[str]:
    """Lines of a table whose last column is cut at its end where there is no room."""
    cells = list(zip(*map(scale.cells, rows), strict=True)) or [()] * 4
    hot = [heat(row.own or 0, scale.whole) for row in rows]
    columns = [
        number_column(*column) for column in zip(("self", "", "total", place), cells, ("", hot, "", "dim"), strict=True)
    ]
    text = Column(
        "", [row.text for row in rows], name=True, style=["" if row.total else "dim" for row in rows], code=True
    )
    return table_lines([[*columns[:3], *scale.beside(rows), columns[3], text]], screen)


def whole_of(profile: View, listings: Listings) -> int:
    """The sum of all samples."""
    measure = listings.measures[0]
    return sum_of(weights(profile, measure.value)[profile.samples.event == measure.event])
