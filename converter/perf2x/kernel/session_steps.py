"""The steps between a session's stitched samples and its finished profile: perf2x's own and those of features.

feature.py defines the phases. A step that has nothing to do leaves the profile unchanged. Costly modules are imported
only when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.kernel.feature import Phase, SessionRun, Step, features, with_profile
from perf2x.kernel.load_options import LoadContext
from perf2x.kernel.load_result import Loaded
from perf2x.model.value_limits import LAST_TIME

if TYPE_CHECKING:
    from perf2x.symbolizer.object_resolver import ResolveResult
    from perf2x.symbolizer.symbolize import ProfileSymbolizer


def _move_unknown_times(loaded: Loaded, run: SessionRun) -> Loaded:
    """Move samples of unknown time (LAST_TIME) to the last known time, so that they do not stretch the timeline."""
    samples = loaded.profile.samples
    time = samples.time
    if time is None or not len(time) or time[-1] < LAST_TIME:
        return loaded
    import numpy as np

    known_times = time[time < np.uint64(LAST_TIME)]
    samples = replace(samples, time=np.minimum(time, known_times[-1] if len(known_times) else np.uint64(0)))
    return with_profile(loaded, replace(loaded.profile, samples=samples))


def _sum_samples(loaded: Loaded, run: SessionRun) -> Loaded:
    """Sum equal samples if only a feature needed their times."""
    options = run.options
    if options.timeline or not options.needs_times:
        return loaded
    from perf2x.model.profile import without_times

    keep_cpu = "cpu" in options.columns
    return with_profile(loaded, without_times(loaded.profile, keep_cpu=keep_cpu, keep_wait=True))


def _keep_events(loaded: Loaded, run: SessionRun) -> Loaded:
    """Keep samples of selected events; with ``keep_other_events``, only make the first of these the default."""
    patterns, profile = run.options.events, loaded.profile
    if not patterns:
        return loaded
    from perf2x.model.filters.profile_filters import keep_events

    kept = keep_events(profile, patterns, run.context.unmatched)
    if run.options.keep_other_events:
        kept = replace(profile, default_event=kept.default_event)
    return with_profile(loaded, kept)


def _join_events(loaded: Loaded, run: SessionRun) -> Loaded:
    """Merge events that perf opened once per kind of CPU core, or once per control group.

    If single samples are read again later, nothing is merged: each sample is then looked up by its recorded event.
    """
    options, profile = run.options, loaded.profile
    if not options.join_events or profile.recorded is not None or len(profile.events) < 2:
        return loaded
    from perf2x.model.transforms.joined_events import has_cgroups, with_joined_events

    by_cgroup = has_cgroups(run.recording.session.command_line)
    joined = with_joined_events(profile, options.events, run.context.diagnostics, by_cgroup=by_cgroup)
    return with_profile(loaded, joined)


def _filter_before_symbols(loaded: Loaded, run: SessionRun) -> Loaded:
    return with_profile(loaded, run.filters.before_symbols(loaded.profile))


def _symbolize(loaded: Loaded, run: SessionRun) -> Loaded:
    context, profile, recording = run.context, loaded.profile, run.recording
    symbols = run.options.symbols
    features_use_names = all(settings.LOOKS_UP_NAMES for settings in run.options.features)
    if symbols is None or not run.options.symbolize or not features_use_names:
        return loaded
    with context.stages.stage("symbolize"):
        from perf2x.kernel.registry import load_symbol_sources
        from perf2x.symbolizer.symbolize import ProfileSymbolizer

        if run.options.filters.symbols:
            symbols = replace(symbols, keep_full_names=True)  # filters may match full names
        facts = context.symbol_facts(profile, recording, symbols)
        stored = run.stored_names(profile, symbols) if run.stored_names else None
        symbolizer = ProfileSymbolizer(profile, facts, load_symbol_sources(), context.known_names, stored)
        named, report = symbolizer.finish(_resolve_objects(symbolizer, context))
    return replace(loaded, profile=named, symbols=report)


def _resolve_objects(symbolizer: ProfileSymbolizer, context: LoadContext) -> Iterable[list[ResolveResult]]:
    from perf2x.kernel.worker_pool import processes_for_work, run_tasks

    jobs = context.options.jobs if symbolizer.can_fork else 1
    costs = symbolizer.costs() if jobs != 1 else []
    processes = processes_for_work(sum(costs), len(costs), jobs)
    if processes == 1:
        return map(symbolizer.resolve, range(symbolizer.task_count))
    return run_tasks(processes, symbolizer.resolve, costs, context.stages, "symbolize")


def _drop_placeholder_addresses(loaded: Loaded, run: SessionRun) -> Loaded:
    """Set placeholders to 0: profiles from text have these numbers in place of missing addresses."""
    from perf2x.model.transforms.drop_unused import without_placeholder_addresses

    return with_profile(loaded, without_placeholder_addresses(loaded.profile))


def _filter_after_symbols(loaded: Loaded, run: SessionRun) -> Loaded:
    return with_profile(loaded, run.filters.after_symbols(loaded.profile))


def _group(loaded: Loaded, run: SessionRun) -> Loaded:
    from perf2x.model.transforms.group_samples import grouped

    return with_profile(loaded, grouped(loaded.profile, run.options.grouping))


def _label(loaded: Loaded, run: SessionRun) -> Loaded:
    return with_profile(loaded, replace(loaded.profile, labels=dict(run.session.tags)))


_OWN_STEPS = (
    (Phase.SUMMED, _move_unknown_times),
    (Phase.SUMMED, _sum_samples),
    (Phase.EVENTS, _keep_events),
    (Phase.JOINED, _join_events),
    (Phase.SYMBOLIZED, _filter_before_symbols),
    (Phase.SYMBOLIZED, _symbolize),
    (Phase.SYMBOLIZED, _drop_placeholder_addresses),
    (Phase.FILTERED, _filter_after_symbols),
    (Phase.GROUPED, _group),
    (Phase.DESCRIBED, _label),
)


@cache
def session_steps() -> tuple[Step, ...]:
    """All steps in order; in each phase, the steps of features follow perf2x's own."""
    feature_steps = [phase_and_step for feature in features() for phase_and_step in feature.steps.items()]
    # sorted is stable: perf2x's own steps stay first in each phase
    in_order = sorted((*_OWN_STEPS, *feature_steps), key=lambda phase_and_step: phase_and_step[0])
    return tuple(step for _, step in in_order)
