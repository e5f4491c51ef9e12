"""``perf2x fleet rm``: removes recordings from a dataset by name or by tags."""

from typing import Annotated

from perf2x.cli.messages import print_message
from perf2x.cli.options.dataset_options import DatasetOrPart, DryRun
from perf2x.cli.options.input_options import Quiet
from perf2x.errors import OptionError
from perf2x.model.number_format import plural
from perf2x.model.setting import Argument

Recordings = Annotated[tuple[str, ...], Argument("Paths, file names or ids of recordings.", metavar="RECORDING")]


def fleet_rm(
    dataset: DatasetOrPart, recordings: Recordings = (), *, dry_run: DryRun = False, quiet: Quiet = False
) -> None:
    """Remove recordings from a dataset by name or tags.

    Without names, all recordings with the tags after the dataset's name are removed. Only the dataset changes, not the
    perf.data files that were added to it. Its old files are deleted a day later at the earliest, by perf2x fleet
    maintain. The command may be killed at any moment, and run while recordings are added; run it again if it was
    killed.

    ::

        perf2x fleet rm profiles/ recordings/web-1.data --dry-run
        perf2x fleet rm 'profiles/?service=web&date=2026-11-22'
    """
    from perf2x.fleet.remove_and_maintain import remove, select_recordings
    from perf2x.sources.dataset.dataset_address import parse_address
    from perf2x.sources.dataset.read.dataset_part import DatasetPart

    address = parse_address(dataset)
    if not recordings and not address.tags:
        raise OptionError(f"name the recordings, or their tags: '{dataset}?KEY=VALUE'")
    dataset_part = DatasetPart(address)
    dataset_part.require_recordings()
    rows = select_recordings(dataset_part, recordings)
    if not dry_run:
        remove(dataset_part.tables, rows)
    if not quiet:
        for row in rows if dry_run else ():
            print_message(str(row.values["source"]))
        verb = "would be removed" if dry_run else "removed"
        print_message(f"{dataset}: {len(rows):,} of {plural(dataset_part.count, 'recording')} {verb}")
