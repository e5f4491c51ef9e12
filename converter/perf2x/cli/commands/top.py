"""``perf2x top``: the hottest functions, objects or threads as a table."""

from typing import Annotated

from msgspec.structs import replace

from perf2x.cli.messages import print_messages
from perf2x.cli.options.input_options import Inputs, Quiet, Verbose, recordings
from perf2x.cli.options.table_options import GraphFlags, PrintFlags
from perf2x.cli.parameters import Hidden
from perf2x.cli.progress import load_with_progress
from perf2x.kernel.load_options import LoadOptions


def top(
    inputs: Inputs = (),
    *,
    rows: GraphFlags,
    form: Annotated[PrintFlags, Hidden("wide")],
    request: Annotated[LoadOptions, Hidden("root", "names", "no_symbols")],
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

    rows.check_graph(form)
    sources = recordings(inputs)
    loaded = load_with_progress(sources, request.but(**rows.part()), quiet)
    table = TopTable(loaded.profile, rows.by, rows.sort, rows.value, rows.limit, rows.columns)
    report = top_report(table, sources)
    if rows.graph:
        from perf2x.cli.render.flame_lines import graph_lines

        report = replace(
            report, lines=lambda screen: graph_lines(loaded.profile, table, rows.value, rows.limit, screen)
        )
    form.show(report)
    print_messages(remarks(table, loaded, verbose=verbose), quiet)
