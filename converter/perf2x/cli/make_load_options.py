"""Makes LoadOptions from the parameters of a command that reads recordings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.base.errors import SettingError
from perf2x.cli.options import make_group
from perf2x.cli.options.filter_options import FilterFlags
from perf2x.cli.options.grouping_options import GroupingFlags
from perf2x.cli.options.name_options import SymbolFlags
from perf2x.cli.options.source_options import ListingFlags
from perf2x.cli.options.stack_options import StackFlags

if TYPE_CHECKING:
    from perf2x.pipeline.load_options import LoadOptions


def load_options(
    parameters: Mapping[str, object],
    *,
    latency: str = "",
    tags: tuple[Mapping[str, str], ...] = (),
    start_time: str | None = None,
    full_names: bool = False,
) -> "LoadOptions":
    """Make the options from a command's parameters by name, which include those of the four groups below.

    ``latency`` is the field of LoadOptions, ``tags`` one mapping for each input, ``start_time`` the text of
    ``--start-time``; ``full_names`` asks for those beside short ones.
    OptionError for a value that cannot be used.
    """
    from perf2x.pipeline.load_options import LoadOptions
    from perf2x.pipeline.start_time import parse_start_time
    from perf2x.stitcher.call_graphs import CallGraphOptions
    from perf2x.transforms.sample_values import VALUES

    filters, grouping = make_group(FilterFlags, parameters), make_group(GroupingFlags, parameters)
    stacks, symbols = make_group(StackFlags, parameters), make_group(SymbolFlags, parameters)
    value = parameters.get("value")
    return LoadOptions(
        tags=tags,
        where=str(parameters.get("where") or ""),
        off_cpu=grouping.off_cpu or "",
        pairs=grouping.all_pairs(),
        latency=latency,
        value=value if isinstance(value, str) and value in VALUES else "",
        data_objects=parameters.get("by") == "data-object",
        anonymize=grouping.anonymize or "",
        deferred_missing=stacks.deferred_missing,
        call_graphs=CallGraphOptions(stitch_lbr=stacks.stitch_lbr),
        jobs=stacks.jobs,
        merge_callchains=stacks.merge_callchains,
        events=filters.events(),
        choice=filters.choice(),
        grouping=grouping.grouping(),
        start_time=parse_start_time(start_time),
        allow_empty=filters.allow_empty,
        max_unpacked=symbols.unpacked(),
        symbols=symbols.options(keep_full_names=full_names),
    )


def with_listings(options: "LoadOptions", parameters: Mapping[str, object]) -> "LoadOptions":
    """Add the source lines and instructions that ``parameters`` ask to embed; OptionError for their form alone."""
    flags, hottest = make_group(ListingFlags, parameters), int(str(parameters["hottest"]))
    listings = flags.embedded(hottest)
    if listings is None:
        formed = {"syntax": flags.syntax != "att", "around": flags.around != 10, "hottest": hottest != 20}
        for setting in (name for name, given in formed.items() if given):
            raise SettingError("", setting, " needs code to show: --source, --source-dir or --assembly")
    return replace(options, listings=listings)
