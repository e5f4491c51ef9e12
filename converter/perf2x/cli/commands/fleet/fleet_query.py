"""``perf2x fleet query``: SQL about a dataset."""

import sys
from typing import Annotated

from perf2x.cli.messages import print_message
from perf2x.cli.options.dataset_options import Dataset
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.query_options import AnswerFlags
from perf2x.cli.parameters import Only
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.setting import Argument
from perf2x.sources.dataset.sql.query_limits import QueryLimits

Sql = Annotated[str, Argument("An SQL statement for DuckDB; - reads it from standard input.", metavar="SQL")]

_MOST = 1 << 20
"""Maximum size of a statement in bytes."""


def fleet_query(
    dataset: Dataset,
    sql: Sql,
    *,
    form: AnswerFlags,
    limits: QueryLimits,
    bounds: Annotated[LoadOptions, Only("max_unpacked")],
    quiet: Quiet = False,
) -> None:
    """Run SQL on a dataset with DuckDB.

    Its tables are recordings, samples, stacks, places, mappings and symbols; views are by_function, by_stack,
    functions and frames. Nothing else can be read, and nothing written.

    ::

        perf2x fleet query profiles/ "SELECT function, sum(self) FROM by_function GROUP BY ALL ORDER BY 2 DESC"
        perf2x fleet query profiles/ 'FROM recordings' -o recordings.csv
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.fleet.query import answered

    shape = form.shape()
    query = _standard_input() if sql == "-" else sql
    with limit_unpacking(bounds.max_unpacked), answered(dataset, query, limits) as answer:
        left_out = form.write(answer, shape)
    if left_out and not quiet:
        print_message(f"{left_out:,} more rows; --limit 0 shows all")


def _standard_input() -> str:
    """Return the statements on standard input. Raises OptionError if there are none."""
    try:
        text = sys.stdin.buffer.read(_MOST + 1)
        if len(text) > _MOST:
            raise OptionError(f"standard input: a statement has at most {_MOST >> 20} MiB")
        return text.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"standard input: {getattr(error, 'strerror', None) or error}") from None
