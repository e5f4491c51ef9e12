"""``perf2x top``: the hottest functions, objects or threads as a table; no viewer needed for a first look."""

from typing import TYPE_CHECKING, Annotated

from perf2x.cli import console
from perf2x.cli.common import AsJson, Format, Inputs, Quiet, Verbose, Wide, recordings
from perf2x.cli.filter_flags import FilterFlags, GroupFlags
from perf2x.cli.loading import load_options
from perf2x.cli.parameters import Option
from perf2x.cli.render.show import checked_format, show
from perf2x.cli.stitch_flags import StitchFlags
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.model.errors import OptionError

if TYPE_CHECKING:
    from perf2x.totals import Total, Totals

Limit = Annotated[int, Option("--limit", "-n", metavar="N", at_least=0, help="Show N lines; 0: all.", panel="Table")]
By = Annotated[str, Option(metavar="function|object|thread", help="What a line is.", panel="Table")]
Sort = Annotated[str, Option(metavar="self|total", help="Which number to sort by.", panel="Table")]
Value = Annotated[str, Option(metavar="period|samples", help="What the numbers are.", panel="Table")]


def top(
    inputs: Inputs = None,
    *,
    limit: Limit = 20,
    by: By = "function",
    sort: Sort = "self",
    value: Value = "period",
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: AsJson = False,
    wide: Wide = False,
    chosen: FilterFlags,
    groups: GroupFlags,
    stitching: StitchFlags,
    names: SymbolFlags,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the hottest functions: what each costs itself, and with all that it calls."""
    from perf2x import pipeline
    from perf2x.cli.summary import described, notable
    from perf2x.cli.top_report import top_report
    from perf2x.totals import totals

    if sort not in ("self", "total"):
        raise OptionError(f"--sort {sort}: it is self or total")
    shape, sources = checked_format(format, as_json), recordings(inputs)
    with console.progress(quiet) as progress:
        loaded = pipeline.load(sources, load_options(chosen, groups, stitching, names), progress)
    found = totals(loaded.profile, None, by, value)
    rows = hottest(found, sort, limit)
    show(top_report(found, rows, by, sort, loaded.profile.meta.duration_ns, sources), shape, wide=wide)
    if not quiet:
        others = [event.name for event in loaded.events if event.samples and event.name != found.event]
        if others:
            console.note(f"left out: {', '.join(others)} (--event NAME chooses)")
        for line in described(loaded) if verbose else notable(loaded):
            console.note(line)


def hottest(found: "Totals", sort: str, limit: int) -> list["Total"]:
    """The first ``limit`` rows (0: all) by cost, then by name."""

    def cost(row: "Total") -> tuple[int, int, str, str]:
        first, second = (row.own, row.total) if sort == "self" else (row.total, row.own)
        return -first, -second, row.name, row.object

    return sorted(found.rows, key=cost)[: limit or None]
