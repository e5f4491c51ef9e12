"""``perf2x fleet gc``: old recordings go."""

from typing import Annotated

import typer

from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.upkeep_options import Folder, find_dataset, now, parse_before

OlderThan = Annotated[
    str, typer.Option("--older-than", metavar="AGE", help="Remove recordings that started longer ago: 12h, 30d, 8w.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Only say how many recordings would be removed.")]


@with_groups
def fleet_gc(
    dataset: Folder,
    *,
    older_than: OlderThan,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Remove old recordings from a dataset, and what only they need.

    A recording that does not say when it started is as old as its file. Files that a killed run left unfinished go
    after a day. The command may be killed at any moment, and run while recordings are added.
    """
    from perf2x.fleet.upkeep.remove_recordings import collect

    moment = now()
    before = parse_before(older_than, moment)
    removed = collect(find_dataset(dataset), before, moment, dry_run=dry_run)
    if not quiet:
        left = f", {removed.unfinished:,} unfinished files" if removed.unfinished else ""
        verb = "would be removed" if dry_run else "removed"
        print_message(f"{dataset}: {removed.recordings:,} of {removed.of:,} recordings{left} {verb}")
