"""Makes LoadOptions from the parameters of a command that reads recordings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.cli.options import make_group
from perf2x.cli.options.filters import FilterFlags
from perf2x.cli.options.grouping import GroupingFlags
from perf2x.cli.options.listings import ListingFlags
from perf2x.cli.options.stacks import StackFlags
from perf2x.cli.options.symbols import SymbolFlags
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    from perf2x.pipeline.options import LoadOptions
    from perf2x.plugins.registry import Emitter
    from perf2x.tables.code_counts import CodeRequest


def load_options(
    parameters: Mapping[str, object],
    *,
    timeline: bool = False,
    columns: frozenset[str] = frozenset(),
    by_thread: bool = True,
    latency: str = "",
    tags: tuple[Mapping[str, str], ...] = (),
    start_time: str | None = None,
    full_names: bool = False,
    code: "CodeRequest | None" = None,
    original: int = 0,
) -> "LoadOptions":
    """Make the options from a command's parameters by name, which include those of the four groups below.

    ``columns`` are those that the output format wants (``wanted_columns`` in plugins/registry.py), ``by_thread`` says
    whether it tells threads of one name apart (``shows_threads``), ``latency`` the
    field of LoadOptions, ``tags`` one mapping for each input, ``start_time`` the text of ``--start-time``.
    ``full_names`` says that the format shows them beside short ones, ``code`` what it counts of one object,
    ``original`` how many bytes of the recording itself it takes.
    OptionError for a value that cannot be used.
    """
    from perf2x.pipeline.call_graphs import CallGraphOptions
    from perf2x.pipeline.options import LoadOptions
    from perf2x.pipeline.start_time import parse_start_time
    from perf2x.transform.sample_values import VALUES

    filters, grouping = make_group(FilterFlags, parameters), make_group(GroupingFlags, parameters)
    stacks, symbols = make_group(StackFlags, parameters), make_group(SymbolFlags, parameters)
    value = parameters.get("value")
    return LoadOptions(
        timeline=timeline,
        by_thread=by_thread,
        by_cpu="cpu" in columns,
        by_cgroup="cgroup" in columns,
        by_data_src="data_src" in columns,
        tracepoint_fields="fields" in columns,
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
        code=code,
        original=original,
        allow_empty=filters.allow_empty,
        max_unpacked=symbols.unpacked(),
        symbols=symbols.options(keep_full_names=full_names),
    )


def with_listings(
    options: "LoadOptions", parameters: Mapping[str, object], emitter: "Emitter", name: str
) -> "LoadOptions":
    """Add the source lines and instructions that ``parameters`` ask to embed; OptionError where there is no place."""
    from perf2x.plugins.registry import shows_listings

    listings = make_group(ListingFlags, parameters).embedded(int(str(parameters["hottest"])))
    if listings is None:
        return options
    if not shows_listings(emitter):
        raise OptionError(f"{name} has no place for --source, --source-dir and --assembly; html has")
    if options.anonymize or options.symbols is None:
        raise OptionError("--source, --source-dir and --assembly tell names, which --anonymize and --no-symbols hide")
    return replace(options, listings=listings)
