"""Options of ``perf2x report`` alone."""

from typing import Annotated, ClassVar, Literal

from msgspec import Struct
from typer import Option

from perf2x.cli.options.table_options import Columns


class ReportFlags(Struct, frozen=True):
    """Contents and size of a report."""

    PANEL: ClassVar[str] = "Report"

    before: Annotated[str | None, Option(metavar="FILE", help="An earlier recording: also say what changed.")] = None
    format: Annotated[
        Literal["markdown", "json"] | None,
        Option(help="Output format; all have the same content.", show_default="tables on a terminal, else markdown"),
    ] = None
    limit: Annotated[int, Option("--limit", "-n", metavar="N", min=1, max=30, help="Maximum rows in a table.")] = 10
    max_bytes: Annotated[
        int, Option(metavar="N", min=1, help="Maximum size of the report; tables and names become shorter to fit.")
    ] = 60_000
    value: Annotated[Literal["period", "samples"], Option(help="What to count.")] = "period"
    columns: Columns = None
