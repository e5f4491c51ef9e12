"""What is worked out from the times of samples: waits, latencies, how many threads ran, fields of tracepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.model.value_limits import LAST_TIME, check_total
from perf2x.transforms.time_reports import WaitReport

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile
    from perf2x.model.recording.events import Recording
    from perf2x.pipeline.load_options import LoadContext
    from perf2x.transforms.filters.apply_choice import Selection


def with_times_used(
    profile: Profile, recording: Recording, selection: Selection, context: LoadContext
) -> tuple[Profile, WaitReport | None]:
    """The profile with what was asked for, and figures about its waits; times go unless they are wanted, too."""
    options = context.options
    profile = _with_fields(_with_switches(profile, recording, context), recording)
    profile, waits = _with_off_cpu(profile, recording, selection, context)
    if options.latency or options.choice.parallelism:
        from perf2x.transforms.scheduling.latency import Latency, with_latency

        wanted = Latency(options.latency, options.choice.parallelism)
        profile = with_latency(profile, recording, wanted, options.choice.pids, selection.unmatched)
    elif options.timeline and profile.switches is not None:
        from perf2x.transforms.scheduling.running_threads import running_threads

        profile = replace(profile, running=running_threads(profile, recording, options.choice.pids))
    profile = _in_the_recording(profile)
    if options.needs_times and not options.timeline:
        from perf2x.model.profile.stack_tree import without_times

        profile = without_times(profile, keep_cpu="cpu" in options.columns, keep_wait=bool(options.off_cpu))
    return profile, waits


def _with_switches(profile: Profile, recording: Recording, context: LoadContext) -> Profile:
    """The timeline with context switches that only samples tell of."""
    if not context.options.timeline or not any(event.name.startswith("sched:") for event in profile.events):
        return profile
    from perf2x.transforms.scheduling.traced_switches import with_traced_switches

    return with_traced_switches(profile, recording)


def _with_fields(profile: Profile, recording: Recording) -> Profile:
    """The timeline with the fields of its tracepoints, if wanted."""
    if profile.samples.position is None:  # not wanted
        return profile
    from perf2x.transforms.traced_samples import with_fields

    return with_fields(profile, recording)


def _in_the_recording(profile: Profile) -> Profile:
    """The profile with samples whose time nobody knows at the end of the others, so that they stretch no timeline."""
    time = profile.samples.time
    if time is None or not len(time) or time[-1] < LAST_TIME:
        return profile
    import numpy as np

    known = time[time < np.uint64(LAST_TIME)]
    samples = replace(profile.samples, time=np.minimum(time, known[-1] if len(known) else np.uint64(0)))
    return replace(profile, samples=samples)


def _with_off_cpu(
    profile: Profile, recording: Recording, selection: Selection, context: LoadContext
) -> tuple[Profile, WaitReport | None]:
    options = context.options
    if not options.off_cpu:
        return profile, None
    from perf2x.transforms.scheduling.off_cpu import off_cpu

    profile, report = off_cpu(profile, recording, options.off_cpu, context.diagnostics, selection.passing)
    check_total(recording.session.source, profile.samples.value)
    return profile, report
