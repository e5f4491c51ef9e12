"""``perf2x convert --to parquet``: adds recordings to a dataset."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perf2x.cli.load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import make_group
from perf2x.cli.options.formats import FormatFlags
from perf2x.cli.options.gates import GateFlags
from perf2x.cli.options.grouping import GroupingFlags
from perf2x.cli.options.output import OutputFlags, parse_settings, parse_tags
from perf2x.cli.progress import progress_bar
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    pass

_LATER = ("where", "dso", "symbol", "parallelism", "max_stack", "no_kernel", "no_user", "stats")


def write_dataset(sources: tuple[str, ...], parameters: Mapping[str, object]) -> None:
    """Add recordings to the dataset that ``-o`` names, with the parameters of ``convert``.

    OptionError for options that ask something of a finished profile.
    """
    from perf2x.dataset.options import FORMAT, Parquet
    from perf2x.pipeline.ingest import ingest
    from perf2x.plugins.registry import build_options

    written, quiet = make_group(OutputFlags, parameters), bool(parameters["quiet"])
    _refuse(parameters)
    if written.output in (None, "-") or written.send:
        raise OptionError(f"{FORMAT} is a folder of many files; name it with -o")
    chosen: Parquet = build_options(Parquet, FORMAT, parse_settings(written.settings))
    tags = parse_tags(_texts(parameters["tag"]), len(sources)) if parameters["tag"] else []
    start_time = parameters["start_time"]
    options = load_options(
        parameters,
        timeline=chosen.timeline,
        columns=frozenset({"cgroup"}),
        tags=tuple(tags),
        start_time=start_time if isinstance(start_time, str) else None,
    )
    folder = Path(written.output or "")
    with progress_bar(quiet) as progress:
        added = ingest(sources, options, folder, chosen.partition, progress)
    if not quiet:
        recordings = f"{len(added)} recording{'s' * (len(added) != 1)}"
        print_message(f"{folder}: {recordings} added, {sum(one.samples for one in added):,} samples")


def _texts(value: object) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list | tuple) else []


def _refuse(parameters: Mapping[str, object]) -> None:
    """OptionError for the first option that is to be given when the dataset is read."""
    groups = (FormatFlags, GateFlags, GroupingFlags)
    later = (*_LATER, *(name for group in groups for name in group.__struct_fields__))
    given = next((name for name in later if parameters[name] not in (None, False, [])), None)
    if given is not None:
        raise OptionError(f"--{given.replace('_', '-')} is given when the dataset is read, not when it is written")
