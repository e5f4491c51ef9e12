"""``--off-cpu``: waiting time by stack, from the time when a thread left its CPU until it came back.

Waits come from the first of these that the recording has:

- ``perf record --off-cpu``: samples of ``offcpu-time`` whose period is the waiting time (`_measured_waits`);
- ``-e sched:sched_switch -g``: samples of switches out, with the thread's stack. The thread is back when a
  context-switch record or the sched_switch of the thread before it on the CPU says so, and at the latest at its own
  next sample or its exit (`_scheduled_waits`);
- ``--switch-events``: records of switches out and in, without stacks. A wait gets the stack of a sample shortly before
  the switch out (wait_stacks.py).
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
    clipped,
    joined_samples,
    report_of,
    spans_of,
    with_wait_frames,
)
from perf2x.features.off_cpu.wait_report import WaitReport
from perf2x.features.off_cpu.wait_stacks import BLOCKED_SHARE, Owners, owners_by_nearness
from perf2x.features.schedule.schedule import (
    SWITCH,
    Departures,
    has_schedule,
    rows_called,
    sampling_intervals,
    schedule_of,
)
from perf2x.features.schedule.thread_times import ThreadTimes, last_at_or_before, sample_times
from perf2x.model.filters.sample_filters import SampleFilter, check_timed, within
from perf2x.model.filters.time_ranges import Range
from perf2x.model.profile import Profile, ProfileEvent, ProfileSamples, Wait
from perf2x.model.recording import Recording
from perf2x.model.value_limits import LAST_TIME

_MEASURED = "offcpu-time"
_OFF_CPU = "off-cpu"
_WALL_CLOCK = "wall-clock"


def off_cpu(
    profile: Profile, recording: Recording, how: str, diagnostics: Diagnostics, passing: SampleFilter
) -> tuple[Profile, WaitReport]:
    """Add waits as samples to a timeline profile, and report figures about them; ``how`` as in `_with_waits`.

    ``passing`` is the filter that was applied to the profile's samples, apart from its time ranges. These are applied
    here, because a wait that began before a range still counts from the range's start. Raises OptionError if the
    recording has no waits.
    """
    measuring_events = rows_called(profile.events, _MEASURED)
    if measuring_events:
        rows = flatnonzero(np.isin(profile.samples.event, measuring_events))
        waits = _measured_waits(profile.samples, rows, passing.times)
        report = report_of(waits)
    else:
        _check_is_recorded(profile, recording)
        profile, waits, report = _scheduled_waits(profile, recording, passing, diagnostics)
        profile, waits = with_wait_frames(profile, waits)
    return _with_waits(profile, waits, how, passing), report


def _check_is_recorded(profile: Profile, recording: Recording) -> None:
    check_timed("off_cpu", profile, recording)
    if not has_schedule(recording):
        raise SettingError(
            "",
            "off_cpu",
            ": the recording does not show when threads waited; record with: perf record --off-cpu,"
            " or -e sched:sched_switch, or --switch-events",
        )


def _with_waits(profile: Profile, waits: Waits, how: str, passing: SampleFilter) -> Profile:
    """Add waits to the profile, with their lengths in nanoseconds as values.

    ``how``:

    - ``apart``: keep only the waits, as the event off-cpu;
    - ``beside``: keep the samples of all other events, too;
    - ``merged``: add the waits to the clock event, call it wall-clock, and keep no other event.

    Raises OptionError if there is no clock event to merge with.
    """
    samples, events = profile.samples, list(profile.events)
    measuring_events = rows_called(events, _MEASURED)
    kept = ~np.isin(samples.event, measuring_events)
    if how == "merged":
        wait_event = _clock_event(profile)
        events[wait_event] = replace(events[wait_event], name=_WALL_CLOCK, period=0, frequency=0)
        kept &= samples.event == wait_event
    elif how == "beside" and measuring_events:
        wait_event = measuring_events[0]
    else:
        wait_event = len(events)
        events.append(ProfileEvent(_OFF_CPU, "nanoseconds", 0, 0, is_wait=True))
        kept &= how == "beside"
    other_events = samples.event[kept & (how == "beside")]
    default_event = int(other_events.min()) if len(other_events) else wait_event
    if passing.times and samples.time is not None:
        kept &= within(samples.time, passing.times)
    joined = joined_samples(profile, kept, waits, wait_event)
    if passing.times and len(samples) and not len(joined):
        raise OptionError("no sample and no wait in that time")
    return replace(profile, events=tuple(events), samples=joined, default_event=default_event)


def _clock_event(profile: Profile) -> int:
    """Return the first event with samples that measures time."""
    clocks = [row for row, event in enumerate(profile.events) if event.unit == "nanoseconds" and not event.is_wait]
    sampled = [row for row in clocks if row in unique(profile.samples.event)]
    if not sampled:
        raise SettingError("", "off_cpu", " merged: no event of the recording measures time; record with: -e cpu-clock")
    return sampled[0]


_NO_TIME = np.uint64(LAST_TIME)
"""The time that the reader gives to perf's sums of short waits, which have none (bpf_off_cpu_samples.py)."""


