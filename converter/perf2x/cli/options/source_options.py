"""Options for source lines and instructions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace
from typer import Option

from perf2x.base.errors import OptionError, SettingError
from perf2x.cli.options import Rare

if TYPE_CHECKING:
    from perf2x.analysis.annotate.listing_options import ListingOptions


class ListingFlags(Struct, frozen=True):
    """Source files, and form of lines and instructions."""

    PANEL: ClassVar[str] = "Code"

    source: Annotated[
        bool,
        Option(help="Show source lines, also read from the paths in debug info; html: of the hottest functions."),
    ] = False
    source_dirs: Annotated[
        list[str] | None,
        Option(
            "--source-dir",
            metavar="DIR",
            help="Folder with source files, wherever they were compiled; repeatable. Nothing outside of it is read.",
        ),
    ] = None
    assembly: Annotated[
        bool, Option(help="Show instructions (needs the extra assembly); html: of the hottest functions.")
    ] = False
    syntax: Annotated[Literal["att", "intel"], Option(help="Syntax of x86 instructions."), Rare] = "att"
    around: Annotated[
        int, Option(metavar="N", min=0, max=1000, help="Lines to show before and after a line with costs."), Rare
    ] = 10
    hottest: Annotated[
        int,
        Option(metavar="N", min=1, max=1000, help="Number of functions whose lines and instructions are embedded."),
        Rare,
    ] = 20

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions for a page; SettingError for the form of nothing."""
        if self.source or self.source_dirs or self.assembly:
            return {"listings": replace(self.options("", ""), source=True, hottest=self.hottest)}
        plain = ListingFlags()
        for setting in ("syntax", "around", "hottest"):
            if getattr(self, setting) != getattr(plain, setting):
                raise SettingError("", setting, " needs code to show: --source, --source-dir or --assembly")
        return {}

    def options(self, function: str, value: str, columns: Sequence[str] = ()) -> "ListingOptions":
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
            columns=tuple(columns),
            value=value,
        )

    def folders(self) -> tuple[Path, ...]:
        """The folders of ``--source-dir``; OptionError for one that does not exist."""
        for text in self.source_dirs or ():
            if not Path(text).is_dir():
                raise OptionError(f"--source-dir {text}: there is no such folder")
        return tuple(Path(text) for text in self.source_dirs or ())
