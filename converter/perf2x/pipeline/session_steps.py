"""The steps between a session's stitched samples and its finished profile, in order.

A step changes what was loaded, or leaves it as it is where its options do not ask for it. It imports what it needs when
it has something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from perf2x.analysis.recording_advice import chain_report
from perf2x.model.value_limits import LAST_TIME, check_total
from perf2x.pipeline.load_options import LoadContext, LoadOptions
from perf2x.pipeline.load_result import Loaded
from perf2x.pipeline.open_sessions import SessionInput

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile
    from perf2x.model.recording.events import Recording
    from perf2x.symbolizer.object_resolver import ResolveResult
    from perf2x.symbolizer.symbolize import ProfileSymbolizer
    from perf2x.transforms.filters.apply_choice import Selection


class SessionRun(Struct, frozen=True):
    """What steps know besides what was loaded."""

    recording: Recording
    selection: Selection
    """The user's choice, held against the recording."""
    context: LoadContext
    session: SessionInput

    @property
    def options(self) -> LoadOptions:
        """The options of the load."""
        return self.context.options


Step = Callable[[Loaded, SessionRun], Loaded]


def _changed(loaded: Loaded, profile: Profile) -> Loaded:
    """The result with another profile."""
    return replace(loaded, profile=profile)


def _count_chains(loaded: Loaded, run: SessionRun) -> Loaded:
    """Count stacks that tell whether they were recorded well, where samples stand at their stacks."""
    session, options = run.recording.session, run.options
    untold = session.counts or {"hardware_trace", "text"} & set(session.features)
    if options.value or options.data_objects or untold:
        return loaded
    return replace(loaded, chains=chain_report(loaded.profile, session))


def _add_traced_switches(loaded: Loaded, run: SessionRun) -> Loaded:
    """Add context switches that only samples tell of."""
    profile = loaded.profile
    if not run.options.timeline or not any(event.name.startswith("sched:") for event in profile.events):
        return loaded
    from perf2x.transforms.scheduling.traced_switches import with_traced_switches

    return _changed(loaded, with_traced_switches(profile, run.recording))


def _add_tracepoint_fields(loaded: Loaded, run: SessionRun) -> Loaded:
    """Add the fields of tracepoints, if wanted."""
    if loaded.profile.samples.position is None:  # not wanted
        return loaded
    from perf2x.transforms.traced_samples import with_fields

    return _changed(loaded, with_fields(loaded.profile, run.recording))


def _add_waits(loaded: Loaded, run: SessionRun) -> Loaded:
    """Add the time that threads waited."""
    if not run.options.off_cpu:
        return loaded
    from perf2x.transforms.scheduling.off_cpu import off_cpu

    profile, waits = off_cpu(
        loaded.profile, run.recording, run.options.off_cpu, run.context.diagnostics, run.selection.passing
    )
    check_total(run.recording.session.source, profile.samples.value)
    return replace(loaded, profile=profile, waits=waits)


def _count_running_threads(loaded: Loaded, run: SessionRun) -> Loaded:
    """Work out latencies, and how many threads ran when a sample was taken; in timelines how many ran over time."""
    options, profile = run.options, loaded.profile
    if options.latency or options.choice.parallelism:
        from perf2x.transforms.scheduling.latency import Latency, with_latency

        wanted = Latency(options.latency, options.choice.parallelism)
        profile = with_latency(profile, run.recording, wanted, options.choice.pids, run.selection.unmatched)
    elif options.timeline and profile.switches is not None:
        from perf2x.transforms.scheduling.running_threads import running_threads

        profile = replace(profile, running=running_threads(profile, run.recording, options.choice.pids))
    return _changed(loaded, profile)


