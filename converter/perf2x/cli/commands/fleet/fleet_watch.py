"""``perf2x fleet watch``: recordings into a dataset as they appear."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.base.errors import FormatError, OptionError, Perf2xError
from perf2x.base.files.operating_system import available_cores
from perf2x.base.files.remote import is_address
from perf2x.cli.error_handling import Terminated
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import Only, load_options, with_groups
from perf2x.cli.options.ingest_options import LabelFlags, Output, summarize
from perf2x.cli.options.input_options import Quiet, UnpackFlags
from perf2x.cli.options.name_options import SymbolFlags
from perf2x.cli.options.upkeep_options import parse_age
from perf2x.cli.options.worker_options import WorkerFlags

if TYPE_CHECKING:
    from perf2x.fleet.finished_files import FinishedFiles

Places = Annotated[list[str], typer.Argument(metavar="DIR|PREFIX", help="Folders, addresses (s3://…), or patterns.")]
Settled = Annotated[
    str, typer.Option("--settled", metavar="AGE", help="Take files that did not change for so long, or were renamed.")
]
Every = Annotated[str, typer.Option("--every", metavar="AGE", help="Look for new files so often.")]
Batch = Annotated[int, typer.Option("--batch", metavar="N", min=1, help="Recordings that are added at once, at most.")]
Once = Annotated[bool, typer.Option("--once", help="Take what is there, then end.")]

_LONGEST_S = 900.0
"""Seconds between two tries, at most, while something cannot be reached."""


@with_groups
def fleet_watch(
    places: Places,
    *,
    output: Output,
    settled: Settled = "1m",
    every: Every = "10s",
    batch: Batch = 200,
    once: Once = False,
    labels: LabelFlags,
    crew: WorkerFlags,
    symbols: Annotated[SymbolFlags, Only("symfs", "kallsyms", "debug_dirs", "buildid_dir", "perf_map_dir")],
    unpacking: UnpackFlags,
    quiet: Quiet = False,
) -> None:
    """Add recordings to a dataset as they appear, until stopped.

    A file is taken when it was renamed after it was written, as by perf record --switch-output, or did not change for a
    minute. While the files or the dataset cannot be reached, it tries again, ever more rarely. Ctrl-C and SIGTERM end
    it; whatever was not added is taken by the next run.
    """
    from perf2x.fleet.finished_files import FinishedFiles, check_places
    from perf2x.fleet.ingest import ingest

    settled_ns, pause_s = (parse_age(*one, "90s, 5m or 12h") for one in (("--settled", settled), ("--every", every)))
    if not pause_s:
        raise OptionError("--every 0s: at least a second")
    options = load_options(symbols, unpacking)
    check_places(places)
    labels.job(output, options, 0)  # says now what is wrong with the labels

    def take(names: list[str]) -> None:
        job = labels.job(output, options, 0)
        with crew.begin(min(crew.workers or available_cores(), len(names)), "", quiet=True) as run:
            totals = ingest(run, names, job, lambda _: None)
        if not quiet:
            summarize(output, totals)

    files = FinishedFiles(places, settled_ns, _known(output, places))
    try:
        _watch(files, take, batch, pause_s / 1e9, once)
    except (KeyboardInterrupt, Terminated):
        if not quiet:
            print_message("stopped")


def _watch(files: "FinishedFiles", take: Callable[[list[str]], None], batch: int, pause_s: float, once: bool) -> None:
    """Take what is new, again and again; Perf2xError of a single round ends only ``once``."""
    failures = 0
    while True:
        try:
            names = files.new()
            for start in range(0, len(names), batch):
                take(names[start : start + batch])
                files.take(names[start : start + batch])
            failures = 0
        except OptionError:
            raise
        except Perf2xError as error:
            if once:
                raise
            failures += 1
            print_message(f"perf2x: {error}; tried again in {_pause(pause_s, failures):g} s")
        if once:
            return
        time.sleep(_pause(pause_s, failures))


def _pause(pause_s: float, failures: int) -> float:
    return max(min(pause_s * 2.0 ** min(failures, 20), _LONGEST_S), pause_s)


def _known(output: str, places: Sequence[str]) -> list[str]:
    """Names of recordings that the dataset has, which are not fetched again to find that out."""
    from perf2x.fleet.query import answered

    if not any(map(is_address, places)):
        return []
    try:
        with answered(output, "SELECT source FROM recordings WHERE error IS NULL AND NOT unfinished") as answer:
            return [str(source) for (source,) in answer.rows()]
    except FormatError:  # there is no dataset yet
        return []
