"""``perf2x convert --to parquet``: adds recordings to a dataset."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from perf2x.base.errors import OptionError, SettingError
from perf2x.cli.messages import print_message
from perf2x.cli.options.format_options import FormatFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.progress import progress_bar
from perf2x.model.number_format import plural

if TYPE_CHECKING:
    from perf2x.pipeline.load_options import LoadOptions


def write_dataset(
    sources: tuple[str, ...],
    wanted: "Callable[..., LoadOptions]",
    written: OutputFlags,
    formatting: FormatFlags,
    gates: GateFlags,
    *,
    quiet: bool,
    timed: bool,
) -> None:
    """Add recordings to the dataset that ``-o`` names, with the groups of ``convert``.

    ``wanted`` makes the options of the load from fields of LoadOptions. OptionError for options that ask something of
    a finished profile.
    """
    from perf2x.pipeline.datasets.ingest_recording import ingest
    from perf2x.pipeline.for_output import check_of_command, for_output
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.storage.dataset.parquet_options import FORMAT, Parquet

    chosen = formatting.build(Parquet, FORMAT, written.said(), {})
    given = next((name for name, value in asdict(gates).items() if value not in (None, False)), None)
    if given is not None:
        raise SettingError(f"{FORMAT} cannot take ", given, f": {chosen.needs.why}")
    check_of_command(["per_event"] * formatting.per_event, FORMAT, chosen.needs)
    if written.output in (None, "-"):
        raise OptionError(f"{FORMAT} is a folder of many files; name it with -o")
    options = wanted(**written.part_of(len(sources)), **formatting.part_for(chosen.needs))
    options = for_output(options, FORMAT, chosen.needs)
    folder, stages = Path(written.output or ""), Stages()
    with progress_bar(quiet) as progress:
        added = ingest(sources, options, folder, chosen.partition, progress, stages)
    for line in stages.lines() if timed else ():
        print_message(line)
    if not quiet:
        samples = sum(one.samples for one in added)
        print_message(f"{folder}: {plural(len(added), 'recording')} added, {plural(samples, 'sample')}")