def _end_at_known_times(loaded: Loaded, run: SessionRun) -> Loaded:
    """Put samples whose time nobody knows at the end of the others, so that they stretch no timeline."""
    samples = loaded.profile.samples
    time = samples.time
    if time is None or not len(time) or time[-1] < LAST_TIME:
        return loaded
    import numpy as np

    known = time[time < np.uint64(LAST_TIME)]
    samples = replace(samples, time=np.minimum(time, known[-1] if len(known) else np.uint64(0)))
    return _changed(loaded, replace(loaded.profile, samples=samples))


def _sum_samples(loaded: Loaded, run: SessionRun) -> Loaded:
    """Sum samples whose times were needed only on the way."""
    options = run.options
    if options.timeline or not options.needs_times:
        return loaded
    from perf2x.model.profile.stack_tree import without_times

    keep_cpu, keep_wait = "cpu" in options.columns, bool(options.off_cpu)
    return _changed(loaded, without_times(loaded.profile, keep_cpu=keep_cpu, keep_wait=keep_wait))


def _keep_events(loaded: Loaded, run: SessionRun) -> Loaded:
    """Leave out samples of other events, or show another event first."""
    wanted, profile = run.options.events, loaded.profile
    if not wanted:
        return loaded
    from perf2x.transforms.filters import choice

    kept = choice.keep_events(profile, wanted, run.context.unmatched)
    return _changed(loaded, replace(profile, default_event=kept.default_event) if run.options.beside else kept)


def _count_code(loaded: Loaded, run: SessionRun) -> Loaded:
    """Count branches and samples of one object's code."""
    wanted = run.options.code
    if wanted is None:
        return loaded
    from perf2x.pipeline import count_code

    code = count_code.count_code(loaded.profile, run.recording, run.selection, run.context, wanted)
    return _changed(loaded, replace(loaded.profile, code=code))


def _join_events(loaded: Loaded, run: SessionRun) -> Loaded:
    """Join what is one event, unless samples are looked up by the event that was recorded."""
    options, profile = run.options, loaded.profile
    if not options.join_events or profile.recorded is not None or len(profile.events) < 2:
        return loaded
    from perf2x.transforms.joined_events import has_cgroups, with_joined_events

    by_cgroup = has_cgroups(run.recording.session.command_line)
    joined = with_joined_events(profile, options.events, run.context.diagnostics, by_cgroup=by_cgroup)
    return _changed(loaded, joined)


def _filter_before_symbols(loaded: Loaded, run: SessionRun) -> Loaded:
    """Choose by what needs no names of functions."""
    return _changed(loaded, run.selection.before_symbols(loaded.profile))


def _symbolize(loaded: Loaded, run: SessionRun) -> Loaded:
    """Look up names."""
    context, profile, recording = run.context, loaded.profile, run.recording
    symbols = run.options.symbols
    if symbols is None or not run.options.look_up or run.options.code is not None:
        return loaded  # what compilers read names code itself
    with context.stages.stage("symbolize"):
        from perf2x.pipeline.stitched.stitched_recording import StitchedRecording
        from perf2x.plugins.registry import load_symbol_sources
        from perf2x.symbolizer.make_finder import make_context
        from perf2x.symbolizer.symbolize import ProfileSymbolizer

        if run.options.choice.symbols:
            symbols = replace(symbols, keep_full_names=True)  # they may be what the user typed
        session, sideband = recording.session, recording.sideband
        facts = make_context(profile, session, symbols, context.diagnostics, context.finder, sideband)
        given = recording.names(profile, symbols) if isinstance(recording, StitchedRecording) else None
        symbolizer = ProfileSymbolizer(profile, facts, load_symbol_sources(), context.known_names, given)
        profile, report = symbolizer.finish(_resolve_objects(symbolizer, context))
    return replace(loaded, profile=profile, symbols=report)


