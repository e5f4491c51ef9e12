"""Parameters of the ``fleet`` commands, which work on datasets."""

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perf2x.base.files.remote_files import is_address
from perf2x.base.frozen_struct import Frozen
from perf2x.cli.messages import print_message
from perf2x.cli.options.output_options import parse_tags
from perf2x.errors import OptionError
from perf2x.model.number_format import plural
from perf2x.model.setting import Argument, Setting

if TYPE_CHECKING:
    from perf2x.fleet.ingest import IngestTotals, Job
    from perf2x.kernel.load_options import LoadOptions

WholeDataset = Annotated[str, Argument("A folder, or an address (s3://…).", metavar="DATASET")]
DatasetOrPart = Annotated[
    str, Argument("A folder, or an address (s3://…); ?KEY=VALUE chooses recordings by tag or date.", metavar="DATASET")
]
OutputDataset = Annotated[str, Setting("The dataset; created if missing.", ("--output", "-o"), "DIR")]
DryRun = Annotated[bool, Setting("Change nothing; only print what would be removed.", ("--dry-run", "-n"))]
_AGE = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}


def parse_age(option: str, age: str, examples: str) -> int:
    """Parse an age such as ``12h`` to nanoseconds. Raises OptionError for any other text.

    ``examples`` determines the accepted units: ``90s, 5m or 12h`` stands for seconds, minutes and hours.
    """
    matched = _AGE.fullmatch(age)
    # "0s, 0m or 0h" contains "0" and each accepted unit
    if matched is None or f"0{matched[2]}" not in re.sub(r"\d+", "0", examples):
        raise OptionError(f"{option}: {age!r} is not an age; write {examples}")
    return int(matched[1]) * _SECONDS[matched[2]] * 10**9


class WorkerFlags(Frozen):
    """Where the work is done: in processes on this machine, or on a Dask cluster."""

    scheduler: Annotated[
        str | None, Setting("Use a Dask cluster instead of processes on this machine.", metavar="tls://…")
    ] = None
    workers: Annotated[
        int, Setting("Number of processes on this machine.", metavar="N", least=0, shown_default="one per core")
    ] = 0

    @contextlib.contextmanager
    def start(self, count: int) -> Iterator[Executor]:
        """Provide an executor of at most ``count`` processes; warn if the cluster can be reached without encryption."""
        from perf2x.fleet.executors import executor, is_unprotected

        if self.scheduler is not None and is_unprotected(self.scheduler):
            print_message(
                f"{self.scheduler}: not encrypted; whoever reaches it can run code there (docs/fleet.md: Workers)"
            )
        with executor(self.scheduler, count) as workers:
            yield workers


class IngestFlags(Frozen):
    """Tags and dates of the recordings to add, and how the dataset stores them."""

    tag: Annotated[tuple[str, ...], Setting("A tag of all recordings; repeatable.", metavar="KEY=VALUE")] = ()
    tag_from: Annotated[
        tuple[str, ...],
        Setting(
            "Tags of each recording: a path with names ('{service}/{version}/*.data'), a table with a column "
            "recording (FILE.csv), a file next to it (.json), a variable (env:NAME), or its containers (cgroup); "
            "repeatable.",
            metavar="SOURCE",
        ),
    ] = ()
    start_time: Annotated[
        str,
        Setting(
            "Start of recordings without a date: the file's date, or the time in its name ('{host}-%Y%m%d-%H%M.data').",
            metavar="file|NAME",
        ),
    ] = ""
    partition: Annotated[
        str, Setting("Tags that tables are partitioned by, before the day of the start.", metavar="KEY,…")
    ] = ""
    timeline: Annotated[bool, Setting("Keep a row for each sample, with time and CPU.")] = False
    replace: Annotated[bool, Setting("Replace recordings that the dataset has, with their tags and dates.")] = False

    def job(self, output: str, options: "LoadOptions", leave_ns: int, sources: Sequence[str]) -> "Job":
        """Return what all tasks of one ``fleet ingest`` share; ``output`` is the dataset.

        Raises OptionError for a tag that is not KEY=VALUE, and for an invalid pattern of ``--start-time``.
        """
        from msgspec.structs import replace

        from perf2x.fleet.ingest import Job
        from perf2x.fleet.recording_tags import check_name_pattern, tags_from_environment

        (tags,) = parse_tags(self.tag, 1)
        if self.start_time not in ("", "file"):
            check_name_pattern(self.start_time, sources)
        return Job(
            output if is_address(output) else str(Path(output).absolute()),
            replace(options, timeline=self.timeline, keep=frozenset({"cgroup"})),  # datasets store cgroups
            {**tags, **tags_from_environment(self.tag_from)},
            os.urandom(8).hex(),  # id of the run
            self.tag_from,
            self.start_time,
            leave_ns,
            self.replace,
            tuple(key.strip() for key in self.partition.split(",") if key.strip()),
        )


def print_ingest_summary(output: str, totals: "IngestTotals") -> None:
    """Print what ``fleet ingest`` did with all recordings; ``output`` is the dataset."""
    from perf2x.features.recording_advice.choose_advice import RECORD_DATES

    unfinished = f", {totals.unfinished:,} unfinished" if totals.unfinished else ""
    already = f", {totals.already_present:,} already present" if totals.already_present else ""
    added = f"{plural(totals.added, 'recording')} added with {plural(totals.samples, 'sample')}"
    print_message(f"{output}: {added}{unfinished}{already}")
    for count, sentence in (
        (totals.postponed, "left for a later run: {}, unfinished and changed just now (--leave-unfinished)"),
        (totals.undated, f"hint: {{}} without wall-clock time. {RECORD_DATES}"),
        (totals.untagged, "{} without some tags (--tag-from)"),
        (totals.retagged, "not changed: {} with other tags; --replace adds them again"),
    ):
        if count:
            print_message(sentence.format(plural(count, "recording")))
    for error in totals.errors:
        print_message(f"not read: {error}")
    if totals.failed > len(totals.errors):
        print_message(f"not read: {totals.failed - len(totals.errors):,} more (column error of the table recordings)")
