"""``perf2x annotate``: what each source line or instruction of a function costs."""

from typing import Annotated, Literal

import typer
from msgspec.structs import replace

from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import filters, grouping, listings, make_group, stacks, symbols
from perf2x.cli.options.inputs import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.options.listings import ListingFlags
from perf2x.cli.options.table import Json, Wide
from perf2x.cli.progress import progress_bar
from perf2x.tables.errors import OptionError

Function = Annotated[
    str, typer.Argument(metavar="FUNCTION", help="Name of a function as perf2x top shows it, or a glob.")
]
Value = Annotated[
    Literal["period", "samples"], typer.Option("--value", help="Kind of the numbers.", rich_help_panel="Table")
]


def annotate(
    function: Function,
    inputs: Inputs = None,
    *,
    source: listings.Source = False,
    source_dir: listings.SourceDir = None,
    assembly: listings.Assembly = False,
    syntax: listings.Syntax = "att",
    around: listings.Around = 10,
    value: Value = "period",
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
    allow_empty: filters.AllowEmpty = False,
    off_cpu: grouping.OffCpu = None,
    pairs: grouping.PairOf = None,
    locks: grouping.Locks = False,
    block: grouping.Block = False,
    irq: grouping.Irq = False,
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
    max_unpacked: MaxUnpacked = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    help_all: HelpAll = False,
) -> None:
    """Show what each source line or instruction of a function costs.

    Without --source, the numbers of lines and their costs; source files are read only if you say where they are.
    """
    parameters = locals() | _UNUSED
    flags = make_group(ListingFlags, parameters)
    wanted = flags.options(function, value)
    from perf2x.cli.render.annotate_json import listing_json
    from perf2x.cli.render.annotate_page import listing_lines
    from perf2x.cli.render.report import line_width, print_report_text
    from perf2x.cli.render.summary import quality_lines, verbose_lines
    from perf2x.pipeline.load import load

    sources = recordings(inputs)
    options = replace(load_options(parameters), listings=wanted)
    with progress_bar(quiet) as progress:
        loaded = load(sources, options, progress)
    if loaded.profile.listings is None or not loaded.profile.listings.functions:
        raise OptionError(f"no function {function!r}: the recording has no samples")
    profile = loaded.profile
    print_report_text(listing_json(profile) if as_json else listing_lines(profile, None if wide else line_width()))
    if quiet:
        return
    for line in verbose_lines(loaded) if verbose else quality_lines(loaded):
        print_message(line)


_UNUSED = {"root": None, "merge_threads": False, "fold_recursion": False, "anonymize": None, "no_symbols": False}
"""Groupings that change no sum of a function, and options that would take its name."""
