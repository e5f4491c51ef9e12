"""``--off-cpu``: waiting time by stack.

Waits come from the first of these sources that the recording has:

- ``perf record --off-cpu``: samples of ``offcpu-time`` whose period is the waiting time;
- ``-e sched:sched_switch -g``: each sample is a switch-out, with the thread's stack. It also names the thread that gets
  the CPU next (next_pid), whose wait ends;
- ``--switch-events``: records of switch-outs and switch-ins, without stacks (wait_stacks.py).
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, as_int32, as_uint64, flatnonzero, sum_of, take_rows_of, unique
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import OptionError, SettingError
from perf2x.features.off_cpu.insert_waits import (
    Waits,
    WaitSpans,
    cut_to_ranges,
    joined_samples,
    summarize_waits,
    wait_spans,
    with_wait_frames,
)
from perf2x.features.off_cpu.wait_report import WaitReport
from perf2x.features.off_cpu.wait_stacks import BLOCKED_SHARE, StackSources, nearby_stack_sources
from perf2x.features.schedule.schedule import (
    SCHED_SWITCH,
    SwitchOuts,
    event_rows_named,
    has_schedule,
    sampling_intervals,
    schedule_of,
)
from perf2x.features.schedule.thread_times import ThreadTimes, last_at_or_before, sample_times
from perf2x.model.filters.sample_filters import SampleFilter, check_has_times, within
from perf2x.model.filters.time_ranges import Range
from perf2x.model.profile import Profile, ProfileEvent, ProfileSamples, Wait
from perf2x.model.recording import Recording
from perf2x.model.value_limits import LAST_TIME

# the event of perf record --off-cpu, whose periods are waiting times
_OFFCPU_TIME = "offcpu-time"
# names of a new event for waits, and of the clock event with waits
_SEPARATE_NAME = "off-cpu"
_MERGED_NAME = "wall-clock"


def off_cpu(
    profile: Profile, recording: Recording, mode: str, diagnostics: Diagnostics, sample_filter: SampleFilter
) -> tuple[Profile, WaitReport]:
    """Add waits as samples to a timeline, and return figures on them; ``mode`` as in `_with_waits`.

    The time ranges of ``sample_filter`` have not been applied to the samples, because a wait that began before a range
    counts from the range's start on. Raises OptionError if the recording does not show when threads waited.
    """
    measuring_events = event_rows_named(profile.events, _OFFCPU_TIME)
    if measuring_events:
        rows = flatnonzero(np.isin(profile.samples.event, measuring_events))
        waits = _measured_waits(profile.samples, rows, sample_filter.times)
        report = summarize_waits(waits)
    else:
        _check_is_recorded(profile, recording)
        profile, waits, report = _scheduled_waits(profile, recording, sample_filter, diagnostics)
        profile, waits = with_wait_frames(profile, waits)
    return _with_waits(profile, waits, mode, sample_filter), report


def _check_is_recorded(profile: Profile, recording: Recording) -> None:
    check_has_times("off_cpu", profile, recording)
    if not has_schedule(recording):
        raise SettingError(
            "",
            "off_cpu",
            ": the recording does not show when threads waited; record with: perf record --off-cpu,"
            " or -e sched:sched_switch, or --switch-events",
        )


def _with_waits(profile: Profile, waits: Waits, mode: str, sample_filter: SampleFilter) -> Profile:
    """Add waits to the profile as samples, whose values are durations (ns). Values of ``mode``:

    - ``apart``: keep only the waits, as samples of a new event ``off-cpu``;
    - ``beside``: keep the samples of other events, too; if offcpu-time was recorded, waits stay samples of that event;
    - ``merged``: add the waits to the clock event, call it ``wall-clock``, and keep no samples of other events.

    Raises OptionError if there is no clock event to merge with, or no sample and no wait in the time ranges.
    """
    samples, events = profile.samples, list(profile.events)
    measuring_events = event_rows_named(events, _OFFCPU_TIME)
    kept = ~np.isin(samples.event, measuring_events)
    if mode == "merged":
        wait_event = _clock_event(profile)
        events[wait_event] = replace(events[wait_event], name=_MERGED_NAME, period=0, frequency=0)
        kept &= samples.event == wait_event
    elif mode == "beside" and measuring_events:
        wait_event = measuring_events[0]
    else:
        wait_event = len(events)
        events.append(ProfileEvent(_SEPARATE_NAME, "nanoseconds", 0, 0, is_wait=True))
        kept &= mode == "beside"
    other_events = samples.event[kept & (mode == "beside")]
    default_event = int(other_events.min()) if len(other_events) else wait_event
    if sample_filter.times and samples.time is not None:
        kept &= within(samples.time, sample_filter.times)
    joined = joined_samples(profile, kept, waits, wait_event)
    if sample_filter.times and len(samples) and not len(joined):
        raise OptionError("no sample and no wait in that time")
    return replace(profile, events=tuple(events), samples=joined, default_event=default_event)


def _clock_event(profile: Profile) -> int:
    """Return the first clock event with samples. Raises OptionError if there is none."""
    clocks = [row for row, event in enumerate(profile.events) if event.unit == "nanoseconds" and not event.is_wait]
    sampled = [row for row in clocks if row in unique(profile.samples.event)]
    if not sampled:
        raise SettingError("", "off_cpu", " merged: no event of the recording measures time; record with: -e cpu-clock")
    return sampled[0]


# perf's sums of short waits have no time; the reader gives them this one (bpf_off_cpu_samples.py)
_NO_TIME = np.uint64(LAST_TIME)


def _measured_waits(samples: ProfileSamples, rows: I64, ranges: Sequence[Range]) -> Waits:
    """Return the waits that end within ``ranges``, from samples of offcpu-time (``rows``).

    Two kinds of waits get no place in timelines (Wait.UNPLACED): perf's sums of short waits, and waits that would begin
    before time 0.
    """
    time = samples.times
    last_time = time[time < _NO_TIME].max(initial=np.uint64(0))
    until, duration = time[rows], samples.value[rows]
    has_start = (until < _NO_TIME) & (as_uint64(duration) <= until)
    since = np.where(has_start, until - as_uint64(np.where(has_start, duration, 0)), np.minimum(until, last_time))
    kind = np.where(has_start, Wait.UNKNOWN, Wait.UNPLACED).astype(np.uint8)
    waits = Waits(rows, samples.thread[rows], samples.stack[rows], samples.cpus[rows], since, duration, kind)
    return take_rows_of(waits, within(until, ranges))


_SAMPLED_SWITCHES = (
    "-F samples sched_switch, too; leave it out and record with: -e cpu-clock/freq=999/ -e sched:sched_switch"
)


def _scheduled_waits(
    profile: Profile, recording: Recording, sample_filter: SampleFilter, diagnostics: Diagnostics
) -> tuple[Profile, Waits, WaitReport]:
    """``sample_filter`` selects waits by pid, tid and CPU, and cuts them to its time ranges.

    The returned profile also has the threads that have waits, but no samples.
    """
    schedule = schedule_of(recording)
    spans = cut_to_ranges(wait_spans(schedule, sample_times(profile)), sample_filter.times)
    spans = take_rows_of(spans, sample_filter.passes_numbers(take_rows_of(schedule.switch_outs, spans.switch_out)))
    switch_outs, interval = take_rows_of(schedule.switch_outs, spans.switch_out), 0
    if schedule.switches_are_samples:
        stack_sources = _stack_sources_of_samples(profile, switch_outs)
        kept = stack_sources.sample >= 0  # a filter dropped the samples of the other switch-outs
        spans, stack_sources = take_rows_of(spans, kept), take_rows_of(stack_sources, kept)
    else:
        profile, stack_sources = nearby_stack_sources(profile, switch_outs, recording.sideband)
        interval = int(sampling_intervals(profile).max(initial=0))
        _note_stacks(interval, stack_sources, diagnostics)
    _note_ends(spans, diagnostics)
    diagnostics.add("switches_not_sampled", _SAMPLED_SWITCHES, schedule.unsampled)
    switch_outs = take_rows_of(schedule.switch_outs, spans.switch_out)
    stack = as_int32(np.append(profile.samples.stack, -1)[stack_sources.sample])
    waits = Waits(stack_sources.sample, stack_sources.thread, stack, switch_outs.cpu, spans.since, spans.duration,
                  switch_outs.kind)  # fmt: skip
    return profile, waits, summarize_waits(waits, interval // BLOCKED_SHARE, sum_of(spans.duration[spans.is_open]))


def _stack_sources_of_samples(profile: Profile, switch_outs: SwitchOuts) -> StackSources:
    """The result is −1 where a filter dropped the sample."""
    switch_events = event_rows_named(profile.events, SCHED_SWITCH)
    rows = flatnonzero(np.isin(profile.samples.event, switch_events))
    times = sample_times(profile)
    switches = ThreadTimes(times.tid[rows], times.time[rows])
    switch_row = last_at_or_before(switch_outs.times, switches)
    is_recorded = (switch_row >= 0) & (np.append(switches.time, np.uint64(0))[switch_row] == switch_outs.time)
    sample = np.where(is_recorded, np.append(rows, -1)[switch_row], -1)
    return StackSources(sample, as_int32(np.append(profile.samples.thread, -1)[sample]))


def _note_stacks(interval: int, stack_sources: StackSources, diagnostics: Diagnostics) -> None:
    advice = (
        f"the stack is that of a sample at most {interval / BLOCKED_SHARE / 1e6:.3g} ms before the thread blocked,"
        f" {interval / 1e6:.3g} ms before it was preempted; record with: perf record --off-cpu"
    )
    diagnostics.add("guessed_stacks_of_waits", advice, sum_of(stack_sources.sample >= 0))
    advice = "context-switch records have no stack, and no sample is near; record with: perf record --off-cpu"
    diagnostics.add("waits_without_stack", advice, sum_of(stack_sources.sample < 0))


def _note_ends(spans: WaitSpans, diagnostics: Diagnostics) -> None:
    advice = "the end is only known from the thread's next sample or its exit; record with -a or --switch-events"
    diagnostics.add("guessed_ends_of_waits", advice, sum_of(spans.is_guessed))
    advice = "the recording ends during these waits; they count until its last record"
    diagnostics.add("waits_without_end", advice, sum_of(spans.is_open))
