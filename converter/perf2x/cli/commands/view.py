"""``perf2x view``: a recording as a flame graph in the browser."""

from typing import Annotated

import typer

from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options, with_listings
from perf2x.cli.messages import print_message
from perf2x.cli.options import filters, formats, grouping, listings, stacks, symbols
from perf2x.cli.options.inputs import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.progress import progress_bar
from perf2x.pipeline.output_names import default_output
from perf2x.tables.errors import OptionError

_PANEL = "Browser"

Serve = Annotated[
    bool,
    typer.Option(
        "--serve",
        help="Serve the page on this machine and print its URL; open it elsewhere through ssh -L.",
        rich_help_panel=_PANEL,
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="N",
        min=0,
        max=65535,
        help="Port to serve on.",
        show_default="a free one",
        rich_help_panel=_PANEL,
    ),
]


def view(
    inputs: Inputs = None,
    *,
    serve: Serve = False,
    port: Port = None,
    title: formats.Title = None,
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
    source: listings.PageSource = False,
    source_dir: listings.PageSourceDir = None,
    assembly: listings.PageAssembly = False,
    syntax: listings.Syntax = "att",
    around: listings.Around = 10,
    hottest: listings.Hottest = 20,
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
    """Open a recording as a flame graph in the browser.

    The page goes to a temporary file, whose path is printed; nothing leaves the machine. On a remote machine, --serve
    prints a URL to open through ssh -L.
    """
    parameters = locals()
    from perf2x.cli.render.summary import quality_lines, verbose_lines
    from perf2x.cli.view_page import open_page, serve_page
    from perf2x.pipeline.for_output import for_output
    from perf2x.pipeline.load import load
    from perf2x.plugins.registry import build_emitter, notes

    if port is not None and not serve:
        raise OptionError("--port is the port of --serve; add --serve")
    sources = recordings(inputs)
    emitter = build_emitter("html", {"title": title} if title else {})
    options = for_output(with_listings(load_options(parameters), parameters), "html", emitter.needs)
    with progress_bar(quiet) as progress:
        loaded = load(sources, options, progress)
    lines = (*(verbose_lines(loaded) if verbose else quality_lines(loaded)), *notes(emitter, loaded.profile))
    for line in () if quiet else lines:
        print_message(line)
    if serve:
        serve_page(lambda out: emitter.emit(loaded.profile, out), port or 0, quiet=quiet)
    else:
        name = default_output(sources[0], emitter.suffix)
        open_page(lambda out: emitter.emit(loaded.profile, out), name, quiet=quiet)
