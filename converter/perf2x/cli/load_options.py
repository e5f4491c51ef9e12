"""From the groups of options to what the pipeline wants; shared by every command that reads recordings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perf2x.cli.options.filters import FilterFlags
from perf2x.cli.options.grouping import GroupFlags
from perf2x.cli.options.stacks import StitchFlags
from perf2x.cli.options.symbols import SymbolFlags

if TYPE_CHECKING:
    from perf2x.pipeline.options import LoadOptions


def load_options(
    chosen: FilterFlags,
    groups: GroupFlags,
    stitching: StitchFlags,
    names: SymbolFlags,
    *,
    timeline: bool = False,
    columns: frozenset[str] = frozenset(),
    tags: tuple[Mapping[str, str], ...] = (),
) -> "LoadOptions":
    """What was said on the command line; OptionError for what cannot be meant.

    ``columns`` are those that the output format asks for (plugins.wanted_columns); ``tags`` one mapping for each input.
    """
    from perf2x.pipeline.call_graphs import CallGraphOptions
    from perf2x.pipeline.options import LoadOptions

    return LoadOptions(
        timeline=timeline,
        by_cpu="cpu" in columns,
        by_cgroup="cgroup" in columns,
        tags=tags,
        off_cpu=groups.off_cpu or "",
        anonymize=groups.anonymize or "",
        deferred_missing=stitching.deferred_missing,
        call_graphs=CallGraphOptions(stitch_lbr=stitching.stitch_lbr),
        jobs=stitching.jobs,
        merge_callchains=stitching.merge_callchains,
        events=chosen.events(),
        choice=chosen.choice(),
        grouping=groups.grouping(),
        allow_empty=chosen.allow_empty,
        max_unpacked=names.unpacked(),
        symbols=names.options(),
    )
