"""The options of ``perf2x report``."""

from typing import Annotated, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.options.table_options import Columns
from perf2x.errors import SettingError
from perf2x.model.setting import Setting


class ReportFlags(Frozen):
    """The options of the report: its rows, its size and its format."""

    PANEL = "Report"

    before: Annotated[
        str | None, Setting("An earlier recording; the report also shows what changed since then.", metavar="FILE")
    ] = None
    format: Annotated[
        Literal["markdown", "json"] | None,
        Setting("Output format; JSON is not shortened.", shown_default="tables on a terminal, else markdown"),
    ] = None
    limit: Annotated[int, Setting("Maximum rows in a table.", ("--limit", "-n"), "N", least=1, most=30)] = 10
    max_bytes: Annotated[
        int | None,
        Setting(
            "Maximum size of the page; lines beyond it are counted.", metavar="N", least=8000, shown_default="60000"
        ),
    ] = None
    value: Annotated[Literal["period", "samples"], Setting("Value to sum.")] = "period"
    columns: Columns = ()

    def output_format(self) -> str:
        """Return the format to print: table, markdown or json. Raises SettingError for ``max_bytes`` of JSON."""
        from perf2x.cli.render.screen import is_terminal

        if self.format == "json" and self.max_bytes:
            raise SettingError("", "max_bytes", " is for pages; JSON is not shortened")
        return self.format or ("table" if is_terminal() else "markdown")
