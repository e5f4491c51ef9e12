"""``perf2x fleet tag``: other tags for recordings that a dataset has."""

from typing import Annotated

import typer

from perf2x.base.errors import OptionError
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.options.upkeep_options import find_dataset
from perf2x.model.number_format import plural

Dataset = Annotated[
    str,
    typer.Argument(metavar="DATASET", help="A folder or an address, with or without tags (DATASET?service=web)."),
]
Tags = Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="Tags to set; KEY= removes one; others stay.")]
Names = Annotated[
    list[str] | None,
    typer.Option("--recording", metavar="NAME", help="Only this one, by its path, file name or id; repeatable."),
]


@with_groups
def fleet_tag(dataset: Dataset, tags: Tags, *, recordings: Names = None, quiet: Quiet = False) -> None:
    """Change tags of recordings that are in a dataset.

    All of them, those with tags behind a question mark, or those that --recording names; all at once. Tags that name
    the dataset's folders (fleet ingest --partition) cannot be changed.
    """
    from perf2x.fleet.upkeep.change_tags import change_tags
    from perf2x.storage.dataset.dataset_address import folder_of, parse_address

    pairs = [text.partition("=") for text in tags]
    for text, (key, sign, _) in zip(tags, pairs, strict=True):
        if not key or not sign:
            raise OptionError(f"{text}: expected KEY=VALUE")
    wanted, storage = parse_address(dataset).tags, find_dataset(folder_of(dataset))
    of, changed = change_tags(storage, {key: value for key, _, value in pairs}, wanted, recordings or ())
    if not quiet:
        print_message(f"{dataset}: tags of {plural(of, 'recording')} set, {changed:,} changed")
