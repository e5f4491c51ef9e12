"""``perf2x convert``: recordings in, one file out, at most five lines on standard error."""

import os
import sys
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.base.errors import OptionError
from perf2x.base.files.output_file import wants_gzip
from perf2x.cli.as_typed import as_typed, setting_as_typed
from perf2x.cli.dataset_output import write_dataset
from perf2x.cli.help import HelpAll
from perf2x.cli.make_load_options import load_options, with_listings
from perf2x.cli.messages import print_message
from perf2x.cli.options import (
    Rare,
    filter_options,
    format_options,
    gate_options,
    grouping_options,
    make_group,
    name_options,
    source_options,
    stack_options,
)
from perf2x.cli.options import output_options as outputs
from perf2x.cli.options.filter_options import FilterFlags
from perf2x.cli.options.format_options import FormatFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.input_options import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.options.output_options import OutputFlags, parse_tags
from perf2x.cli.progress import progress_bar
from perf2x.cli.quality_gates import check_gates, exit_for_failed_gates, failed_gates, warn_of_losses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perf2x.cli.send.destination import Destination
    from perf2x.model.plugin_options import Needs
    from perf2x.model.profile.profile import Profile
    from perf2x.pipeline.stage_timer import Stages
    from perf2x.plugins.registry import Emitter

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
    value: format_options.Value = None,
    kernel_suffix: format_options.KernelSuffix = False,
    label: format_options.Label = None,
    pprof_names: format_options.PprofNames = None,
    inline_style: format_options.InlineStyle = None,
    for_reader: format_options.For = None,
    object_name: format_options.Object = None,
    max_samples: format_options.MaxSamples = None,
    chrome_style: format_options.ChromeStyle = None,
    perfetto_style: format_options.PerfettoStyle = None,
    min_duration: format_options.MinDuration = None,
    max_events: format_options.MaxEvents = None,
    per_cpu: format_options.PerCpu = False,
    counters: format_options.Counters = False,
    with_pid: format_options.WithPid = False,
    with_tid: format_options.WithTid = False,
    annotate_all: format_options.AnnotateAll = False,
    title: format_options.Title = None,
    per_event: format_options.PerEvent = False,
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
    fail_if_unresolved: gate_options.FailIfUnresolved = None,
    fail_if_lost: gate_options.FailIfLost = None,
    fail_if_missing_user: gate_options.FailIfMissingUser = None,
    strict: gate_options.Strict = False,
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
    from perf2x.base.files.output_file import STDOUT
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
    from perf2x.base.files.output_file import open_output

    for file, profile in files.items():
        with open_output(file, inputs=sources, compress=wants_gzip(file, emitter.suffix)) as out, stages.stage("emit"):
            emitter.emit(profile, out)


def _send(
    files: "Mapping[str, Profile]", emitter: "Emitter", server: "Destination", stages: "Stages"
) -> tuple[str, ...]:
    """Send each profile; return what the server remarks."""
    from io import BytesIO

    from perf2x.cli.send.destination import for_profile
    from perf2x.cli.send.http_client import post
    from perf2x.cli.send.parca import write_raw_request
    from perf2x.cli.send.send_settings import send_settings

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