def _resolve_objects(symbolizer: ProfileSymbolizer, context: LoadContext) -> Iterable[list[ResolveResult]]:
    """The results of all units of work, in order, from as many processes as are worth it."""
    from perf2x.pipeline.worker_pool import processes_for_work, run_tasks

    jobs = context.options.jobs if symbolizer.can_fork else 1
    costs = symbolizer.costs() if jobs != 1 else []
    processes = processes_for_work(sum(costs), len(costs), jobs)
    if processes == 1:
        return map(symbolizer.resolve, range(symbolizer.units))
    return run_tasks(processes, symbolizer.resolve, costs, context.stages, "symbolize")


def _forget_places(loaded: Loaded, run: SessionRun) -> Loaded:
    """Merge stacks that differ only in addresses without names."""
    from perf2x.transforms.without_places import without_places

    return _changed(loaded, without_places(loaded.profile))


def _hide_scheduler(loaded: Loaded, run: SessionRun) -> Loaded:
    """Let waits begin at what waited, not in the scheduler."""
    if not run.options.off_cpu:
        return loaded
    from perf2x.transforms.scheduling.wait_stacks import without_scheduler_frames

    return _changed(loaded, without_scheduler_frames(loaded.profile))


def _filter_after_symbols(loaded: Loaded, run: SessionRun) -> Loaded:
    """Choose by function, and cut stacks."""
    return _changed(loaded, run.selection.after_symbols(loaded.profile))


def _anonymize(loaded: Loaded, run: SessionRun) -> Loaded:
    """Hash names of the profile, the report and the diagnostics."""
    salt, symbols = run.options.anonymize, loaded.symbols
    if not salt:
        return loaded
    from perf2x.transforms.anonymize import anonymized, hidden_name
    from perf2x.transforms.drop_unused import compact

    for count in run.context.diagnostics.counts.values():
        count.first = ""
    if symbols is not None:
        rows = (
            replace(row, name=hidden_name(row.name, "object", salt), build_id="", reason="") for row in symbols.objects
        )
        symbols = replace(symbols, objects=tuple(rows))
    return replace(loaded, profile=anonymized(compact(loaded.profile), salt), symbols=symbols)


def _read_again(loaded: Loaded, run: SessionRun) -> Loaded:
    """Add what reads the samples once more, as they were recorded."""
    if loaded.profile.recorded is None:
        return loaded
    from perf2x.pipeline.read_again import with_reader

    return _changed(loaded, with_reader(loaded.profile, run.recording, run.selection, run.context))


def _group(loaded: Loaded, run: SessionRun) -> Loaded:
    """Group samples."""
    from perf2x.transforms.group_samples import grouped

    return _changed(loaded, grouped(loaded.profile, run.options.grouping))


def _show_latency(loaded: Loaded, run: SessionRun) -> Loaded:
    """Let samples count their latency."""
    if run.options.latency != "value":
        return loaded
    from perf2x.transforms.scheduling.latency import latency_as_value

    return _changed(loaded, latency_as_value(loaded.profile))


def _set_start_time(loaded: Loaded, run: SessionRun) -> Loaded:
    """Set the time of day of the first sample, if it is given."""
    wanted = run.options.start_time
    if wanted is None:
        return loaded
    from perf2x.pipeline.start_time import with_start_time

    meta = with_start_time(loaded.profile.meta, run.recording.session, wanted, run.session.files)
    return _changed(loaded, replace(loaded.profile, meta=meta))


def _label(loaded: Loaded, run: SessionRun) -> Loaded:
    """Label the profile with the session's tags."""
    return _changed(loaded, replace(loaded.profile, labels=dict(run.session.tags)))


STEPS: tuple[Step, ...] = (
    _count_chains,
    _add_traced_switches,
    _add_tracepoint_fields,
    _add_waits,
    _count_running_threads,
    _end_at_known_times,
    _sum_samples,
    _keep_events,
    _count_code,
    _join_events,
    _filter_before_symbols,
    _symbolize,
    _forget_places,
    _hide_scheduler,
    _filter_after_symbols,
    _anonymize,
    _read_again,
    _group,
    _show_latency,
    _set_start_time,
    _label,
)
"""All steps in the order in which they are taken."""
