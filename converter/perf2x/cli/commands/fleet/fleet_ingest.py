"""``perf2x fleet ingest``: many recordings into one dataset."""

from typing import Annotated

import typer

from perf2x.base.errors import OptionError
from perf2x.base.files.operating_system import available_cores
from perf2x.cli.fleet_progress import FleetProgress
from perf2x.cli.option_groups import Only, with_groups
from perf2x.cli.options.dataset_options import LabelFlags, Output, WorkerFlags, parse_age, summarize
from perf2x.cli.options.gate_options import parse_percentage
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.quality_gates import exit_for_failed_gates
from perf2x.pipeline.load_options import LoadOptions

Recordings = Annotated[
    list[str] | None,
    typer.Argument(metavar="RECORDING", help="Files, patterns ('*.data') and addresses (s3://…); see --list."),
]
Lists = Annotated[
    list[str] | None,
    typer.Option("--list", metavar="FILE", help="A file with the name of a recording per line; repeatable."),
]
Leave = Annotated[
    str,
    typer.Option(
        "--leave-unfinished", metavar="AGE", help="Skip unfinished recordings that changed within this time (0s: none)."
    ),
]
FailAbove = Annotated[
    str | None,
    typer.Option(
        "--fail-above-errors", metavar="PCT", help="Fail if more than PCT % of the recordings cannot be read."
    ),
]

_ALONE = 8
"""Recordings for which a worker is not started: its start would take longer."""


@with_groups
def fleet_ingest(
    inputs: Recordings = None,
    *,
    output: Output,
    lists: Lists = None,
    labels: LabelFlags,
    crew: WorkerFlags,
    leave_unfinished: Leave = "1m",
    fail_above_errors: FailAbove = None,
    asked: Annotated[
        LoadOptions, Only("symfs", "kallsyms", "debug_dirs", "buildid_dir", "perf_map_dir", "max_unpacked")
    ],
    quiet: Quiet = False,
) -> None:
    """Add many recordings to a dataset, on all cores or on a Dask cluster.

    Recordings are read, stitched and unwound; names are looked up later. Content that the dataset has is skipped, so
    the same command goes on where it was interrupted. A recording that cannot be read is a row with its error, and
    one that is unfinished or cut a row that says so, until more of it comes.

    ::

        perf2x fleet ingest recordings/*.data -o profiles/
        perf2x fleet ingest 's3://bucket/*.data' -o profiles/ --tag service=web --partition service
        perf2x fleet ingest --list names.txt -o profiles/ --scheduler tls://scheduler:8786
    """
    from perf2x.fleet.ingest import ingest
    from perf2x.fleet.input_names import expanded

    typed = "100" if fail_above_errors is None else fail_above_errors
    allowed = parse_percentage(f"--fail-above-errors {typed}", typed)
    leave_ns = parse_age("--leave-unfinished", leave_unfinished, "90s, 5m or 12h")
    sources = expanded(inputs or (), lists or ())
    if not sources:
        raise OptionError("name recordings, or files that list them (--list)")
    job = labels.job(output, asked, leave_ns, sources)
    progress = FleetProgress(quiet)
    count = min(crew.workers or available_cores(), -(-len(sources) // _ALONE))
    with crew.begin(count) as workers:
        totals = ingest(workers, count, sources, job, progress)
    progress.close()
    if not quiet:
        summarize(output, totals)
    share = 100 * totals.failed / totals.of
    if share > allowed:
        exit_for_failed_gates([f"{share:.1f} % of the recordings cannot be read, more than {allowed:g} %"])
