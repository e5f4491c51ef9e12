"""``perf2x fleet symbolize``: names for the places of a dataset."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perf2x.base.errors import OptionError
from perf2x.base.files.operating_system import available_cores
from perf2x.base.files.remote import is_address
from perf2x.cli.fleet_progress import FleetProgress
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import Without, with_groups
from perf2x.cli.options.input_options import Quiet, UnpackFlags
from perf2x.cli.options.name_options import SymbolFlags
from perf2x.cli.options.upkeep_options import Folder
from perf2x.cli.options.worker_options import WorkerFlags
from perf2x.model.number_format import plural

if TYPE_CHECKING:
    from perf2x.fleet.symbolize_dataset import NamingJob, NamingTotals
    from perf2x.storage.dataset.names.unnamed_places import Unnamed
    from perf2x.symbolizer.symbol_options import SymbolOptions

_SHOWN = 10
_HERE = 50_000
"""Places that are named in this process, unless workers are asked for: their start would take longer."""


@with_groups
def fleet_symbolize(
    dataset: Folder,
    *,
    crew: WorkerFlags,
    symbols: Annotated[SymbolFlags, Without("perf_map_dir", "allow_mismatch", "names", "inline", "no_symbols")],
    unpacking: UnpackFlags,
    quiet: Quiet = False,
) -> None:
    """Look up symbols for all addresses in a dataset, on all cores or on a Dask cluster.

    Only what has no name yet is looked up, so that later runs with more debug files fill in what is missing. What
    could be named only where it was recorded (just-in-time compiled code) was named when it was added.
    """
    name_places(dataset, symbols.sources(), crew, unpacking, quiet)


def name_places(
    dataset: str,
    symbols: "SymbolOptions",
    crew: WorkerFlags,
    unpacking: UnpackFlags,
    quiet: bool,
    builds: Collection[str] | None = None,
) -> None:
    """Name what has no name, of all build ids or of some, and say what became of it."""
    from perf2x.fleet.symbolize_dataset import NamingJob
    from perf2x.storage.dataset.dataset_folder import fetched_folder
    from perf2x.storage.dataset.names.unnamed_places import ASKED, unnamed_objects
    from perf2x.storage.dataset.sql.duckdb_engine import engine

    job = NamingJob(dataset if is_address(dataset) else str(Path(dataset).absolute()), symbols, unpacking.most())
    with fetched_folder(dataset) as folder, engine(folder, ASKED) as connection:
        unnamed = unnamed_objects(connection, builds)
        if symbols.kallsyms and unnamed.kernels > 1:  # it is used unchecked
            raise OptionError(
                f"--kallsyms is of one kernel, and {unnamed.kernels:,} lack names: use build-id stores (--buildid-dir)"
            )
        totals = _name(unnamed, job, crew, quiet) if unnamed.objects else None
    if not quiet:
        _summarize(dataset, totals, "" if builds is None else " of these objects")


def _name(
    unnamed: "Unnamed",
    job: "NamingJob",
    crew: WorkerFlags,
    quiet: bool,
) -> "NamingTotals":
    from perf2x.fleet.symbolize_dataset import symbolize

    count, progress = unnamed.objects, FleetProgress(quiet, "objects")
    wanted = crew.workers or (available_cores() if unnamed.places > _HERE else 0)
    with crew.begin(min(wanted, count), plural(count, "object"), quiet=quiet) as run:
        totals = symbolize(run, unnamed.each, job, progress, count)
    progress.close()
    return totals


def _summarize(dataset: str, totals: "NamingTotals | None", of: str) -> None:
    if totals is None:
        print_message(f"{dataset}: every place{of} that can have a name has one")
        return
    print_message(
        f"{dataset}: {totals.named:,} of {totals.places:,} places got names, in {plural(totals.of, 'object')}"
    )
    unnamed = sorted(totals.unnamed, key=lambda one: (one.named - one.places, one.name))
    for one in unnamed[:_SHOWN]:
        print_message(f"no names: {plural(one.places - one.named, 'place')} of {one.name}: {one.reason}")
    if len(unnamed) > _SHOWN:
        print_message(f"no names: places of {len(unnamed) - _SHOWN:,} more objects")
