"""``perf2x top``: the hottest functions, objects or threads as a table."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import filters, grouping, make_group, stacks, symbols
from perf2x.cli.options.inputs import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.options.table import By, Format, Json, Limit, TableFlags, Value, Wide
from perf2x.cli.progress import progress_bar
from perf2x.cli.render.report import print_report

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
    event: filters.Event = None,
    pid: filters.Pid = None,
    tid: filters.Tid = None,
    comm: filters.Comm = None,
    cpu: filters.Cpu = None,
    dso: filters.Dso = None,
    symbol: filters.Symbol = None,
    time: filters.Time = None,
    time_wall: filters.TimeWall = None,
    parallelism: filters.Parallelism = None,
    max_stack: filters.MaxStack = None,
    no_kernel: filters.NoKernel = False,
    no_user: filters.NoUser = False,
    no_idle: filters.NoIdle = False,
    where: filters.Where = None,
    allow_empty: filters.AllowEmpty = False,
    root: grouping.Root = None,
    merge_threads: grouping.MergeThreads = False,
    fold_recursion: grouping.FoldRecursion = False,
    off_cpu: grouping.OffCpu = None,
    pairs: grouping.PairOf = None,
    locks: grouping.Locks = False,
    block: grouping.Block = False,
    irq: grouping.Irq = False,
    anonymize: grouping.Anonymize = None,
    deferred_missing: stacks.DeferredMissing = "mark",
    stitch_lbr: stacks.StitchLbr = False,
    merge_callchains: stacks.MergeCallchains = True,
    jobs: stacks.Jobs = 0,
    symfs: symbols.Symfs = None,
    kallsyms: symbols.Kallsyms = None,
    vmlinux: symbols.Vmlinux = None,
    debug_dir: symbols.DebugDir = None,
    buildid_dir: symbols.BuildidDir = None,
    perf_map_dir: symbols.PerfMapDir = None,
    debuginfod: symbols.Debuginfod = None,
    archive: symbols.Archive = None,
    allow_build_id_mismatch: symbols.AllowBuildIdMismatch = False,
    names: symbols.Names = "short",
    inline: symbols.Inline = True,
    no_symbols: symbols.NoSymbols = False,
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
