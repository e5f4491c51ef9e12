"""Tables as lines of text that fit a terminal.

A table has one or several *layouts*, the widest first: lists of columns that show the same rows. Names are shortened,
usually in the middle, where they differ least. Numbers are never shortened.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.render.fit_text import cell_width, divide_width, shorten
from perf2x.cli.render.screen import Screen
from perf2x.model.printable_text import escaped

MAX_HEADING = 30
"""Maximum number of characters of a heading that is an event's name."""
_GAP = "  "
# This many cells are enough for one or two columns of names; each further column needs half as many.
_ENOUGH_FOR_NAMES = 48
# Width of the longest bar, in cells.
_BAR_WIDTH = 8
_BAR_STYLE = "red"
_EIGHTHS = " ▏▎▍▌▋▊▉"  # the last cell of a bar, by the number of its filled eighths


class Column(Frozen):
    """A heading, and a text for each row. Names are left-aligned; other texts are right-aligned."""

    head: str
    texts: Sequence[str]
    style: str | Sequence[str] = ""
    """Style of all texts, or of each text."""
    is_name: bool = False
    """Whether the texts are recorded names, which may be shortened."""
    is_bar: bool = False
    """Whether the texts are bars, which only terminals with colours show."""
    cut_at_end: bool = False
    """Whether to shorten names at the end; otherwise in the middle."""

    def with_head(self, head: str) -> "Column":
        """Return a copy with another heading."""
        return replace(self, head=head)

    @property
    def width(self) -> int:
        """Width of the heading or of the widest text, in cells."""
        return max(map(cell_width, (self.head, *self.texts)))

    @property
    def styles(self) -> Sequence[str]:
        """The style of the heading, followed by the style of each text."""
        rows = [self.style] * len(self.texts) if isinstance(self.style, str) else self.style
        return ["bold", *rows]


def name_column(head: str, texts: Sequence[str], style: str = "") -> Column:
    """Make a column of recorded names, with control characters escaped."""
    return Column(head, [escaped(text) for text in texts], style, is_name=True)


def bar_column(shares: Sequence[float]) -> Column:
    """Make a column of bars with lengths in proportion to ``shares``; the longest one fills ``_BAR_WIDTH`` cells."""
    largest = max(shares, default=0) or 1
    eighths = [round(8 * _BAR_WIDTH * max(share, 0) / largest) for share in shares]
    bars = [("█" * (size // 8) + _EIGHTHS[size % 8].strip()).ljust(_BAR_WIDTH) for size in eighths]
    return Column(" " * _BAR_WIDTH, bars, _BAR_STYLE, is_bar=True)


Layout = Sequence[Column]


def table_lines(layouts: Sequence[Layout], screen: Screen) -> Iterator[str]:
    """Yield the headings and rows in the first layout that leaves enough space for names, or in the last one."""
    room = screen.room
    if screen.colors is None:
        layouts = without_bars(layouts)
    layout = layouts[0] if room is None else _fitting_layout(layouts, room)
    widths = [column.width for column in layout]
    if room is not None:
        name_columns = [index for index, column in enumerate(layout) if column.is_name]
        name_room = _room_for_names(layout, widths, room)
        name_widths = divide_width([widths[index] for index in name_columns], name_room)
        for index, width in zip(name_columns, name_widths, strict=True):
            # divide_width gives at least 8 cells; a column of code, cut at its end, may have fewer
            widths[index] = min(width, max(name_room, 1)) if layout[index].cut_at_end else width
    cells = [
        [screen.paint(_padded(text, width, column), style) for text, style in zip(
            [column.head, *column.texts], column.styles, strict=True)]
        for column, width in zip(layout, widths, strict=True)
    ]  # fmt: skip
    for row in zip(*cells, strict=True):
        yield _GAP.join(row).rstrip()


def without_bars(layouts: Sequence[Layout]) -> Sequence[Layout]:
    """Return the layouts that have no column of bars."""
    return [layout for layout in layouts if not any(column.is_bar for column in layout)]


def _fitting_layout(layouts: Sequence[Layout], room: int) -> Layout:
    for layout in layouts:
        widths = [column.width for column in layout]
        name_widths = [width for width, column in zip(widths, layout, strict=True) if column.is_name]
        enough = max(_ENOUGH_FOR_NAMES, _ENOUGH_FOR_NAMES // 2 * len(name_widths))
        if _room_for_names(layout, widths, room) >= min(sum(name_widths), enough):
            return layout
    return layouts[-1]


def _room_for_names(layout: Layout, widths: Sequence[int], room: int) -> int:
    """Return the number of cells that are left for names; negative if the other columns do not fit."""
    used = sum(width for width, column in zip(widths, layout, strict=True) if not column.is_name)
    return room - used - len(_GAP) * (len(layout) - 1)


def _padded(text: str, width: int, column: Column) -> str:
    if column.is_name:
        text = shorten(text, width, at_end=column.cut_at_end)
    space = " " * (width - cell_width(text))
    return text + space if column.is_name else space + text
