"""The screen that lines are printed on, a terminal or not: its width and colours, and styles of text."""

import os
import sys
import textwrap
from typing import TYPE_CHECKING, Optional

from perf2x.base.frozen_struct import Frozen

if TYPE_CHECKING:
    from rich.color import ColorSystem

WIDTH_WITHOUT_TERMINAL = 160
"""Width of a line in a file, a pipe or a log, in cells."""
# Styles of labels that stand out; other labels are bold.
_LABEL_STYLES = {"loss": "bold red", "lost": "bold red", "guess": "bold yellow"}
# A longer text before a colon is not a label.
_MAX_LABEL_LENGTH = 24
# The smallest share for each style; smaller shares are dimmed.
_HEAT_STYLES = ((0.1, "bold red"), (0.02, "yellow"), (0.001, ""))


class Screen(Frozen):
    """The width of lines, and the colours that can be shown."""

    room: int | None = None
    """Width of a line in cells; None for no limit."""
    colors: Optional["ColorSystem"] = None
    """None for plain text."""

    def paint(self, text: str, style: str) -> str:
        """Return the text in a style of rich (``bold red``); unchanged without colours."""
        if self.colors is None or not style or not text:
            return text
        from rich.style import Style

        return Style.parse(style).render(text, color_system=self.colors)

    def sentence(self, text: str, style: str = "", indent: str = "") -> list[str]:
        """Return the lines of a sentence, broken between words; ``indent`` precedes all but the first."""
        lines = [text]
        if self.room is not None and len(text) > self.room:
            lines = textwrap.wrap(text, self.room, subsequent_indent=indent, break_on_hyphens=False)
        return [self.paint(line, style) for line in lines]

    def with_styled_label(self, line: str) -> str:
        """Return the line, with a style for the label before its first colon."""
        label, colon, text = line.partition(":")
        is_label = colon and len(label.strip()) <= _MAX_LABEL_LENGTH
        return self.paint(label, _LABEL_STYLES.get(label, "bold")) + colon + text if is_label else line


def heat(part: float, total: float) -> str:
    """Return the style for a share of the total."""
    share = part / total if total else 0.0
    return next((style for min_share, style in _HEAT_STYLES if share >= min_share), "dim")


def change_style(change: float, significant: bool) -> str:
    """Return the style for a change: red for growth, green for reduction, dimmed if 0 or within sampling noise."""
    return "dim" if not change or not significant else "red" if change > 0 else "green"


def standard_output(*, wide: bool = False) -> Screen:
    """Return the screen for standard output; with ``wide``, lines may have any length."""
    return Screen(None if wide else line_width(), _colors() if is_terminal() else None)


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def _colors() -> Optional["ColorSystem"]:
    if os.environ.get("NO_COLOR") or not (sys.stdout.encoding or "").lower().startswith("utf"):
        return None
    from rich.console import COLOR_SYSTEMS, Console

    console = Console()
    system = None if console.legacy_windows else console.color_system
    return COLOR_SYSTEMS[system] if system else None


def line_width() -> int:
    """Return the width of a line in cells: ``COLUMNS``, the terminal's width, or 160 without a terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH_WITHOUT_TERMINAL
    except (AttributeError, OSError, ValueError):
        return WIDTH_WITHOUT_TERMINAL
