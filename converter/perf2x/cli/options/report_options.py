"""Options of ``perf2x report`` alone."""

from typing import Annotated, ClassVar, Literal

from msgspec import Struct
from typer import Option

from perf2x.base.errors import SettingError
from perf2x.cli.options.table_options import Columns


class ReportFlags(Struct, frozen=True):
    """Contents and size of a report."""

    PANEL: ClassVar[str] = "Report"

    before: Annotated[str | None, Option(metavar="FILE", help="An earlier recording: also say what changed.")] = None
    format: Annotated[
        Literal["markdown", "json"] | None,
        Option(help="Output format; JSON is not shortened.", show_default="tables on a terminal, else markdown"),
    ] = None
    limit: Annotated[int, Option("--limit", "-n", metavar="N", min=1, max=30, help="Maximum rows in a table.")] = 10
    max_bytes: Annotated[
        int | None,
        Option(
            metavar="N", min=8000, help="Maximum size of the page; lines beyond it are counted.", show_default="60000"
        ),
    ] = None
    value: Annotated[Literal["period", "samples"], Option(help="What to count.")] = "period"
    columns: Columns = None

    def shape(self) -> str:
        """Format to print; SettingError for what it does not have."""
        from perf2x.cli.render.screen import is_terminal

        if self.format == "json" and self.max_bytes:
            raise SettingError("", "max_bytes", " is for pages; JSON is not shortened")
        return self.format or ("table" if is_terminal() else "markdown")
