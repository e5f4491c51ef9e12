"""Options of commands that print a table."""

from typing import Annotated, Literal, TypeVar

import typer
from msgspec import Struct

_PANEL = "Table"

Row = TypeVar("Row")

Limit = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=0, help="Show N rows; 0: all.", rich_help_panel=_PANEL)
]
By = Annotated[
    Literal["function", "object", "thread", "data-object"],
    typer.Option("--by", help="Kind of the rows.", rich_help_panel=_PANEL),
]
Value = Annotated[
    Literal["period", "samples", "latency", "weight", "mispredicts"],
    typer.Option(
        "--value",
        help="Kind of the numbers; latency: period divided by threads that ran; weight: of memory accesses; "
        "mispredicts: of branches.",
        rich_help_panel=_PANEL,
    ),
]
Format = Annotated[
    Literal["table", "json", "markdown", "csv"],
    typer.Option("--format", help="Output format; markdown is for job summaries.", rich_help_panel=_PANEL),
]
Json = Annotated[bool, typer.Option("--json", help="Short for --format json.", rich_help_panel=_PANEL)]
Wide = Annotated[
    bool, typer.Option("--wide", help="Do not shorten names, however wide the table becomes.", rich_help_panel=_PANEL)
]


class TableFlags(Struct, frozen=True):
    """Contents and format of a table of functions, objects or threads."""

    limit: Limit
    by: By
    sort: Literal["self", "total"]
    value: Value
    format: Format
    as_json: Json
    wide: Wide

    @property
    def shape(self) -> str:
        """Format to print: table, json, markdown or csv."""
        return "json" if self.as_json else self.format

    def first(self, rows: list[Row]) -> list[Row]:
        """The first ``--limit`` rows, all of them for 0."""
        return rows[: self.limit or None]
