"""``perf2x top``: the hottest functions, objects or threads as a table."""

from typing import TYPE_CHECKING, Annotated

from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import Hidden, load_options, with_groups
from perf2x.cli.options.filter_options import FilterFlags
from perf2x.cli.options.grouping_options import GroupingFlags
from perf2x.cli.options.input_options import Inputs, Quiet, UnpackFlags, Verbose, recordings
from perf2x.cli.options.name_options import SymbolFlags
from perf2x.cli.options.stack_options import StackFlags
from perf2x.cli.options.table_options import PrintFlags, RowFlags
from perf2x.cli.progress import progress_bar
from perf2x.cli.render.report_formats import print_report

if TYPE_CHECKING:
    from perf2x.analysis.totals import Total, Totals


@with_groups
def top(
    inputs: Inputs = None,
    *,
    rows: RowFlags,
    form: PrintFlags,
    chosen: FilterFlags,
    grouping: Annotated[GroupingFlags, Hidden("root")],
    stacks: StackFlags,
    symbols: SymbolFlags,
    unpacking: UnpackFlags,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the hottest functions: what each costs itself, and with all that it calls."""
    from perf2x.analysis.totals import totals
    from perf2x.cli.render.summary import quality_lines, verbose_lines
    from perf2x.cli.render.top_table import top_report
    from perf2x.pipeline.load import load

    sources = recordings(inputs)
    with progress_bar(quiet) as progress:
        loaded = load(sources, load_options(rows, chosen, grouping, stacks, symbols, unpacking), progress)
    found = totals(loaded.profile, None, rows.by, rows.value)
    first = rows.first(sort_rows(found, rows.sort))
    beside = totals(loaded.profile, None, rows.by) if rows.value == "latency" else None
    report = top_report(found, first, rows.by, rows.sort, loaded.profile.meta.duration_ns, sources, beside)
    print_report(report, form.shape, wide=form.wide)
    if quiet:
        return
    others = [
        event.name for event in loaded.events if event.samples and event.name != found.event.removeprefix("latency:")
    ]
    if others:
        print_message(f"left out: {', '.join(others)} (--event NAME chooses)")
    for line in verbose_lines(loaded) if verbose else quality_lines(loaded):
        print_message(line)


def sort_rows(found: "Totals", sort: str) -> list["Total"]:
    """The rows by cost, highest first, then by name."""

    def cost(row: "Total") -> tuple[int, int, str, str]:
        first, second = (row.own, row.total) if sort == "self" else (row.total, row.own)
        return -first, -second, row.name, row.object

    return sorted(found.rows, key=cost)
