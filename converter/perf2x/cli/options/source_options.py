"""Options for source lines and instructions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.errors import OptionError
from perf2x.cli.options import Rare

if TYPE_CHECKING:
    from perf2x.analysis.annotate.listing_options import ListingOptions

_PANEL = "Code"

Source = Annotated[
    bool,
    typer.Option(
        "--source",
        help="Show source lines, read from the paths that debug info has, too; html: of the hottest functions.",
        rich_help_panel=_PANEL,
    ),
]
SourceDir = Annotated[
    list[str] | None,
    typer.Option(
        "--source-dir",
        metavar="DIR",
        help="Folder with source files, wherever they were compiled; repeatable. Nothing outside of it is read.",
        rich_help_panel=_PANEL,
    ),
]
Assembly = Annotated[
    bool,
    typer.Option(
        "--assembly",
        help="Show instructions (needs the extra assembly); html: of the hottest functions.",
        rich_help_panel=_PANEL,
    ),
]
Syntax = Annotated[
    Literal["att", "intel"],
    typer.Option("--syntax", help="Syntax of x86 instructions.", rich_help_panel=_PANEL),
    Rare,
]
Around = Annotated[
    int,
    typer.Option(
        "--around", metavar="N", min=0, max=1000, help="Lines before and after one with costs.", rich_help_panel=_PANEL
    ),
    Rare,
]


Hottest = Annotated[
    int,
    typer.Option(
        "--hottest",
        metavar="N",
        min=1,
        max=1000,
        help="Functions whose lines and instructions are embedded.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]

PageSource = Annotated[Source, Rare]
PageSourceDir = Annotated[SourceDir, Rare]
PageAssembly = Annotated[Assembly, Rare]
"""For commands that write pages, whose help is long enough."""


class ListingFlags(Struct, frozen=True):
    """Source files, and form of lines and instructions."""

    source: Source = False
    source_dir: SourceDir = None
    assembly: Assembly = False
    syntax: Syntax = "att"
    around: Around = 10

    def options(self, function: str, value: str) -> "ListingOptions":
        """Options for one function; instructions stand alone unless lines are asked for, too."""
        from perf2x.analysis.annotate.listing_options import ListingOptions

        return ListingOptions(
            function=function,
            source=self.source or not self.assembly,
            assembly=self.assembly,
            as_recorded=self.source,
            source_dirs=self.folders(),
            syntax=self.syntax,
            around=self.around,
            value=value,
        )

    def embedded(self, hottest: int) -> "ListingOptions | None":
        """Options for a page; None where neither lines nor instructions are asked for."""
        if not (self.source or self.source_dir or self.assembly):
            return None
        return replace(self.options("", ""), source=True, hottest=hottest)

    def folders(self) -> tuple[Path, ...]:
        """The folders of ``--source-dir``; OptionError for one that does not exist."""
        for text in self.source_dir or ():
            if not Path(text).is_dir():
                raise OptionError(f"--source-dir {text}: there is no such folder")
        return tuple(Path(text) for text in self.source_dir or ())
