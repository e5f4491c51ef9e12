"""Options of commands that print the result of a query."""

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.options.table_options import Json, Wide
from perf2x.errors import OptionError
from perf2x.model.setting import Setting

if TYPE_CHECKING:
    from perf2x.fleet.query import Answer

Shape = Literal["table", "csv", "json", "markdown", "parquet"]
_SUFFIXES: dict[str, Shape] = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}


class AnswerFlags(Frozen):
    """Format of a result, and its destination."""

    format: Annotated[
        Shape | None,
        Setting("Output format.", shown_default="by the name of FILE, else table", panel="Table"),
    ] = None
    as_json: Json = False
    output: Annotated[str, Setting("Output file; - is standard output.", ("--output", "-o"), "FILE")] = "-"
    limit: Annotated[
        int,
        Setting("Show N rows of a table; 0: all.", ("--limit", "-n"), "N", least=0, panel="Table"),
    ] = 1000
    wide: Wide = False

    def shape(self) -> Shape:
        """Return the format. Raises OptionError when a binary format would go to a terminal."""
        shape: Shape = "json" if self.as_json else self.format or _SUFFIXES.get(PurePath(self.output).suffix, "table")
        if shape == "parquet" and self.output == "-" and sys.stdout.isatty():
            raise OptionError("parquet is binary; choose a file with -o, or redirect the output")
        return shape

    def write(self, answer: "Answer", shape: Shape) -> int:
        """Write the result; return the number of rows that a table omits."""
        from perf2x.base.files.atomic import STDOUT, open_output
        from perf2x.cli.render.query_result import WRITERS, first_rows, markdown_lines, text_lines
        from perf2x.cli.render.report_formats import print_report_text
        from perf2x.cli.render.screen import Screen, standard_output

        if shape in WRITERS:
            with open_output(self.output, inputs=()) as out:
                WRITERS[shape](answer, out)
            return 0
        layout, left_out = first_rows(answer, self.limit)
        screen = standard_output(wide=self.wide)
        screen = screen if self.output == STDOUT else Screen(screen.room)
        lines = markdown_lines(layout) if shape == "markdown" else text_lines(layout, screen)
        text = "".join(f"{line}\n" for line in lines)
        if self.output == STDOUT:
            print_report_text(text)
            return left_out
        with open_output(self.output, inputs=()) as out:
            out.write(text.encode())
        return left_out
