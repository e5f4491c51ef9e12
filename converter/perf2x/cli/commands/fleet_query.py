"""``perf2x fleet query``: SQL about a dataset."""

import errno
import os
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perf2x.base.errors import OptionError
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet, UnpackFlags
from perf2x.cli.options.table_options import Json, Wide
from perf2x.cli.options.upkeep_options import Folder

if TYPE_CHECKING:
    from perf2x.fleet.query import Answer

Shape = Literal["table", "csv", "json", "markdown", "parquet"]
Sql = Annotated[str, typer.Argument(metavar="SQL", help="An SQL statement for DuckDB; - reads it from standard input.")]
Format = Annotated[
    Shape | None,
    typer.Option(
        "--format", help="Output format.", show_default="by the name of FILE, else table", rich_help_panel="Table"
    ),
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Output file; - is standard output.")]
Limit = Annotated[
    int,
    typer.Option("--limit", "-n", metavar="N", min=0, help="Show N rows of a table; 0: all.", rich_help_panel="Table"),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory-limit", metavar="SIZE", help="Memory limit of the query, such as 500M or 16G.",
        show_default="4G, at most half of the machine's", rich_help_panel="Limits",
    ),
]  # fmt: skip
Temporary = Annotated[
    str | None,
    typer.Option(
        "--temp-directory", metavar="FOLDER", help="Folder for data that does not fit in memory.",
        show_default="that of temporary files", rich_help_panel="Limits",
    ),
]  # fmt: skip

_MOST = 1 << 20
"""Bytes of a statement."""
_SUFFIXES: dict[str, Shape] = {".csv": "csv", ".json": "json", ".md": "markdown", ".parquet": "parquet"}


@with_groups
def fleet_query(
    dataset: Folder,
    sql: Sql,
    *,
    format: Format = None,  # noqa: A002 - the option's name
    as_json: Json = False,
    output: Output = "-",
    limit: Limit = 1000,
    wide: Wide = False,
    memory_limit: Memory = None,
    temp_directory: Temporary = None,
    unpacking: UnpackFlags,
    quiet: Quiet = False,
) -> None:
    """Run SQL on a dataset with DuckDB.

    Its tables are recordings, samples, nodes, places, lines and mappings; views are functions, frames, stacks and
    by_function. Nothing else can be read, and nothing written.
    """
    from perf2x.base.files.unpack_limit import limit_unpacking, parse_size
    from perf2x.fleet.query import answered
    from perf2x.storage.dataset.sql.duckdb_engine import Limits

    shape: Shape = "json" if as_json else format or _SUFFIXES.get(PurePath(output).suffix, "table")
    if shape == "parquet" and output == "-" and sys.stdout.isatty():
        raise OptionError("parquet is binary; name a file with -o, or redirect the output")
    temporary = Path(temp_directory) if temp_directory else None
    limits = Limits(parse_size(memory_limit, "memory_limit") if memory_limit else None, temporary)
    if temporary is not None and not temporary.is_dir():
        raise OptionError(f"--temp-directory {temp_directory}: {os.strerror(errno.ENOENT)}")
    asked = _standard_input() if sql == "-" else sql
    with limit_unpacking(unpacking.most()), answered(dataset, asked, limits) as answer:
        left_out = _write(answer, shape, output, limit, wide)
    if left_out and not quiet:
        print_message(f"{left_out:,} more rows; --limit 0 shows all")


def _standard_input() -> str:
    """The statements that standard input has; OptionError where it has none that can be read."""
    try:
        text = sys.stdin.buffer.read(_MOST + 1)
        if len(text) > _MOST:
            raise OptionError(f"standard input: more than {_MOST >> 20} MiB are too large for a statement")
        return text.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"standard input: {getattr(error, 'strerror', None) or error}") from None


def _write(answer: "Answer", shape: Shape, output: str, limit: int, wide: bool) -> int:
    """Write the answer; returns the number of rows that a table leaves out."""
    from perf2x.base.files.atomic import STDOUT, open_output
    from perf2x.cli.render.query_result import WRITERS, first_rows, markdown_lines, text_lines
    from perf2x.cli.render.report_formats import print_report_text
    from perf2x.cli.render.screen import Screen, standard_output

    if shape in WRITERS:
        with open_output(output, inputs=()) as out:
            WRITERS[shape](answer, out)
        return 0
    layout, left_out = first_rows(answer, limit)
    screen = standard_output(wide=wide)
    screen = screen if output == STDOUT else Screen(screen.room)
    lines = markdown_lines(layout) if shape == "markdown" else text_lines(layout, screen)
    text = "".join(f"{line}\n" for line in lines)
    if output == STDOUT:
        print_report_text(text)
        return left_out
    with open_output(output, inputs=()) as out:
        out.write(text.encode())
    return left_out
