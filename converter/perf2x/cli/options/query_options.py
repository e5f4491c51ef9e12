"""Options of commands that print what DuckDB answers about a dataset."""

import errno
import os
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from perf2x.base.frozen import Frozen
from perf2x.cli.options.table_options import Json, Wide
from perf2x.errors import OptionError
from perf2x.model.setting import Setting

if TYPE_CHECKING:
    from perf2x.fleet.query import Answer
    from perf2x.sources.dataset.sql.duckdb_engine import Limits

Shape = Literal["table", "csv", "json", "markdown", "parquet"]
_SUFFIXES: dict[str, Shape] = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}


class AnswerFlags(Frozen):
    """Format of an answer, and where it goes."""

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
        """The format; OptionError for one that is not for terminals."""
        shape: Shape = "json" if self.as_json else self.format or _SUFFIXES.get(PurePath(self.output).suffix, "table")
        if shape == "parquet" and self.output == "-" and sys.stdout.isatty():
            raise OptionError("parquet is binary; name a file with -o, or redirect the output")
        return shape

    def write(self, answer: "Answer", shape: Shape) -> int:
        """Write the answer; returns the number of rows that a table leaves out."""
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


class QueryLimits(Frozen):
    """Memory of a query, and the folder for data that do not fit in it."""

    PANEL = "Limits"

    memory_limit: Annotated[
        str | None,
        Setting(
            "Memory limit of the query, such as 500M or 16G.",
            metavar="SIZE",
            shown_default="4G, at most half of the machine's",
        ),
    ] = None
    temp_directory: Annotated[
        str | None,
        Setting(
            "Folder for data that does not fit in memory.", metavar="FOLDER", shown_default="that of temporary files"
        ),
    ] = None

    def limits(self) -> "Limits":
        """Return what DuckDB is told; OptionError for a folder that is none."""
        from perf2x.base.files.unpack_limit import parse_size
        from perf2x.sources.dataset.sql.duckdb_engine import Limits

        temporary = Path(self.temp_directory) if self.temp_directory else None
        if temporary is not None and not temporary.is_dir():
            raise OptionError(f"--temp-directory {self.temp_directory}: {os.strerror(errno.ENOENT)}")
        return Limits(parse_size(self.memory_limit, "memory_limit") if self.memory_limit else None, temporary)
