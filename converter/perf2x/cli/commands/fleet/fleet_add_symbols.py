"""``perf2x fleet add-symbols``: names for the places of a dataset out of files that a build made."""

from typing import Annotated

import typer

from perf2x.base.errors import FormatError, ObjectError
from perf2x.cli.commands.fleet.fleet_symbolize import name_places
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.input_options import Quiet, UnpackFlags
from perf2x.cli.options.upkeep_options import Folder
from perf2x.cli.options.worker_options import WorkerFlags

Objects = Annotated[list[str], typer.Argument(metavar="OBJECT", help="ELF files, debug files, or folders of them.")]


@with_groups
def fleet_add_symbols(dataset: Folder, objects: Objects, *, unpacking: UnpackFlags, quiet: Quiet = False) -> None:
    """Name the addresses of a dataset that are in given objects, by build id.

    No other file is read. Addresses that are recorded later get their names by the next run.
    """
    from perf2x.binaries.find.given_objects import given_objects
    from perf2x.symbolizer.symbol_options import SymbolOptions

    try:
        with given_objects(objects) as (builds, cache):
            # nothing lies at recorded paths in this root
            symbols = SymbolOptions(symfs=cache / "none", buildid_dir=cache)
            name_places(dataset, symbols, WorkerFlags(), unpacking, quiet, builds)
    except ObjectError as error:
        raise FormatError(*error.args) from None
