"""Waits as context switches tell them: samples of sched_switch, or records of ``--switch-events``."""

import numpy as np

from perf2x.base.columnar.arrays import take_rows_of
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Recording
from perf2x.transforms.filters.filter_batches import SampleFilter
from perf2x.transforms.scheduling.sampling_interval import sampling_intervals
from perf2x.transforms.scheduling.schedule import Departures, Schedule, schedule_of
from perf2x.transforms.scheduling.switch_samples import SWITCH, base_name
from perf2x.transforms.scheduling.thread_times import ThreadTimes, last_at_or_before
from perf2x.transforms.scheduling.wait_rows import WaitReport, Waits, report_of
from perf2x.transforms.scheduling.wait_spans import Spans, clipped, spans_of
from perf2x.transforms.scheduling.wait_stacks import BLOCKED_SHARE, Owners, owners_by_nearness, sample_times

_SAMPLED = "-F samples sched_switch, too; leave it out and record with: -e cpu-clock/freq=999/ -e sched:sched_switch"


def scheduled_waits(
    profile: Profile, recording: Recording, passing: SampleFilter, diagnostics: Diagnostics
) -> tuple[Profile, Waits, WaitReport]:
    """Return the waits of the threads and CPUs, and their parts within the times, that pass a filter.

    Threads without samples are added to the profile.
    """
    schedule = schedule_of(recording)
    spans = clipped(spans_of(schedule, sample_times(profile)), passing.times)
    spans = take_rows_of(spans, _passes(take_rows_of(schedule.left, spans.left), passing))
    left, interval = take_rows_of(schedule.left, spans.left), 0
    if schedule.is_traced:
        owners = _owners_by_sample(profile, left)
        held = owners.sample >= 0  # a filter left the other samples out
        spans, owners = take_rows_of(spans, held), take_rows_of(owners, held)
    else:
        profile, owners = owners_by_nearness(profile, left, recording.sideband)
        interval = int(sampling_intervals(profile).max(initial=0))
        _note_stacks(interval, owners, diagnostics)
    _note_ends(spans, diagnostics)
    diagnostics.add("switches_not_sampled", Severity.LOSS, _SAMPLED, schedule.missed)
    waits = _waits(profile, schedule, spans, owners)
    return profile, waits, report_of(waits, interval // BLOCKED_SHARE, int(spans.duration[spans.is_open].sum()))


def _waits(profile: Profile, schedule: Schedule, spans: Spans, owners: Owners) -> Waits:
    left = take_rows_of(schedule.left, spans.left)
    stack = np.append(profile.samples.stack, -1)[owners.sample].astype(np.int32)
    return Waits(owners.sample, owners.thread, stack, left.cpu, spans.since, spans.duration, left.kind)


def _passes(left: Departures, passing: SampleFilter) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    keep = np.ones(len(left), np.bool_)
    for name, wanted in passing.numbers():
        keep &= np.isin(getattr(left, name), wanted)
    return keep


def _owners_by_sample(profile: Profile, left: Departures) -> Owners:
    """Return the samples of sched_switch that departures are."""
    switching = [row for row, event in enumerate(profile.events) if base_name(event.name) == SWITCH]
    rows = np.flatnonzero(np.isin(profile.samples.event, switching))
    times = sample_times(profile)
    among = ThreadTimes(times.tid[rows], times.time[rows])
    found = last_at_or_before(left.times, among)
    is_same = (found >= 0) & (np.append(among.time, np.uint64(0))[found] == left.time)
    sample = np.where(is_same, np.append(rows, -1)[found], -1)
    return Owners(sample, np.append(profile.samples.thread, -1)[sample].astype(np.int32))


def _note_stacks(interval: int, owners: Owners, diagnostics: Diagnostics) -> None:
    advice = (
        f"the stack is that of a sample at most {interval / BLOCKED_SHARE / 1e6:.3g} ms before the thread blocked,"
        f" {interval / 1e6:.3g} ms before it was preempted; record with: perf record --off-cpu"
    )
    diagnostics.add("guessed_stacks_of_waits", Severity.GUESS, advice, int((owners.sample >= 0).sum()))
    advice = "context-switch records have no stack, and no sample is near; record with: perf record --off-cpu"
    diagnostics.add("waits_without_stack", Severity.INFO, advice, int((owners.sample < 0).sum()))


def _note_ends(spans: Spans, diagnostics: Diagnostics) -> None:
    advice = "the end is only known from the thread's next sample or its exit; record with -a or --switch-events"
    diagnostics.add("guessed_ends_of_waits", Severity.GUESS, advice, int(spans.is_guessed.sum()))
    advice = "the recording ends during these waits; they count until its last record"
    diagnostics.add("waits_without_end", Severity.INFO, advice, int(spans.is_open.sum()))
