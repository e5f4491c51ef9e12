"""``perf2x fleet compact``: fewer, larger files."""

from typing import Annotated

import typer

from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.upkeep_options import Folder, find_dataset, now, parse_before

OlderThan = Annotated[
    str | None, typer.Option("--older-than", metavar="AGE", help="Sum timelines of recordings older than 12h, 7d, 8w.")
]


@with_groups
def fleet_compact(dataset: Folder, *, older_than: OlderThan = None, quiet: Quiet = False) -> None:
    """Merge small files of a dataset, and sum its old timelines.

    What the dataset converts to stays the same, but for times of timelines that were summed. The command may be killed
    at any moment, and run while recordings are added.
    """
    from perf2x.fleet.upkeep.compact_files import compact

    before = None if older_than is None else parse_before(older_than, now())
    done = compact(find_dataset(dataset), before)
    if not quiet:
        summed = f", {done.summed:,} timelines summed" if done.summed else ""
        print_message(f"{dataset}: {done.before:,} files became {done.after:,}{summed}")
