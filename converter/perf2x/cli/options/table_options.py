"""Options of commands that print a table."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.setting import Setting, changed_settings
from perf2x.model.totals.row_kinds import By, Sort, Value

if TYPE_CHECKING:
    from perf2x.cli.render.report_formats import Report

Columns = Annotated[
    tuple[str, ...],
    Setting(
        "Add a column: another event, all of them, or a ratio of two: ipc, mpki (cache misses per 1,000 "
        "instructions), mispredicts (per branch), A/B; repeatable.",
        ("--column",),
        "NAME",
    ),
]


class RowFlags(Frozen):
    """Contents of a table of functions, objects or threads."""

    PANEL = "Table"

    limit: Annotated[int, Setting("Show N rows; 0: all.", ("--limit", "-n"), "N", least=0)] = 20
    by: Annotated[By, Setting("Kind of the rows.")] = "function"
    sort: Annotated[Sort, Setting("Column to sort by.")] = "self"
    value: Annotated[
        Value,
        Setting(
            "Value to sum: latency (the period divided by the number of running threads), weight (of memory accesses), "
            "mispredicts (of branches)."
        ),
    ] = "period"
    columns: Columns = ()

    def load_option_fields(self) -> dict[str, Any]:
        """Return the fields of LoadOptions on which the contents of the table depend."""
        from perf2x.model.transforms.replace_samples import table_load_options

        return table_load_options(self.by, self.value) | {"keep_other_events": bool(self.columns)}


class GraphFlags(RowFlags):
    """Contents of a table of costs, or of a flame graph."""

    graph: Annotated[bool, Setting("Draw a flame graph instead; --limit is the number of its levels.")] = False

    def check_graph(self, print_flags: "PrintFlags") -> None:
        """With --graph, raise SettingError for an option that a flame graph does not support."""
        for setting, _ in (*changed_settings(self), *changed_settings(print_flags)) if self.graph else ():
            if setting not in ("graph", "limit", "value"):
                raise SettingError("", setting, " is only for tables, not for --graph")


Json = Annotated[bool, Setting("Short for --format json.", ("--json",), panel=RowFlags.PANEL)]
Wide = Annotated[bool, Setting("Show names in full, however wide the table becomes.", panel=RowFlags.PANEL)]


class PrintFlags(Frozen):
    """Format of a table."""

    PANEL = RowFlags.PANEL

    format: Annotated[
        Literal["table", "json", "markdown", "csv"], Setting("Output format; markdown is for job summaries.")
    ] = "table"
    as_json: Json = False
    wide: Wide = False

    @property
    def output_format(self) -> str:
        """The format to print: table, json, markdown or csv."""
        return "json" if self.as_json else self.format

    def show(self, report: "Report") -> None:
        """Print a report on standard output."""
        from perf2x.cli.render.report_formats import print_report

        print_report(report, self.output_format, wide=self.wide)
