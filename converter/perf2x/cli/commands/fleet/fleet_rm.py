"""``perf2x fleet rm``: recordings that are named go."""

from typing import Annotated

import typer

from perf2x.base.errors import OptionError
from perf2x.cli.commands.fleet.fleet_gc import DryRun
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.upkeep_options import find_chosen

Chosen = Annotated[
    str, typer.Argument(metavar="DATASET", help="A folder, or an address (s3://…); ?KEY=VALUE chooses by tag or date.")
]
Recordings = Annotated[
    list[str] | None, typer.Argument(metavar="[RECORDING]...", help="Ids, or sources as FROM recordings shows them.")
]


@with_groups
def fleet_rm(dataset: Chosen, recordings: Recordings = None, *, dry_run: DryRun = False, quiet: Quiet = False) -> None:
    """Remove recordings from a dataset by id, source or tags.

    Without names, all with the tags behind the dataset's name go. Their rows are gone at once, their files after a day,
    by the next fleet gc or fleet compact. The command may be killed at any moment, and run while recordings are added;
    run it again if it was killed.
    """
    from perf2x.fleet.upkeep.remove_recordings import remove_chosen

    storage, tags = find_chosen(dataset)
    if not recordings and not tags:
        raise OptionError(f"name the recordings, by id or source, or their tags: '{dataset}?KEY=VALUE'")
    removed = remove_chosen(storage, recordings or (), tags, dry_run=dry_run)
    if not quiet:
        verb = "would be removed" if dry_run else "removed"
        print_message(f"{dataset}: {removed.recordings:,} of {removed.of:,} recordings {verb}")
