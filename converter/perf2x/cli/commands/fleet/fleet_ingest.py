"""``perf2x fleet ingest``: adds many recordings to a dataset."""

from typing import Annotated

from perf2x.base.files.operating_system import available_cores
from perf2x.cli.fail_if import exit_for_failed_gates
from perf2x.cli.fleet_progress import FleetProgress
from perf2x.cli.options.dataset_options import IngestFlags, OutputDataset, WorkerFlags, parse_age, print_ingest_summary
from perf2x.cli.options.gate_options import parse_percentage
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.parameters import Only
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.setting import Argument, Setting

Recordings = Annotated[
    tuple[str, ...], Argument("Files, patterns ('*.data') and addresses (s3://…); see --list.", metavar="RECORDING")
]
Lists = Annotated[
    tuple[str, ...], Setting("A file with the name of a recording per line; repeatable.", ("--list",), "FILE")
]
LeaveUnfinished = Annotated[
    str, Setting("Skip unfinished recordings that changed within this time (0s: none).", metavar="AGE")
]
FailAboveErrors = Annotated[str, Setting("Fail if more than PCT % of the recordings cannot be read.", metavar="PCT")]

# Starting another worker takes longer than reading this many recordings.
_RECORDINGS_PER_WORKER = 8


def fleet_ingest(
    inputs: Recordings = (),
    *,
    output: OutputDataset,
    lists: Lists = (),
    ingest_flags: IngestFlags,
    worker_flags: WorkerFlags,
    leave_unfinished: LeaveUnfinished = "1m",
    fail_above_errors: FailAboveErrors = "100",
    load_options: Annotated[
        LoadOptions, Only("symfs", "kallsyms", "debug_dirs", "buildid_dir", "perf_map_dir", "max_unpacked")
    ],
    quiet: Quiet = False,
) -> None:
    """Add many recordings to a dataset, on all cores or on a Dask cluster.

    Recordings are read, stitched and unwound; names are looked up later. Recordings that the dataset already has are
    skipped, so you can repeat a command that was interrupted. A recording that cannot be read becomes a row with its
    error; one that is unfinished or truncated becomes a row that is marked as such, until there is more of it.

    ::

        perf2x fleet ingest recordings/*.data -o profiles/
        perf2x fleet ingest 's3://bucket/*.data' -o profiles/ --tag service=web --partition service
        perf2x fleet ingest --list names.txt -o profiles/ --scheduler tls://scheduler:8786
    """
    from perf2x.fleet.ingest import ingest
    from perf2x.fleet.input_names import expand_names

    max_percent = parse_percentage(f"--fail-above-errors {fail_above_errors}", fail_above_errors)
    leave_ns = parse_age("--leave-unfinished", leave_unfinished, "90s, 5m or 12h")
    sources = expand_names(inputs, lists)
    if not sources:
        raise OptionError("name recordings, or files that list them (--list)")
    job = ingest_flags.job(output, load_options, leave_ns, sources)
    progress = FleetProgress(quiet, "recordings")
    worker_count = min(worker_flags.workers or available_cores(), -(-len(sources) // _RECORDINGS_PER_WORKER))
    with worker_flags.start(worker_count) as workers:
        totals = ingest(workers, worker_count, sources, job, progress)
    progress.close()
    if not quiet:
        print_ingest_summary(output, totals)
    failed_percent = 100 * totals.failed / totals.total
    if failed_percent > max_percent:
        exit_for_failed_gates([f"{failed_percent:.1f} % of the recordings cannot be read, more than {max_percent:g} %"])