def _measured_waits(samples: ProfileSamples, rows: I64, ranges: Sequence[Range]) -> Waits:
    """Return the samples ``rows`` of offcpu-time as waits, if they end within ``ranges``.

    The kernel writes such a sample at the end of a wait. perf's sums of short waits have no time, and are placed at the
    end of the recording. A wait that would begin before time 0 keeps its end as its time.
    """
    time = samples.times
    last = time[time < _NO_TIME].max(initial=np.uint64(0))
    until, duration = time[rows], samples.value[rows]
    has_start = (until < _NO_TIME) & (as_uint64(duration) <= until)
    since = np.where(has_start, until - as_uint64(np.where(has_start, duration, 0)), np.minimum(until, last))
    kind = np.where(has_start, Wait.UNKNOWN, Wait.UNPLACED).astype(np.uint8)
    waits = Waits(rows, samples.thread[rows], samples.stack[rows], samples.cpus[rows], since, duration, kind)
    return take_rows_of(waits, within(until, ranges))


_SAMPLED = "-F samples sched_switch, too; leave it out and record with: -e cpu-clock/freq=999/ -e sched:sched_switch"


def _scheduled_waits(
    profile: Profile, recording: Recording, passing: SampleFilter, diagnostics: Diagnostics
) -> tuple[Profile, Waits, WaitReport]:
    """Return the waits between context switches that the filter keeps (by thread and CPU), cut to its time ranges.

    Threads without samples are added to the profile.
    """
    schedule = schedule_of(recording)
    spans = clipped(spans_of(schedule, sample_times(profile)), passing.times)
    spans = take_rows_of(spans, passing.passing_numbers(take_rows_of(schedule.left, spans.departure)))
    left, interval = take_rows_of(schedule.left, spans.departure), 0
    if schedule.is_traced:
        owners = _owners_by_sample(profile, left)
        kept = owners.sample >= 0  # a filter dropped the other switches out
        spans, owners = take_rows_of(spans, kept), take_rows_of(owners, kept)
    else:
        profile, owners = owners_by_nearness(profile, left, recording.sideband)
        interval = int(sampling_intervals(profile).max(initial=0))
        _note_stacks(interval, owners, diagnostics)
    _note_ends(spans, diagnostics)
    diagnostics.add("switches_not_sampled", _SAMPLED, schedule.missed)
    left = take_rows_of(schedule.left, spans.departure)
    stack = as_int32(np.append(profile.samples.stack, -1)[owners.sample])
    waits = Waits(owners.sample, owners.thread, stack, left.cpu, spans.since, spans.duration, left.kind)
    return profile, waits, report_of(waits, interval // BLOCKED_SHARE, sum_of(spans.duration[spans.is_open]))


def _owners_by_sample(profile: Profile, left: Departures) -> Owners:
    """Return the sample of sched_switch that is each switch out, and its thread; −1 if a filter dropped the sample."""
    switch_events = rows_called(profile.events, SWITCH)
    rows = flatnonzero(np.isin(profile.samples.event, switch_events))
    times = sample_times(profile)
    switches = ThreadTimes(times.tid[rows], times.time[rows])
    switch = last_at_or_before(left.times, switches)
    is_same = (switch >= 0) & (np.append(switches.time, np.uint64(0))[switch] == left.time)
    sample = np.where(is_same, np.append(rows, -1)[switch], -1)
    return Owners(sample, as_int32(np.append(profile.samples.thread, -1)[sample]))


def _note_stacks(interval: int, owners: Owners, diagnostics: Diagnostics) -> None:
    advice = (
        f"the stack is that of a sample at most {interval / BLOCKED_SHARE / 1e6:.3g} ms before the thread blocked,"
        f" {interval / 1e6:.3g} ms before it was preempted; record with: perf record --off-cpu"
    )
    diagnostics.add("guessed_stacks_of_waits", advice, sum_of(owners.sample >= 0))
    advice = "context-switch records have no stack, and no sample is near; record with: perf record --off-cpu"
    diagnostics.add("waits_without_stack", advice, sum_of(owners.sample < 0))


def _note_ends(spans: WaitSpans, diagnostics: Diagnostics) -> None:
    advice = "the end is only known from the thread's next sample or its exit; record with -a or --switch-events"
    diagnostics.add("guessed_ends_of_waits", advice, sum_of(spans.is_guessed))
    advice = "the recording ends during these waits; they count until its last record"
    diagnostics.add("waits_without_end", advice, sum_of(spans.is_open))
