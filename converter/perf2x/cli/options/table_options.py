"""Options of commands that print a table."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct
from typer import Option

from perf2x.base.errors import SettingError

Columns = Annotated[
    list[str] | None,
    Option(
        "--column",
        metavar="NAME",
        help="Add a column: another event, all of them, or a ratio of two: ipc, mpki (cache misses per 1,000 "
        "instructions), mispredicts (per branch), A/B; repeatable.",
    ),
]


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

    columns: Columns = None

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions."""
        from perf2x.transforms.weights_and_mispredicts import value_options

        return value_options(self.by, self.value) | {"beside": bool(self.columns)}


class GraphFlags(RowFlags, frozen=True):
    """Contents of a table of costs, or of a flame graph."""

    graph: Annotated[bool, Option(help="Draw a flame graph instead; --limit is the number of its levels.")] = False

    def check_graph(self, form: "PrintFlags") -> None:
        """Raise SettingError for what a flame graph does not show."""
        refused = {
            "by": self.by != "function", "columns": bool(self.columns), "sort": self.sort != "self",
            "as_json": form.as_json, "format": form.format != "table", "wide": form.wide,
        }  # fmt: skip
        for setting, given in refused.items() if self.graph else ():
            if given:
                raise SettingError("", setting, " is for tables; leave it out with --graph")


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
