"""Options of listings."""

from pathlib import Path

from msgspec import Struct

_HOTTEST = 20
"""Functions that a page embeds by default."""


class ListingOptions(Struct, frozen=True):
    """Functions to list, and what to show of them."""

    function: str = ""
    """Name or glob; empty: the ``hottest``."""
    hottest: int = _HOTTEST
    source: bool = True
    """Show costs of source lines."""
    assembly: bool = False
    """Show costs of instructions."""
    instructions: bool = False
    """Tell the instruction of each location."""
    as_recorded: bool = False
    """Read source files under the paths that debug info has, too."""
    source_dirs: tuple[Path, ...] = ()
    """Folders with source files."""
    syntax: str = "att"
    around: int = 10
    """Lines to show before and after one with a cost."""
    columns: tuple[str, ...] = ()
    """Other events, and ratios, as in tables."""
    value: str = ""
    """``period`` or ``samples`` of the default event; empty: both, of all events."""
