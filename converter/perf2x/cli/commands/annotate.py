"""``perf2x annotate``: what each source line or instruction of a function costs."""

from typing import Annotated, Literal

import typer
from msgspec.structs import replace

from perf2x.base.errors import OptionError
from perf2x.cli.help import HelpAll
from perf2x.cli.make_load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import filter_options, grouping_options, make_group, name_options, source_options, stack_options
from perf2x.cli.options.input_options import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.options.source_options import ListingFlags
from perf2x.cli.options.table_options import Json, Wide
from perf2x.cli.progress import progress_bar

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
    source: source_options.Source = False,
    source_dir: source_options.SourceDir = None,
    assembly: source_options.Assembly = False,
    syntax: source_options.Syntax = "att",
    around: source_options.Around = 10,
    value: Value = "period",
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
    allow_empty: filter_options.AllowEmpty = False,
    off_cpu: grouping_options.OffCpu = None,
    pairs: grouping_options.PairOf = None,
    locks: grouping_options.Locks = False,
    block: grouping_options.Block = False,
    irq: grouping_options.Irq = False,
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
    from perf2x.cli.render.report_formats import line_width, print_report_text
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
