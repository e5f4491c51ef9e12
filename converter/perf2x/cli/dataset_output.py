"""``perf2x convert --to parquet``: adds recordings to a dataset."""

from collections.abc import Mapping
from pathlib import Path

from perf2x.base.errors import OptionError, SettingError
from perf2x.cli.as_typed import as_typed, setting_as_typed
from perf2x.cli.make_load_options import load_options, with_listings
from perf2x.cli.messages import print_message
from perf2x.cli.options import make_group
from perf2x.cli.options.format_options import FormatFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.output_options import OutputFlags, parse_tags
from perf2x.cli.progress import progress_bar


def write_dataset(sources: tuple[str, ...], parameters: Mapping[str, object]) -> None:
    """Add recordings to the dataset that ``-o`` names, with the parameters of ``convert``.

    OptionError for options that ask something of a finished profile.
    """
    from perf2x.pipeline.datasets.ingest_recording import ingest
    from perf2x.pipeline.for_output import check_of_command, for_output
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.plugins.registry import build_options
    from perf2x.storage.dataset.parquet_options import FORMAT, Parquet

    written, quiet = make_group(OutputFlags, parameters), bool(parameters["quiet"])
    formatting = make_group(FormatFlags, parameters)
    with as_typed(setting_as_typed(formatting, written)):
        chosen: Parquet = build_options(Parquet, FORMAT, formatting.chosen(FORMAT) | written.settings_with())
    _refuse_gates(parameters)
    check_of_command(parameters, FORMAT, chosen.needs)
    if written.send:
        raise OptionError(f"{FORMAT} is a folder of many files, so --send cannot post it")
    if written.output in (None, "-"):
        raise OptionError(f"{FORMAT} is a folder of many files; name it with -o")
    tags = parse_tags(_texts(parameters["tag"]), len(sources)) if parameters["tag"] else []
    start_time, value = parameters["start_time"], parameters["value"]
    options = load_options(
        parameters,
        latency="value" if value == "latency" else "",
        tags=tuple(tags),
        start_time=start_time if isinstance(start_time, str) else None,
    )
    options = for_output(with_listings(options, parameters), FORMAT, chosen.needs)
    folder, stages = Path(written.output or ""), Stages()
    with progress_bar(quiet) as progress:
        added = ingest(sources, options, folder, chosen.partition, progress, stages)
    for line in stages.lines() if parameters["profile_stages"] else ():
        print_message(line)
    if not quiet:
        recordings = f"{len(added)} recording{'s' * (len(added) != 1)}"
        print_message(f"{folder}: {recordings} added, {sum(one.samples for one in added):,} samples")


def _texts(value: object) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list | tuple) else []


def _refuse_gates(parameters: Mapping[str, object]) -> None:
    """OptionError for a gate or statistics, which are of profiles."""
    later = ("stats", *GateFlags.__struct_fields__)
    given = next((name for name in later if parameters[name] not in (None, False)), None)
    if given is not None:
        raise SettingError("parquet cannot take ", given, ": it is given when the dataset is read")
