"""Time between two samples of a thread that runs all the time, by event."""

import numpy as np

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.unique import argsort_rows, rows_by
from perf2x.model.profile.profile import Profile, ProfileEvent

LONGEST_NS = 10_000_000
"""Intervals that are only estimated are no longer: rare events say nothing about when a thread ran."""


def sampling_intervals(profile: Profile) -> I64:
    """(events,) nanoseconds; 0 for events without samples, or with a single one in every thread.

    Events with a frequency, and clocks, were asked for one. For others it is the median distance between two samples
    of a thread, at most 10 ms.
    """
    samples = profile.samples
    intervals = np.zeros(len(profile.events), np.int64)
    for event, rows in rows_by(samples.event):
        asked = _asked(profile.events[event])
        intervals[event] = asked or _median_step(profile, rows)
    return intervals


def _asked(event: ProfileEvent) -> int:
    if event.frequency:
        return 1_000_000_000 // event.frequency
    return event.period if event.unit == "nanoseconds" and not event.is_wait else 0


def _median_step(profile: Profile, rows: I64) -> int:
    if profile.samples.time is None:
        return 0
    thread, time = profile.samples.thread[rows], profile.samples.time[rows].astype(np.int64)
    order = argsort_rows([thread, time])
    steps = np.diff(time[order])[np.diff(thread[order]) == 0]
    return min(int(np.median(steps)), LONGEST_NS) if len(steps) else 0
