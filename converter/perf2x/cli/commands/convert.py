"""``perf2x convert``: one recording in, one file out, at most five lines on standard error."""

import sys
from time import monotonic
from typing import Annotated

import typer

from perf2x.cli import progress as console
from perf2x.cli.gates import check, closed, leave_closed, warn_of_losses
from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options
from perf2x.cli.options import Rare, filters, formats, gates, gather, grouping, stacks, symbols
from perf2x.cli.options import output as outputs
from perf2x.cli.options.filters import FilterFlags
from perf2x.cli.options.formats import FormatFlags
from perf2x.cli.options.gates import GateFlags
from perf2x.cli.options.grouping import GroupFlags
from perf2x.cli.options.inputs import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.options.output import OutputFlags
from perf2x.cli.options.stacks import StitchFlags
from perf2x.cli.options.symbols import SymbolFlags
from perf2x.pipeline.output_names import wants_gzip
from perf2x.tables.errors import OptionError

Tag = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="KEY=VALUE",
        help="pprof: a label of all inputs, or, given for each input, of one.",
        rich_help_panel="Output",
    ),
    Rare,
]
Stats = Annotated[
    str | None,
    typer.Option(
        "--stats",
        metavar="json|FILE.json",
        help="Quality as JSON: on standard error, or in a file.",
        rich_help_panel="For CI",
    ),
    Rare,
]
ProfileStages = Annotated[
    bool, typer.Option("--profile-stages", help="Say on standard error how long each stage took."), Rare
]


def convert(
    inputs: Inputs = None,
    *,
    to: outputs.To = None,
    output: outputs.Output = None,
    settings: outputs.Set = None,
    tag: Tag = None,
    event: filters.Event = None,
    pid: filters.Pid = None,
    tid: filters.Tid = None,
    comm: filters.Comm = None,
    cpu: filters.Cpu = None,
    dso: filters.Dso = None,
    symbol: filters.Symbol = None,
    time: filters.Time = None,
    time_wall: filters.TimeWall = None,
    max_stack: filters.MaxStack = None,
    no_kernel: filters.NoKernel = False,
    no_user: filters.NoUser = False,
    no_idle: filters.NoIdle = False,
    allow_empty: filters.AllowEmpty = False,
    root: grouping.Root = None,
    merge_threads: grouping.MergeThreads = False,
    fold_recursion: grouping.FoldRecursion = False,
    off_cpu: grouping.OffCpu = None,
    anonymize: grouping.Anonymize = None,
    value: formats.Value = None,
    kernel_suffix: formats.KernelSuffix = False,
    label: formats.Label = None,
    pprof_names: formats.PprofNames = None,
    inline_style: formats.InlineStyle = None,
    max_samples: formats.MaxSamples = None,
    chrome_style: formats.ChromeStyle = None,
    min_duration: formats.MinDuration = None,
    max_events: formats.MaxEvents = None,
    per_cpu: formats.PerCpu = False,
    counters: formats.Counters = False,
    with_pid: formats.WithPid = False,
    with_tid: formats.WithTid = False,
    annotate_all: formats.AnnotateAll = False,
    title: formats.Title = None,
    per_event: formats.PerEvent = False,
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
    demangle: symbols.DemangleStyle = "simple",
    inline: symbols.Inline = True,
    no_symbols: symbols.NoSymbols = False,
    max_unpacked: MaxUnpacked = None,
    fail_if_unresolved: gates.FailIfUnresolved = None,
    fail_if_lost: gates.FailIfLost = None,
    fail_if_missing_user: gates.FailIfMissingUser = None,
    strict: gates.Strict = False,
    stats: Stats = None,
    profile_stages: ProfileStages = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    help_all: HelpAll = False,
) -> None:
    """Convert a perf.data recording.

    Files of one recording session are stitched together, independent recordings are added up.

    Writes to the current directory unless -o says otherwise; never overwrites its input.
    """
    written, formatting = gather(OutputFlags, locals()), gather(FormatFlags, locals())
    chosen, groups = gather(FilterFlags, locals()), gather(GroupFlags, locals())
    stitching, names = gather(StitchFlags, locals()), gather(SymbolFlags, locals())
    limits = gather(GateFlags, locals())
    from perf2x.cli.render.summary import summary
    from perf2x.files.output import STDOUT, open_output
    from perf2x.pipeline.load import load
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.plugins import registry as plugins

    sources = recordings(inputs)
    name = written.format()
    if written.nothing_said() and not quiet:
        console.note(f"no --to: writing {name} (perf2x formats lists the others)")
    emitter = plugins.build_emitter(name, formatting.chosen() | _settings(name, written, chosen, groups))
    target = written.target(sources[0], emitter.suffix)
    _refuse_terminal(target, name)
    columns = plugins.wanted_columns(emitter)
    options = load_options(
        chosen,
        groups,
        stitching,
        names,
        timeline=emitter.timeline,
        columns=columns,
        tags=_tags(tag, len(sources), name, columns),
    )
    check(limits, options.symbols is not None)
    if stats:
        from perf2x.cli.render.stats_json import check_stats

        check_stats(stats)
    started, stages = monotonic(), Stages()
    with console.progress(quiet) as progress:
        loaded = load(sources, options, progress, stages)
        read = monotonic()
        files = dict(formatting.outputs(loaded.profile, target, emitter.suffix))
        for file, part in files.items():
            with (
                open_output(file, inputs=sources, compress=wants_gzip(file, emitter.suffix)) as out,
                stages.stage("emit"),
            ):
                emitter.emit(part, out)
    for line in stages.lines() if profile_stages else ():
        console.note(line)
    failed = list(closed(limits, loaded))
    if stats:
        from perf2x.cli.render.stats_json import stats_of, write_stats

        seconds = {"read": read - started, "write": monotonic() - read}
        write_stats(stats, stats_of(loaded, {"format": name, "path": target}, seconds, failed))
    if not quiet and stats != "json":
        where = ["standard output"] if target == STDOUT else list(files)
        notes = plugins.notes(emitter, loaded.profile) if len(where) == 1 else ()
        for line in summary(loaded, name, where, notes, verbose=verbose):
            console.note(line)
        warn_of_losses(loaded)
    leave_closed(failed)


def _tags(said: list[str] | None, inputs: int, name: str, columns: frozenset[str]) -> tuple[dict[str, str], ...]:
    if not said:
        return ()
    if "tags" not in columns:
        raise OptionError(f"{name} has no labels, so it cannot keep --tag; pprof can")
    from perf2x.pipeline.merge_results import tags_of_inputs

    return tuple(tags_of_inputs(said, inputs))


def _refuse_terminal(target: str, name: str) -> None:
    if target == "-" and sys.stdout.isatty() and name == "pprof":
        raise OptionError("pprof is binary and standard output is a terminal; name a file with -o")


def _settings(name: str, written: OutputFlags, chosen: FilterFlags, groups: GroupFlags) -> dict[str, object]:
    """Options of the output format; collapsed has a root of its own, which another one replaces."""
    own_root = False if name == "collapsed" and groups.root else None
    return written.chosen(event="all" if chosen.all_events() else None, root=own_root)
