"""``perf2x top``: the hottest functions, objects or threads as a table."""

from typing import Annotated

from msgspec.structs import replace

from perf2x.cli.messages import print_messages
from perf2x.cli.options.input_options import Inputs, Quiet, Verbose, existing_inputs
from perf2x.cli.options.table_options import GraphFlags, PrintFlags
from perf2x.cli.parameters import Hidden
from perf2x.cli.progress import load_with_progress
from perf2x.kernel.load_options import LoadOptions


def top(
    inputs: Inputs = (),
    *,
    row_flags: GraphFlags,
    print_flags: Annotated[PrintFlags, Hidden("wide")],
    load_options: Annotated[LoadOptions, Hidden("root", "names", "no_symbols")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the hottest functions: the cost of each by itself, and including everything it calls.

    ::

        perf2x top perf.data
        perf2x top perf.data --by object --sort total -n 10
        perf2x top perf.data --graph
    """
    from perf2x.cli.render.top_table import remarks, top_report
    from perf2x.tools.tables.top_rows import TopTable

    row_flags.check_graph(print_flags)
    sources = existing_inputs(inputs)
    loaded = load_with_progress(sources, load_options.with_values(**row_flags.load_option_fields()), quiet)
    table = TopTable(loaded.profile, row_flags.by, row_flags.sort, row_flags.value, row_flags.limit, row_flags.columns)
    report = top_report(table, sources)
    if row_flags.graph:
        from perf2x.cli.render.flame_lines import graph_lines

        report = replace(
            report, lines=lambda screen: graph_lines(loaded.profile, table, row_flags.value, row_flags.limit, screen)
        )
    print_flags.show(report)
    print_messages(remarks(table, loaded, verbose=verbose), quiet)
