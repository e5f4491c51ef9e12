"""Options of listings."""

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from perf2x.model.plugin_options import LISTINGS
from perf2x.model.setting import Setting

_HOTTEST = 20
"""Functions that a page embeds by default."""


class ListingOptions(Struct, frozen=True):
    """Functions to list, and what to show of them."""

    function: str = ""
    """Name or glob; empty: the ``hottest``."""
    hottest: int = _HOTTEST
    assembly: Annotated[bool, Setting(group=LISTINGS, asks="files")] = False
    """Show costs of instructions."""
    instructions: bool = False
    """Tell the instruction of each location."""
    as_recorded: Annotated[bool, Setting(group=LISTINGS, asks="files")] = False
    """Read source files under the paths that debug info has, too."""
    source_dirs: Annotated[tuple[Path, ...], Setting(group=LISTINGS, asks="files")] = ()
    """Folders with source files."""
    source: Annotated[bool, Setting(group=LISTINGS)] = False
    """Show costs of source lines; pages do, whatever is asked for, so that a format that has none names the others."""
    syntax: str = "att"
    around: int = 10
    """Lines to show before and after one with a cost."""
    columns: tuple[str, ...] = ()
    """Other events, and ratios, as in tables."""
    value: str = ""
    """``period`` or ``samples`` of the default event; empty: both, of all events."""
