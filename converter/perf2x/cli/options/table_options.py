"""Options of commands that print a table."""

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from msgspec import Struct
from typer import Option

Row = TypeVar("Row")


class RowFlags(Struct, frozen=True):
    """Contents of a table of functions, objects or threads."""

    PANEL: ClassVar[str] = "Table"

    limit: Annotated[int, Option("--limit", "-n", metavar="N", min=0, help="Show N rows; 0: all.")] = 20
    by: Annotated[Literal["function", "object", "thread", "data-object"], Option(help="What the rows are.")] = (
        "function"
    )
    sort: Annotated[Literal["self", "total"], Option(help="Column to sort by.")] = "self"
    value: Annotated[
        Literal["period", "samples", "latency", "weight", "mispredicts"],
        Option(
            help="What to count; latency: period divided by running threads; weight: of memory accesses; "
            "mispredicts: of branches."
        ),
    ] = "period"

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions."""
        return {
            **of_value(self.value),
            "latency": "beside" if self.value == "latency" else "",
            "data_objects": self.by == "data-object",
        }

    def first(self, rows: list[Row]) -> list[Row]:
        """The first ``--limit`` rows, all of them for 0."""
        return rows[: self.limit or None]


Json = Annotated[bool, Option("--json", help="Short for --format json.", rich_help_panel=RowFlags.PANEL)]
Wide = Annotated[
    bool,
    Option("--wide", help="Show names in full, however wide the table becomes.", rich_help_panel=RowFlags.PANEL),
]


class PrintFlags(Struct, frozen=True):
    """Format of a table."""

    PANEL: ClassVar[str] = RowFlags.PANEL

    format: Annotated[
        Literal["table", "json", "markdown", "csv"], Option(help="Output format; markdown is for job summaries.")
    ] = "table"
    as_json: Json = False
    wide: Wide = False

    @property
    def shape(self) -> str:
        """Format to print: table, json, markdown or csv."""
        return "json" if self.as_json else self.format


def of_value(value: str | None) -> dict[str, str]:
    """The field of LoadOptions for a kind of numbers that samples have besides their period."""
    from perf2x.transforms.weights_and_mispredicts import VALUES

    return {"value": value} if value in VALUES else {}
