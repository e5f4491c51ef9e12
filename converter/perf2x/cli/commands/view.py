"""``perf2x view``: a recording as a flame graph in the browser."""

from typing import Annotated

import typer

from perf2x.base.errors import OptionError
from perf2x.base.files.output_file import default_output
from perf2x.cli.help import HelpAll
from perf2x.cli.make_load_options import load_options, with_listings
from perf2x.cli.messages import print_message
from perf2x.cli.options import (
    filter_options,
    format_options,
    grouping_options,
    name_options,
    source_options,
    stack_options,
)
from perf2x.cli.options.input_options import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.progress import progress_bar

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
    title: format_options.Title = None,
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
    source: source_options.PageSource = False,
    source_dir: source_options.PageSourceDir = None,
    assembly: source_options.PageAssembly = False,
    syntax: source_options.Syntax = "att",
    around: source_options.Around = 10,
    hottest: source_options.Hottest = 20,
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
    """Open a recording as a flame graph in the browser.

    The page goes to a temporary file, whose path is printed; nothing leaves the machine. On a remote machine, --serve
    prints a URL to open through ssh -L.
    """
    parameters = locals()
    from perf2x.cli.render.summary import quality_lines, verbose_lines
    from perf2x.cli.view.view_page import open_page, serve_page
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
