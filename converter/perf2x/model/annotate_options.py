"""Options of `perf2x annotate`, and of formats that show source lines and instructions, such as html."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.plugin_options import LISTINGS
from perf2x.model.setting import Setting, read_directories


class ListingOptions(Frozen):
    """Functions to list, and which of their lines, instructions and costs to show."""

    PANEL = "Code"

    function: str = ""
    """Name or glob of the functions to list; empty: the ``hottest`` ones."""
    as_recorded: Annotated[
        bool,
        Setting(
            "Show source lines, also read from the paths in debug info; html: of the hottest functions.",
            ("--source",),
            group=LISTINGS,
            asks="files",
        ),
    ] = False
    """Also read source files at the paths that debug info has (as recorded), not only below ``source_dirs``."""
    source_dirs: Annotated[
        tuple[Path, ...],
        Setting(
            "Folder with source files, wherever they were compiled; repeatable. Nothing outside of it is read.",
            ("--source-dir",),
            "DIR",
            group=LISTINGS,
            asks="files",
            read=read_directories,
        ),
    ] = ()
    assembly: Annotated[
        bool,
        Setting(
            "Show instructions (needs the extra assembly); html: of the hottest functions.",
            group=LISTINGS,
            asks="files",
        ),
    ] = False
    """Show costs of instructions."""
    instruction_addresses: bool = False
    """Whether to return the address of the instruction at each location, too."""
    source: Annotated[bool, Setting(group=LISTINGS)] = False
    """Show costs of source lines, as pages always do.

    It has no option of its own, but is a setting, so that formats that show no lines refuse it.
    """
    syntax: Annotated[Literal["att", "intel"], Setting("Syntax of x86 instructions.", group=LISTINGS, rare=True)] = (
        "att"
    )
    around: Annotated[
        int,
        Setting(
            "Lines to show before and after a line with costs.",
            metavar="N",
            least=0,
            most=1000,
            group=LISTINGS,
            rare=True,
        ),
    ] = 10
    hottest: Annotated[
        int,
        Setting(
            "Number of functions whose lines and instructions are embedded.",
            metavar="N",
            least=1,
            most=1000,
            group=LISTINGS,
            rare=True,
        ),
    ] = 20
    columns: tuple[str, ...] = ()
    """Further events and ratios to show the costs of (`selected_columns`)."""
    value: str = ""
    """The cost to show: ``period`` or ``samples`` of the default event; empty: both, of all events with samples."""

    def on_page(self) -> "ListingOptions":
        """Adapt the options to a page, which always shows costs of lines.

        Raises SettingError for options on how to show code if none asks for code.
        """
        defaults = ListingOptions()
        # without code, a page shows the costs of lines alone, to which these settings do not apply
        for setting in ("syntax", "around", "hottest"):
            if getattr(self, setting) != getattr(defaults, setting) and not (
                self.as_recorded or self.source_dirs or self.assembly
            ):
                # every second argument is the name of a setting
                problem = (" needs code to show: ", "as_recorded", ", ", "source_dirs", " or ", "assembly")
                raise SettingError("", setting, *problem)
        return replace(self, source=True)
