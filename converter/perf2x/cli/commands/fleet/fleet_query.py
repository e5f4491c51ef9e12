"""``perf2x fleet query``: runs SQL on a dataset and prints or writes the result."""

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.messages import print_message
from perf2x.cli.options.dataset_options import DatasetOrPart
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.table_options import Json, Wide
from perf2x.cli.parameters import Only
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.setting import Argument, Setting
from perf2x.sources.dataset.sql.query_limits import QueryLimits

if TYPE_CHECKING:
    from perf2x.fleet.query import QueryResult

Sql = Annotated[str, Argument("An SQL statement for DuckDB; - reads it from standard input.", metavar="SQL")]

# Maximum size of a statement in bytes.
_MAX_STATEMENT = 1 << 20

ResultFormat = Literal["table", "csv", "json", "markdown", "parquet"]
_FORMAT_BY_SUFFIX: dict[str, ResultFormat] = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}


class ResultFlags(Frozen):
    """The format of the result, and where it goes."""

    format: Annotated[
        ResultFormat | None,
        Setting("Output format.", shown_default="by the name of FILE, else table", panel="Table"),
    ] = None
    as_json: Json = False
    output: Annotated[str, Setting("Output file; - is standard output.", ("--output", "-o"), "FILE")] = "-"
    limit: Annotated[
        int,
        Setting("Show N rows of a table; 0: all.", ("--limit", "-n"), "N", least=0, panel="Table"),
    ] = 1000
    wide: Wide = False

    def result_format(self) -> ResultFormat:
        """Return the format of the result. Raises OptionError when a binary format would go to a terminal."""
        by_suffix = _FORMAT_BY_SUFFIX.get(PurePath(self.output).suffix, "table")
        result_format: ResultFormat = "json" if self.as_json else self.format or by_suffix
        if result_format == "parquet" and self.output == "-" and sys.stdout.isatty():
            raise OptionError("parquet is binary; choose a file with -o, or redirect the output")
        return result_format

    def write(self, result: "QueryResult", result_format: ResultFormat) -> int:
        """Write the result; return the number of rows that a table omits."""
        from perf2x.base.files.atomic import STDOUT, open_output
        from perf2x.cli.render.query_result import WRITERS, first_rows, markdown_lines, text_lines
        from perf2x.cli.render.report_formats import print_report_text
        from perf2x.cli.render.screen import Screen, standard_output

        if result_format in WRITERS:
            with open_output(self.output, inputs=()) as out:
                WRITERS[result_format](result, out)
            return 0
        layout, rows_left_out = first_rows(result, self.limit)
        screen = standard_output(wide=self.wide)
        screen = screen if self.output == STDOUT else Screen(screen.room)  # a file has no colors
        lines = markdown_lines(layout) if result_format == "markdown" else text_lines(layout, screen)
        text = "".join(f"{line}\n" for line in lines)
        if self.output == STDOUT:
            print_report_text(text)
            return rows_left_out
        with open_output(self.output, inputs=()) as out:
            out.write(text.encode())
        return rows_left_out


def fleet_query(
    dataset: DatasetOrPart,
    sql: Sql,
    *,
    result_flags: ResultFlags,
    query_limits: QueryLimits,
    load_options: Annotated[LoadOptions, Only("max_unpacked")],
    quiet: Quiet = False,
) -> None:
    """Run SQL on a dataset with DuckDB.

    A dataset has the tables recordings, samples, stacks, places, mappings and symbols, and the views by_function,
    by_stack, functions and frames. Files outside the dataset cannot be read, and nothing can be written.

    ::

        perf2x fleet query profiles/ "SELECT function, sum(self) FROM by_function GROUP BY ALL ORDER BY 2 DESC"
        perf2x fleet query profiles/ 'FROM recordings' -o recordings.csv
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.fleet.query import run_query

    result_format = result_flags.result_format()
    query = _standard_input() if sql == "-" else sql
    with limit_unpacking(load_options.max_unpacked), run_query(dataset, query, query_limits) as result:
        rows_left_out = result_flags.write(result, result_format)
    if rows_left_out and not quiet:
        print_message(f"{rows_left_out:,} more rows; --limit 0 shows all")


def _standard_input() -> str:
    try:
        text = sys.stdin.buffer.read(_MAX_STATEMENT + 1)
        if len(text) > _MAX_STATEMENT:
            raise OptionError(f"standard input: a statement has at most {_MAX_STATEMENT >> 20} MiB")
        return text.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"standard input: {getattr(error, 'strerror', None) or error}") from None
