"""Columns of a table, and lines of text made from them."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from perf2x.cli.render.fit_text import cell_width, share_width, shorten
from perf2x.model.printable_text import plain

_GAP = "  "
_ENOUGH = 48
"""Cells for names below which a layout with fewer numbers is better."""


class Column(Struct, frozen=True):
    """A heading and one text for every row; ``name`` columns stand to the left and may be shortened."""

    head: str
    cells: Sequence[str]
    name: bool = False
    recorded: bool = False
    """True: the texts come from a recording and may contain anything."""

    def called(self, head: str) -> "Column":
        """A copy with another heading."""
        return Column(head, self.cells, self.name, self.recorded)


def number_column(head: str, cells: Sequence[str]) -> Column:
    """A right-aligned column that is never shortened."""
    return Column(head, cells)


def name_column(head: str, cells: Sequence[str]) -> Column:
    """A column of recorded names, with control characters escaped."""
    return Column(head, [plain(cell) for cell in cells], name=True, recorded=True)


def text_column(head: str, cells: Sequence[str]) -> Column:
    """A column of perf2x's own words."""
    return Column(head, cells, name=True)


Layout = Sequence[Column]


def table_lines(layouts: Sequence[Layout], room: int | None) -> Iterator[str]:
    """Lines of at most ``room`` cells (None: as wide as it gets): the heading, then the rows.

    ``layouts`` show the same rows, the widest first: the first one that leaves room for names is taken.
    """
    layout = layouts[0] if room is None else _fitting(layouts, room)
    wide = [max(cell_width(column.head), *map(cell_width, column.cells), 0) for column in layout]
    if room is not None:
        held = [place for place, column in enumerate(layout) if column.name]
        given = share_width([wide[place] for place in held], _room_for_names(layout, wide, room))
        for place, size in zip(held, given, strict=True):
            wide[place] = size
    for row in zip(*([column.head, *column.cells] for column in layout), strict=True):
        yield _GAP.join(map(_padded, row, wide, (column.name for column in layout))).rstrip()


def _fitting(layouts: Sequence[Layout], room: int) -> Layout:
    for layout in layouts:
        wide = [max(cell_width(column.head), *map(cell_width, column.cells), 0) for column in layout]
        wanted = sum(size for size, column in zip(wide, layout, strict=True) if column.name)
        if _room_for_names(layout, wide, room) >= min(wanted, _ENOUGH):
            return layout
    return layouts[-1]


def _room_for_names(layout: Layout, wide: Sequence[int], room: int) -> int:
    taken = sum(size for size, column in zip(wide, layout, strict=True) if not column.name)
    return room - taken - len(_GAP) * (len(layout) - 1)


def _padded(text: str, size: int, name: bool) -> str:
    text = shorten(text, size) if name else text
    space = " " * (size - cell_width(text))
    return text + space if name else space + text
