"""``perf2x fleet symbolize``: looks up the names of places (addresses in objects) in a dataset."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perf2x.base.files.operating_system import available_cores
from perf2x.base.files.remote_files import is_address
from perf2x.cli.fleet_progress import FleetProgress
from perf2x.cli.messages import print_message
from perf2x.cli.options.dataset_options import WholeDataset, WorkerFlags
from perf2x.cli.options.input_options import Quiet
from perf2x.cli.parameters import Only, Without
from perf2x.errors import FormatError, ObjectError, OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.number_format import plural
from perf2x.model.setting import Argument
from perf2x.symbolizer.symbol_options import SymbolOptions

if TYPE_CHECKING:
    from perf2x.fleet.symbolize_dataset import NamingTotals

Objects = Annotated[
    tuple[str, ...], Argument("Look only in these ELF files, debug files, or folders of them.", metavar="OBJECT")
]
# Maximum number of objects without names to list.
_MAX_LISTED = 10
# Starting workers takes longer than naming this many places.
_MAX_PLACES_WITHOUT_WORKERS = 50_000


def fleet_symbolize(
    dataset: WholeDataset,
    objects: Objects = (),
    *,
    worker_flags: WorkerFlags,
    load_options: Annotated[
        LoadOptions,
        Only(SymbolOptions, "max_unpacked"),
        Without("perf_map_dir", "allow_mismatch", "names", "inline"),
    ],
    quiet: Quiet = False,
) -> None:
    """Look up symbols for all addresses in a dataset, on all cores or on a Dask cluster.

    Only addresses without a name are looked up, so later runs with more debug files fill the gaps. With OBJECT, names
    come only from these files, by build id. Code that only the recorded machine could name (JIT-compiled code) was
    named when it was added.

    ::

        perf2x fleet symbolize profiles/
        perf2x fleet symbolize profiles/ build/bin/myserver build/lib/
        perf2x fleet symbolize profiles/ --debug-dir debug/ --debuginfod https://debuginfod.debian.net
    """
    from perf2x.base.binaries.find.temporary_buildid_cache import temporary_buildid_cache
    from perf2x.fleet.symbolize_dataset import NamingJob, symbolize
    from perf2x.sources.dataset.dataset_address import DatasetAddress
    from perf2x.sources.dataset.names.unnamed_places import unnamed_objects
    from perf2x.sources.dataset.read.dataset_part import DatasetPart
    from perf2x.sources.dataset.sql.duckdb_engine import engine

    totals, options, build_ids = None, load_options.symbols or SymbolOptions(), None
    dataset_part = DatasetPart(DatasetAddress(dataset, {}))
    with contextlib.ExitStack() as stack:
        if objects:
            try:
                build_ids, cache = stack.enter_context(temporary_buildid_cache(objects))
            except ObjectError as error:
                raise FormatError(*error.args) from None
            # names come only from this cache: the folder of symfs does not exist
            options = SymbolOptions(symfs=cache / "none", buildid_dir=cache)
        unnamed = unnamed_objects(stack.enter_context(engine(dataset_part)), build_ids)
        if options.kallsyms and unnamed.kernels > 1:  # kallsyms has no build id to compare
            raise OptionError(
                f"--kallsyms is of one kernel, and {unnamed.kernels:,} lack names: use build-id stores (--buildid-dir)"
            )
        if unnamed.objects:
            root = dataset if is_address(dataset) else str(Path(dataset).absolute())
            job, progress = NamingJob(root, options, load_options.max_unpacked), FleetProgress(quiet, "objects")
            count = worker_flags.workers or (available_cores() if unnamed.places > _MAX_PLACES_WITHOUT_WORKERS else 1)
            workers = stack.enter_context(worker_flags.start(min(count, unnamed.objects)))
            totals = symbolize(workers, unnamed.code_objects, job, progress, unnamed.objects)
            progress.close()
    if not quiet:
        no_place = "no place without a name is in an object with the build id of these files"
        _summarize(dataset, totals, no_place if objects else "every place that can have a name has one")


def _summarize(dataset: str, totals: "NamingTotals | None", nothing_to_do: str) -> None:
    if totals is None:
        print_message(f"{dataset}: {nothing_to_do}")
        return
    print_message(
        f"{dataset}: {totals.named:,} of {totals.places:,} places got names, in {plural(totals.total, 'object')}"
    )
    unnamed = sorted(totals.unnamed, key=lambda row: (-row[1], row[0]))
    for name, places, reason in unnamed[:_MAX_LISTED]:
        print_message(f"no names: {plural(places, 'place')} of {name}: {reason}")
    if len(unnamed) > _MAX_LISTED:
        print_message(f"no names: places of {len(unnamed) - _MAX_LISTED:,} more objects")
