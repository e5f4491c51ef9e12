"""``perf2x convert``: recordings in, one file out, at most five lines on standard error."""

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.cli.as_typed import as_typed, setting_as_typed
from perf2x.cli.dataset_output import write_dataset
from perf2x.cli.gates import check_gates, exit_for_failed_gates, failed_gates, warn_of_losses
from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options, with_listings
from perf2x.cli.messages import print_message
from perf2x.cli.options import Rare, filters, formats, gates, grouping, listings, make_group, stacks, symbols
from perf2x.cli.options import output as outputs
from perf2x.cli.options.filters import FilterFlags
from perf2x.cli.options.formats import FormatFlags
from perf2x.cli.options.gates import GateFlags
from perf2x.cli.options.inputs import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.options.output import OutputFlags, parse_tags
from perf2x.cli.progress import progress_bar
from perf2x.pipeline.output_names import wants_gzip
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perf2x.cli.send.destination import Destination
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.plugins.registry import Emitter
    from perf2x.tables.plugin_options import Needs
    from perf2x.tables.profile import Profile

Stats = Annotated[
    str | None,
    typer.Option(
        "--stats",
        metavar="json|FILE.json",
        help="Write quality figures as JSON to standard error or a file.",
        rich_help_panel="For CI",
    ),
    Rare,
]
ProfileStages = Annotated[
    bool, typer.Option("--profile-stages", help="Print on standard error how long each stage took."), Rare
]


def convert(
    inputs: Inputs = None,
    *,
    to: outputs.To = None,
    output: outputs.Output = None,
    settings: outputs.Set = None,
    send: outputs.Send = None,
    tag: outputs.Tag = None,
    start_time: outputs.StartTime = None,
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
    value: formats.Value = None,
    kernel_suffix: formats.KernelSuffix = False,
    label: formats.Label = None,
    pprof_names: formats.PprofNames = None,
    inline_style: formats.InlineStyle = None,
    for_reader: formats.For = None,
    object_name: formats.Object = None,
    max_samples: formats.MaxSamples = None,
    chrome_style: formats.ChromeStyle = None,
    perfetto_style: formats.PerfettoStyle = None,
    min_duration: formats.MinDuration = None,
    max_events: formats.MaxEvents = None,
    per_cpu: formats.PerCpu = False,
    counters: formats.Counters = False,
    with_pid: formats.WithPid = False,
    with_tid: formats.WithTid = False,
    annotate_all: formats.AnnotateAll = False,
    title: formats.Title = None,
    per_event: formats.PerEvent = False,
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

    Writes to the current directory unless -o says otherwise; never overwrites its input. With --send it writes no file.
    """
    parameters = locals()
    written, formatting = make_group(OutputFlags, parameters), make_group(FormatFlags, parameters)
    limits = make_group(GateFlags, parameters)
    from perf2x.files.output import STDOUT
    from perf2x.pipeline.for_output import check_of_command, for_output
    from perf2x.pipeline.load import load
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.plugins.registry import build_emitter, notes

    sources = recordings(inputs)
    name = written.format()
    if name == "parquet":
        write_dataset(sources, parameters)
        return
    if written.is_default() and not quiet and not send:
        print_message(f"no --to: writing {name} (perf2x formats lists the others)")
    all_events = make_group(FilterFlags, parameters).all_events()
    server = written.destination(name)
    wanted = _names_for(server) | formatting.chosen(name) | _settings(name, written, all_events, root)
    with as_typed(setting_as_typed(formatting, written)):
        emitter = build_emitter(name, wanted)
    needs = emitter.needs
    target = written.target(sources[0], emitter.suffix)
    if server is None:
        _refuse_terminal(target, name, needs)
    check_of_command(parameters, name, needs)
    tags = tuple(parse_tags(tag, len(sources))) if tag else ()
    options = load_options(parameters, latency=_latency(value, needs), tags=tags, start_time=start_time)
    options = for_output(with_listings(options, parameters), name, needs)
    check_gates(limits, options.symbols is not None)
    if stats:
        from perf2x.cli.render.stats_json import check_stats

        check_stats(stats)
    started, stages = monotonic(), Stages()
    with progress_bar(quiet) as progress:
        loaded = load(sources, options, progress, stages)
        read = monotonic()
        files = dict(formatting.outputs(loaded.profile, target, emitter.suffix))
        remarks = () if server is None else _send(files, emitter, server, stages)
        if server is None:
            _write_files(files, emitter, sources, stages)
    for line in stages.lines() if profile_stages else ():
        print_message(line)
    failed = list(failed_gates(limits, loaded))
    if stats:
        from perf2x.cli.render.stats_json import stats_of, write_stats

        seconds = {"read": read - started, "write": monotonic() - read}
        where = target if server is None else server.shown
        write_stats(stats, stats_of(loaded, {"format": name, "path": where}, seconds, failed))
    if not quiet and stats != "json":
        from perf2x.cli.render.summary import summary

        outputs = ["standard output"] if target == STDOUT else list(files)
        remarks += notes(emitter, loaded.profile) if len(files) == 1 else ()
        sent = server.shown if server is not None else ""
        for line in summary(loaded, name, needs, outputs, remarks, verbose=verbose, sent=sent):
            print_message(line)
        warn_of_losses(loaded)
    exit_for_failed_gates(failed)


def _write_files(
    files: "Mapping[str, Profile]", emitter: "Emitter", sources: tuple[str, ...], stages: "Stages"
) -> None:
    from perf2x.files.output import open_output

    for file, profile in files.items():
        with open_output(file, inputs=sources, compress=wants_gzip(file, emitter.suffix)) as out, stages.stage("emit"):
            emitter.emit(profile, out)


def _send(
    files: "Mapping[str, Profile]", emitter: "Emitter", server: "Destination", stages: "Stages"
) -> tuple[str, ...]:
    """Send each profile; return what the server remarks."""
    from io import BytesIO

    from perf2x.cli.send.client import post
    from perf2x.cli.send.destination import for_profile
    from perf2x.cli.send.parca import write_raw_request
    from perf2x.cli.send.settings import send_settings

    settings, remarks = send_settings(os.environ), []
    for profile in files.values():
        out = BytesIO()
        with stages.stage("emit"):
            emitter.emit(profile, out)
        with stages.stage("send"):
            data = write_raw_request(out.getvalue(), profile) if server.is_parca else out.getvalue()
            remarks.append(post(data, for_profile(server, profile), settings))
    return tuple(f"the server says: {remark}" for remark in remarks if remark)


def _refuse_terminal(target: str, name: str, needs: "Needs") -> None:
    if target == "-" and sys.stdout.isatty() and needs.binary:
        raise OptionError(f"{name} is binary and standard output is a terminal; name a file with -o")


def _latency(value: str | None, needs: "Needs") -> str:
    """LoadOptions.latency: beside the values where the format shows both."""
    if value != "latency":
        return ""
    return "beside" if "latency" in needs.columns else "value"


def _names_for(server: "Destination | None") -> dict[str, object]:
    """Options of the format that the server wants unless the user says otherwise."""
    return {"names": "identifiers"} if server is not None and server.is_parca else {}


def _settings(name: str, written: OutputFlags, all_events: bool, root: str | None) -> dict[str, object]:
    """Options of the output format; collapsed has a root frame of its own, which --root replaces."""
    own_root = False if name == "collapsed" and root else None
    return written.settings_with(event="all" if all_events else None, root=own_root)
