"""Columns of a table, and lines of text made from them."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.render.fit_text import cell_width, share_width, shorten
from perf2x.cli.render.screen import Screen
from perf2x.model.printable_text import plain

HEAD = 30
"""Maximum length of a heading with an event's name."""
_GAP = "  "
# If fewer cells of the terminal are left for two columns of names, a layout with fewer numbers is preferred.
_ENOUGH = 48
# Cells of the terminal that the longest bar fills.
_BAR = 8
_BAR_STYLE = "red"
_EIGHTHS = " ▏▎▍▌▋▊▉"


class Column(Frozen):
    """A heading and one text per row: numbers, which are right-aligned and never shortened, or names."""

    head: str
    texts: Sequence[str]
    style: str | Sequence[str] = ""
    """Style of all texts, or of each."""
    is_name: bool = False
    """Whether the texts are names: left-aligned, and shortened if necessary. They come from a recording and may contain
    anything.
    """
    is_bar: bool = False
    """Whether the texts are bars that repeat another column; layouts with bars are only for coloured terminals."""
    cut_at_end: bool = False
    """Whether to shorten names at the end; otherwise in the middle."""

    def called(self, head: str) -> "Column":
        """Return a copy with another heading."""
        return replace(self, head=head)

    @property
    def width(self) -> int:
        """Width of the widest text, in cells of the terminal."""
        return max(map(cell_width, (self.head, *self.texts)))

    @property
    def styles(self) -> Sequence[str]:
        """Style of the heading and of every text."""
        rows = [self.style] * len(self.texts) if isinstance(self.style, str) else self.style
        return ["bold", *rows]


def name_column(head: str, texts: Sequence[str], style: str = "") -> Column:
    """Make a column of recorded names, with control characters escaped."""
    return Column(head, [plain(text) for text in texts], style, is_name=True)


def bar_column(shares: Sequence[float]) -> Column:
    """Make bars, scaled so that the largest share fills ``_BAR`` cells."""
    largest = max(shares, default=0) or 1
    eighths = [round(8 * _BAR * max(share, 0) / largest) for share in shares]
    bars = [("█" * (size // 8) + _EIGHTHS[size % 8].strip()).ljust(_BAR) for size in eighths]
    return Column(" " * _BAR, bars, _BAR_STYLE, is_bar=True)


Layout = Sequence[Column]


def table_lines(layouts: Sequence[Layout], screen: Screen) -> Iterator[str]:
    """Yield lines that fit the screen: the heading, then the rows.

    ``layouts`` show the same rows, widest first: the first one that leaves enough space for names is used.
    """
    room = screen.room
    if screen.colors is None:
        layouts = without_bars(layouts)
    layout = layouts[0] if room is None else _fitting(layouts, room)
    wide = [column.width for column in layout]
    if room is not None:
        names = [place for place, column in enumerate(layout) if column.is_name]
        left = _room_for_names(layout, wide, room)
        widths = share_width([wide[place] for place in names], left)
        for place, size in zip(names, widths, strict=True):
            wide[place] = min(size, max(left, 1)) if layout[place].cut_at_end else size
    texts = [
        [screen.paint(_padded(text, size, column), style) for text, style in zip(
            [column.head, *column.texts], column.styles, strict=True)]
        for column, size in zip(layout, wide, strict=True)
    ]  # fmt: skip
    for row in zip(*texts, strict=True):
        yield _GAP.join(row).rstrip()


def without_bars(layouts: Sequence[Layout]) -> Sequence[Layout]:
    """Return the layouts without bars."""
    return [layout for layout in layouts if not any(column.is_bar for column in layout)]


def _fitting(layouts: Sequence[Layout], room: int) -> Layout:
    for layout in layouts:
        wide = [column.width for column in layout]
        widths = [size for size, column in zip(wide, layout, strict=True) if column.is_name]
        if _room_for_names(layout, wide, room) >= min(sum(widths), max(_ENOUGH, _ENOUGH // 2 * len(widths))):
            return layout
    return layouts[-1]


def _room_for_names(layout: Layout, wide: Sequence[int], room: int) -> int:
    used = sum(size for size, column in zip(wide, layout, strict=True) if not column.is_name)
    return room - used - len(_GAP) * (len(layout) - 1)


def _padded(text: str, size: int, column: Column) -> str:
    if column.is_name:
        text = shorten(text, size, at_end=column.cut_at_end)
    space = " " * (size - cell_width(text))
    return text + space if column.is_name else space + text
