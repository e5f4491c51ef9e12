"""``perf2x fleet ingest``: many recordings into one dataset."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from perf2x.base.errors import OptionError
from perf2x.base.files.operating_system import available_cores
from perf2x.base.files.remote import is_address
from perf2x.cli.fleet_progress import FleetProgress
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import Only, load_options, with_groups
from perf2x.cli.options.gate_options import parse_percentage
from perf2x.cli.options.input_options import Quiet, UnpackFlags
from perf2x.cli.options.name_options import SymbolFlags
from perf2x.cli.options.output_options import parse_tags
from perf2x.cli.options.upkeep_options import parse_age
from perf2x.cli.options.worker_options import WorkerFlags
from perf2x.cli.quality_gates import exit_for_failed_gates

if TYPE_CHECKING:
    from perf2x.fleet.ingest import Job, Totals
    from perf2x.pipeline.load_options import LoadOptions

Recordings = Annotated[
    list[str] | None,
    typer.Argument(metavar="RECORDING", help="Files, patterns ('*.data') and addresses (s3://…); see --list."),
]
Folder = Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The dataset; created if missing.")]
Lists = Annotated[
    list[str] | None,
    typer.Option("--list", metavar="FILE", help="A file with the name of a recording per line; repeatable."),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="KEY=VALUE", help="A tag of all recordings; repeatable.")
]
TagFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--tag-from",
        metavar="SOURCE",
        help="Tags of each recording: a path with names ('{service}/{version}/*.data'), a table with a column "
        "recording (FILE.csv), a file beside it (.json), a variable (env:NAME), or its containers (cgroup); "
        "repeatable.",
    ),
]
StartTime = Annotated[
    str,
    typer.Option(
        "--start-time",
        metavar="file|NAME",
        help="When recordings without a date began: by the date of the file, or its name ('perf-%Y%m%d-%H%M.data').",
    ),
]
Partition = Annotated[
    str, typer.Option("--partition", metavar="KEY,…", help="Tags that name folders; date is the day of the start.")
]
Timeline = Annotated[bool, typer.Option("--timeline", help="Keep a row for each sample, with time and CPU.")]
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


@with_groups
def fleet_ingest(
    inputs: Recordings = None,
    *,
    output: Folder,
    lists: Lists = None,
    tag: Tags = None,
    tag_from: TagFrom = None,
    start_time: StartTime = "",
    partition: Partition = "",
    timeline: Timeline = False,
    crew: WorkerFlags,
    leave_unfinished: Leave = "1m",
    fail_above_errors: FailAbove = None,
    symbols: Annotated[SymbolFlags, Only("symfs", "kallsyms", "debug_dirs", "buildid_dir", "perf_map_dir")],
    unpacking: UnpackFlags,
    quiet: Quiet = False,
) -> None:
    """Add many recordings to a dataset, on all cores or on a Dask cluster.

    Recordings are read, stitched and unwound; names are looked up later. Content that the dataset has is skipped, so
    the same command goes on where it was interrupted. A recording that cannot be read is a row with its error, and
    one that is unfinished or cut a row that says so, until more of it comes.
    """
    from perf2x.fleet.ingest import ingest
    from perf2x.fleet.input_names import expanded
    from perf2x.fleet.recording_labels import check_name_pattern, tags_of_variables

    typed = "100" if fail_above_errors is None else fail_above_errors
    allowed = parse_percentage(f"--fail-above-errors {typed}", typed)
    made = _job(output, load_options(symbols, unpacking), tag, partition, timeline)
    if start_time not in ("", "file"):
        check_name_pattern(start_time)
    job = replace(
        made,
        tags={**made.tags, **tags_of_variables(tag_from or ())},
        tag_from=tuple(tag_from or ()),
        start_time=start_time,
        leave_ns=parse_age("--leave-unfinished", leave_unfinished, "90s, 5m or 12h"),
    )
    sources = expanded(inputs or (), lists or ())
    if not sources:
        raise OptionError("name recordings, or files that list them (--list)")
    progress = FleetProgress(quiet)
    count = min(crew.workers or available_cores(), len(sources))
    with crew.begin(count, _count(len(sources)), quiet=quiet) as run:
        totals = ingest(run, sources, job, progress)
    progress.close()
    if not quiet:
        _summarize(output, totals)
    share = 100 * totals.failed / totals.of
    if share > allowed:
        exit_for_failed_gates([f"{share:.1f} % of the recordings cannot be read, more than {allowed:g} %"])


def _job(output: str, options: "LoadOptions", tag: list[str] | None, partition: str, timeline: bool) -> "Job":
    from perf2x.fleet.ingest import Job
    from perf2x.pipeline.for_output import for_output
    from perf2x.storage.dataset.parquet_options import FORMAT, Parquet

    chosen = Parquet(timeline, tuple(key.strip() for key in partition.split(",") if key.strip()))
    (tags,) = parse_tags(tag, 1) if tag else [{}]
    folder = output if is_address(output) else str(Path(output).absolute())
    return Job(folder, for_output(options, FORMAT, chosen.needs), tags, chosen.partition, os.urandom(8).hex())


def _summarize(output: str, totals: "Totals") -> None:
    from perf2x.analysis.recording_advice import RECORD_DATES

    unfinished = f", {totals.unfinished:,} unfinished" if totals.unfinished else ""
    known = f", {totals.known:,} were there" if totals.known else ""
    print_message(f"{output}: {_count(totals.added)} added with {totals.samples:,} samples{unfinished}{known}")
    if totals.left:
        print_message(
            f"left for a later run: {_count(totals.left)}, unfinished and changed just now (--leave-unfinished)"
        )
    if totals.undated:
        print_message(
            f"hint: the time of day is not known of {_count(totals.undated)}: {RECORD_DATES}, --start-time gives it"
        )
    if totals.untagged:
        print_message(f"tags are missing of {_count(totals.untagged)} (--tag-from)")
    for error in totals.errors:
        print_message(f"not read: {error}")
    if totals.failed > len(totals.errors):
        print_message(f"not read: {totals.failed - len(totals.errors):,} more (column error of the table recordings)")


def _count(recordings: int) -> str:
    return f"{recordings:,} recording{'s' * (recordings != 1)}"
