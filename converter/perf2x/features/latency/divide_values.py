"""``--value latency`` and ``--parallelism``: the cost of a sample in elapsed time, not in CPU time.

A sample taken while four threads ran stands for a quarter of its period: without its code, the program would finish
earlier by that much, at best. Sums equal those of ``perf report --latency`` (machine__resolve in
tools/perf/util/event.c).
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, I64, as_int64, cumsum, flatnonzero, rows_by, unique
from perf2x.errors import SettingError
from perf2x.features.latency.running_threads import cpus_of, parallelism_at, running_threads
from perf2x.features.schedule.schedule import has_samples_only, has_schedule
from perf2x.model.filters.sample_filters import check_timed
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.profile import Profile, keep_samples
from perf2x.model.recording import Recording

_PREFIX = "latency:"
"""Prefix of the names of events whose values are latencies."""
_FRACTION = 20
"""Bits of the fractions that are carried from one sample to the next."""


def with_latency(
    profile: Profile,
    recording: Recording,
    how: str,
    levels: tuple[int, ...],
    pids: tuple[int, ...],
    unmatched: UnmatchedFilters,
) -> Profile:
    """Return a timeline, with a latency column unless ``how`` is empty, and the number of running threads over time.

    ``levels`` are numbers of running threads: samples taken at other numbers are dropped; empty: all are kept. ``pids``
    are the processes whose threads count; empty: all. Raises OptionError if the recording has no switches; a level
    without samples is an unmatched filter.
    """
    _check_is_recorded(profile, recording, "latency" if how else "parallelism")
    curve = running_threads(profile, recording, pids)
    found = parallelism_at(curve, profile.samples.times, cpus_of(recording))
    profile = replace(profile, running=curve)
    if levels:
        rows = _chosen(found, levels, unmatched)
        profile, found = keep_samples(profile, rows), found[rows]
    return _with_shares(profile, found) if how else profile


def _check_is_recorded(profile: Profile, recording: Recording, setting: str) -> None:
    if profile.samples.wait is not None:
        raise SettingError("", setting, ": it only concerns running threads; leave out ", "off_cpu")
    check_timed(setting, profile, recording)
    words = ""
    if not has_schedule(recording):
        words = " does not show how many threads ran; record with: perf record --switch-events"
        words += " (perf 6.15 and later: --latency), or -e sched:sched_switch -a"
    elif has_samples_only(recording):
        words = " has only some of its context switches, as -F samples sched:sched_switch, too; "
        words += "record with: perf record --switch-events"
    if words:
        raise SettingError("", setting, f": the recording{words}")


def _chosen(found: I32, levels: tuple[int, ...], unmatched: UnmatchedFilters) -> I64:
    rows = flatnonzero(np.isin(found, levels))
    if len(rows):
        unmatched.matched("parallelism", levels)
    elif len(found):
        there = ", ".join(map(str, unique(found).tolist()[:8]))
        words = f": no sample was taken while that many threads ran; samples have {there}"
        unmatched.failed("parallelism", levels, lambda: SettingError("", "parallelism", words))
    return rows


def _with_shares(profile: Profile, parallelism: I32) -> Profile:
    """Divide the values of each event; waits and samples of the idle task stay unchanged."""
    samples = profile.samples
    latency = samples.value.copy()
    for event, rows in rows_by(samples.event):
        if not profile.events[event].is_wait:
            latency[rows] = divided(samples.value[rows], as_int64(parallelism[rows]))
    latency[(profile.threads.tid == 0)[samples.thread]] = 0
    return replace(profile, samples=replace(samples, latency=latency))


def divided(value: I64, parallelism: I64) -> I64:
    """Return (n,) ``value / parallelism`` in whole numbers with correct sums.

    Fractions are carried to later samples: of 1, 1, 1 at a parallelism of 2, every second one counts.
    """
    whole, rest = np.divmod(value, parallelism)
    carried = cumsum((rest << _FRACTION) // parallelism) >> _FRACTION
    return whole + np.diff(carried, prepend=0)


def latency_as_value(profile: Profile) -> Profile:
    """Replace values by latencies, and rename the events accordingly."""
    if profile.samples.latency is None:
        return profile
    samples = replace(profile.samples, value=profile.samples.latency, latency=None)
    events = tuple(replace(event, name=_PREFIX + event.name, period=0) for event in profile.events)
    return replace(profile, events=events, samples=samples)
