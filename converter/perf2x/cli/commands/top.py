"""``perf2x top``: the hottest functions, objects or threads as a table."""

from typing import Annotated

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
    from perf2x.analysis.top_rows import TopTable
    from perf2x.cli.render.summary import quality_lines, verbose_lines
    from perf2x.cli.render.top_table import top_report
    from perf2x.pipeline.load import load

    sources = recordings(inputs)
    with progress_bar(quiet) as progress:
        loaded = load(sources, load_options(rows, chosen, grouping, stacks, symbols, unpacking), progress)
    table = TopTable(loaded.profile, rows.by, rows.sort, rows.value, rows.limit)
    print_report(top_report(table, sources), form.shape, wide=form.wide)
    if quiet:
        return
    others = [
        event.name
        for event in loaded.events
        if event.samples and event.name != table.whole.event.removeprefix("latency:")
    ]
    if others:
        print_message(f"left out: {', '.join(others)} (--event NAME chooses)")
    for line in verbose_lines(loaded) if verbose else quality_lines(loaded):
        print_message(line)
