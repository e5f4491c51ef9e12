"""``perf2x fleet convert-dataset``: a dataset of an earlier version as one of today."""

from pathlib import Path
from typing import Annotated

import typer

from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet
from perf2x.model.number_format import plural

Old = Annotated[str, typer.Argument(metavar="OLD", help="A dataset of version 1 or 2; it stays as it is.")]
New = Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The new dataset: a folder or an address.")]


@with_groups
def fleet_convert_dataset(old: Old, *, output: New, quiet: Quiet = False) -> None:
    """Write the recordings of a dataset of an earlier version into a new dataset.

    The new one converts to the same bytes. Copy an old dataset out of its object store first.
    """
    from perf2x.fleet.convert_dataset import convert_dataset
    from perf2x.storage.dataset.dataset_folder import storage_at

    count = convert_dataset(Path(old), storage_at(output))
    if not quiet:
        print_message(f"{output}: {plural(count, 'recording')} of {old}")
