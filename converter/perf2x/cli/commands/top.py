"""``perf2x top``: the hottest functions, objects or threads as a table."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perf2x.cli.help import HelpAll
from perf2x.cli.make_load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import filter_options, grouping_options, make_group, name_options, stack_options
from perf2x.cli.options.input_options import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.options.table_options import By, Format, Json, Limit, TableFlags, Value, Wide
from perf2x.cli.progress import progress_bar
from perf2x.cli.render.report_formats import print_report

if TYPE_CHECKING:
    from perf2x.analysis.totals import Total, Totals

Sort = Annotated[Literal["self", "total"], typer.Option("--sort", help="Column to sort by.", rich_help_panel="Table")]


def top(
    inputs: Inputs = None,
    *,
    limit: Limit = 20,
    by: By = "function",
    sort: Sort = "self",
    value: Value = "period",
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: Json = False,
    wide: Wide = False,
    event: filter_options.Event = None,
    pid: filter_options.Pid = None,
    tid: filter_options.Tid = None,
    comm: filter_options.Comm = None,
    cpu: filter_options.Cpu = None,
    dso: filter_options.Dso = None,
    symbol: filter_options.Symbol = None,
    time: filter_options.Time = None,
    time_wall: filter_options.TimeWall = None,
    parallelism: filter_options.Parallelism = None,
    max_stack: filter_options.MaxStack = None,
    no_kernel: filter_options.NoKernel = False,
    no_user: filter_options.NoUser = False,
    no_idle: filter_options.NoIdle = False,
    where: filter_options.Where = None,
    allow_empty: filter_options.AllowEmpty = False,
    root: grouping_options.Root = None,
    merge_threads: grouping_options.MergeThreads = False,
    fold_recursion: grouping_options.FoldRecursion = False,
    off_cpu: grouping_options.OffCpu = None,
    pairs: grouping_options.PairOf = None,
    locks: grouping_options.Locks = False,
    block: grouping_options.Block = False,
    irq: grouping_options.Irq = False,
    anonymize: grouping_options.Anonymize = None,
    deferred_missing: stack_options.DeferredMissing = "mark",
    stitch_lbr: stack_options.StitchLbr = False,
    merge_callchains: stack_options.MergeCallchains = True,
    jobs: stack_options.Jobs = 0,
    symfs: name_options.Symfs = None,
    kallsyms: name_options.Kallsyms = None,
    vmlinux: name_options.Vmlinux = None,
    debug_dir: name_options.DebugDir = None,
    buildid_dir: name_options.BuildidDir = None,
    perf_map_dir: name_options.PerfMapDir = None,
    debuginfod: name_options.Debuginfod = None,
    archive: name_options.Archive = None,
    allow_build_id_mismatch: name_options.AllowBuildIdMismatch = False,
    names: name_options.Names = "short",
    inline: name_options.Inline = True,
    no_symbols: name_options.NoSymbols = False,
    max_unpacked: MaxUnpacked = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    help_all: HelpAll = False,
) -> None:
    """Show the hottest functions: what each costs itself, and with all that it calls."""
    parameters = locals()
    table = make_group(TableFlags, parameters)
    from perf2x.analysis.totals import totals
    from perf2x.cli.render.summary import quality_lines, verbose_lines
    from perf2x.cli.render.top_table import top_report
    from perf2x.pipeline.load import load

    sources = recordings(inputs)
    with progress_bar(quiet) as progress:
        loaded = load(sources, load_options(parameters, latency="beside" if value == "latency" else ""), progress)
    found = totals(loaded.profile, None, by, value)
    rows = table.first(sort_rows(found, sort))
    beside = totals(loaded.profile, None, by) if value == "latency" else None
    report = top_report(found, rows, by, sort, loaded.profile.meta.duration_ns, sources, beside)
    print_report(report, table.shape, wide=wide)
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
