"""``perf2x fleet symbolize``: names for the places of a dataset."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.cli.commands.fleet_ingest import Scheduler, Workers
from perf2x.cli.fleet_progress import FleetProgress
from perf2x.cli.help import HelpAll
from perf2x.cli.messages import print_message
from perf2x.cli.options import symbols
from perf2x.cli.options.inputs import MaxUnpacked, Quiet
from perf2x.cli.options.symbols import SymbolFlags
from perf2x.files.operating_system import available_cores
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    from perf2x.fleet.symbolize import NamingTotals
    from perf2x.fleet.symbolize_one import NamingJob

Folder = Annotated[Path, typer.Argument(metavar="DATASET", help="The dataset, a folder.")]

_SHOWN = 10


def fleet_symbolize(
    dataset: Folder,
    *,
    scheduler: Scheduler = None,
    workers: Workers = 0,
    symfs: symbols.Symfs = None,
    debug_dir: symbols.DebugDir = None,
    buildid_dir: symbols.BuildidDir = None,
    debuginfod: symbols.Debuginfod = None,
    archive: symbols.Archive = None,
    max_unpacked: MaxUnpacked = None,
    quiet: Quiet = False,
    help_all: HelpAll = False,
) -> None:
    """Look up names for the places of a dataset, each once, on all cores or on a Dask cluster.

    Only what has no name yet is looked up, so that later runs with more debug files fill in what is missing. What
    could be named only where it was recorded (just-in-time compiled code) was named when it was added.
    """
    from perf2x.dataset.engine import engine
    from perf2x.dataset.unnamed import unnamed_objects
    from perf2x.fleet.cluster import connected
    from perf2x.fleet.symbolize import symbolize

    flags = SymbolFlags(
        symfs=symfs, debug_dir=debug_dir, buildid_dir=buildid_dir, debuginfod=debuginfod, archive=archive,
        max_unpacked=max_unpacked,
    )  # fmt: skip
    job = _job(dataset, flags)
    with engine(dataset) as connection:
        count, objects = unnamed_objects(connection)
        if not count:
            if not quiet:
                print_message(f"{dataset}: every place that can have a name has one")
            return
        progress = FleetProgress(quiet, "objects")
        with connected(scheduler, min(workers or available_cores(), count)) as client:
            if not quiet:
                print_message(f"{count:,} objects; Dask's dashboard: {client.dashboard_link}")
            totals = symbolize(client, objects, job, progress, count)
        progress.close()
    if not quiet:
        _summarize(dataset, totals)


def _job(dataset: Path, flags: SymbolFlags) -> "NamingJob":
    from perf2x.fleet.symbolize_one import NamingJob

    options = flags.options()
    if options is None:  # --no-symbols, which this command has not
        raise OptionError("names are not looked up")
    return NamingJob(str(dataset.absolute()), options, flags.unpacked())


def _summarize(dataset: Path, totals: "NamingTotals") -> None:
    print_message(f"{dataset}: {totals.named:,} of {totals.places:,} places got names, in {totals.of:,} objects")
    unnamed = sorted(totals.unnamed, key=lambda one: (one.named - one.places, one.name))
    for one in unnamed[:_SHOWN]:
        print_message(f"no names: {one.places - one.named:,} places of {one.name}: {one.reason}")
    if len(unnamed) > _SHOWN:
        print_message(f"no names: places of {len(unnamed) - _SHOWN:,} more objects")
