"""Options of ``perf2x report`` alone."""

from typing import Annotated, Literal

import typer

_PANEL = "Report"

Before = Annotated[
    str | None,
    typer.Option(
        "--before", metavar="FILE", help="An earlier recording: also say what changed.", rich_help_panel=_PANEL
    ),
]
Format = Annotated[
    Literal["markdown", "json"],
    typer.Option("--format", help="Output format; both have the same facts.", rich_help_panel=_PANEL),
]
Limit = Annotated[
    int,
    typer.Option("--limit", "-n", metavar="N", min=1, max=30, help="Rows of a table.", rich_help_panel=_PANEL),
]
MaxBytes = Annotated[
    int,
    typer.Option(
        "--max-bytes",
        metavar="N",
        min=1,
        help="Size of the whole report; tables and names become shorter to fit.",
        rich_help_panel=_PANEL,
    ),
]
Value = Annotated[
    Literal["period", "samples"], typer.Option("--value", help="Kind of the numbers.", rich_help_panel=_PANEL)
]
