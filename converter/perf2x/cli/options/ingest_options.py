"""Options of commands that add recordings to a dataset."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from typer import Option

from perf2x.base.files.remote import is_address
from perf2x.cli.messages import print_message
from perf2x.cli.options.output_options import parse_tags
from perf2x.model.number_format import plural

if TYPE_CHECKING:
    from perf2x.fleet.ingest import Job, Totals
    from perf2x.pipeline.load_options import LoadOptions

Output = Annotated[str, Option("--output", "-o", metavar="DIR", help="The dataset; created if missing.")]


class LabelFlags(Struct, frozen=True):
    """Tags and dates of recordings, and what is kept of them."""

    tag: Annotated[
        list[str] | None, Option("--tag", metavar="KEY=VALUE", help="A tag of all recordings; repeatable.")
    ] = None
    tag_from: Annotated[
        list[str] | None,
        Option(
            metavar="SOURCE",
            help="Tags of each recording: a path with names ('{service}/{version}/*.data'), a table with a column "
            "recording (FILE.csv), a file beside it (.json), a variable (env:NAME), or its containers (cgroup); "
            "repeatable.",
        ),
    ] = None
    start_time: Annotated[
        str,
        Option(
            metavar="file|NAME",
            help="When recordings without a date began: by the date of the file, or its name "
            "('perf-%Y%m%d-%H%M.data').",
        ),
    ] = ""
    partition: Annotated[str, Option(metavar="KEY,…", help="Tags that name folders; date is the day of the start.")] = (
        ""
    )
    timeline: Annotated[bool, Option(help="Keep a row for each sample, with time and CPU.")] = False

    def job(self, output: str, options: "LoadOptions", leave_ns: int) -> "Job":
        """Return the facts that all tasks of a run share; OptionError for labels that cannot be found."""
        from perf2x.fleet.ingest import Job
        from perf2x.fleet.recording_labels import check_name_pattern, tags_of_variables
        from perf2x.pipeline.for_output import for_output
        from perf2x.storage.dataset.parquet_options import FORMAT, Parquet

        chosen = Parquet(self.timeline, tuple(key.strip() for key in self.partition.split(",") if key.strip()))
        (tags,) = parse_tags(self.tag, 1) if self.tag else [{}]
        asked = tuple(self.tag_from or ())
        if self.start_time not in ("", "file"):
            check_name_pattern(self.start_time)
        return Job(
            output if is_address(output) else str(Path(output).absolute()),
            for_output(options, FORMAT, chosen.needs),
            {**tags, **tags_of_variables(asked)},
            chosen.partition,
            os.urandom(8).hex(),
            asked,
            self.start_time,
            leave_ns,
        )


def summarize(output: str, totals: "Totals") -> None:
    """Say what became of all recordings."""
    from perf2x.analysis.recording_advice import RECORD_DATES

    unfinished = f", {totals.unfinished:,} unfinished" if totals.unfinished else ""
    known = f", {totals.known:,} were there" if totals.known else ""
    added, left, undated, untagged, retagged = (
        plural(number, "recording")
        for number in (totals.added, totals.left, totals.undated, totals.untagged, totals.retagged)
    )
    print_message(f"{output}: {added} added with {plural(totals.samples, 'sample')}{unfinished}{known}")
    if totals.left:
        print_message(f"left for a later run: {left}, unfinished and changed just now (--leave-unfinished)")
    if totals.undated:
        print_message(f"hint: the time of day is not known of {undated}: {RECORD_DATES}, --start-time gives it")
    if totals.untagged:
        print_message(f"tags are missing of {untagged} (--tag-from)")
    if totals.retagged:
        print_message(f"not changed: {retagged} with other tags; perf2x fleet tag {output} KEY=VALUE changes them")
    for error in totals.errors:
        print_message(f"not read: {error}")
    if totals.failed > len(totals.errors):
        print_message(f"not read: {totals.failed - len(totals.errors):,} more (column error of the table recordings)")
