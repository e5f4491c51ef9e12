"""``--value latency`` and ``--parallelism``: the cost of a sample in elapsed time, not in CPU time.

A sample that was taken while four threads ran counts a quarter of its period. The sums equal those of ``perf report
--latency`` (machine__resolve in tools/perf/util/event.c).
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, I64, as_int64, cumsum, flatnonzero, rows_by, unique
from perf2x.errors import SettingError
from perf2x.features.latency.running_threads import cpu_count, parallelism_at, running_threads
from perf2x.features.schedule.schedule import has_only_sampled_switches, has_schedule
from perf2x.model.filters.sample_filters import check_has_times
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.profile import Profile, keep_samples
from perf2x.model.recording import Recording

# prefix of the names of events whose values are latencies
_PREFIX = "latency:"
# binary digits of the fractions that are carried from one sample to the next
_FRACTION_BITS = 20


def with_latency(
    profile: Profile,
    recording: Recording,
    mode: str,
    levels: tuple[int, ...],
    pids: tuple[int, ...],
    unmatched: UnmatchedFilters,
) -> Profile:
    """Add the number of running threads over time to the profile, and a column of latencies to its samples.

    - ``mode``: the setting ``latency``; if it is "", no column is added.
    - ``levels``: keep only samples that were taken while one of these numbers of threads ran; empty: keep all.
    - ``pids``: count only threads of these processes; empty: all.

    Raises OptionError if the number of running threads is unknown, and reports levels without samples to ``unmatched``.
    """
    _check_is_recorded(profile, recording, "latency" if mode else "parallelism")
    running = running_threads(profile, recording, pids)
    parallelism = parallelism_at(running, profile.samples.times, cpu_count(recording))
    profile = replace(profile, running=running)
    if levels:
        rows = _rows_at_levels(parallelism, levels, unmatched)
        profile, parallelism = keep_samples(profile, rows), parallelism[rows]
    return _with_latencies(profile, parallelism) if mode else profile


def _check_is_recorded(profile: Profile, recording: Recording, setting: str) -> None:
    if profile.samples.wait is not None:
        raise SettingError("", setting, ": it only concerns running threads; leave out ", "off_cpu")
    check_has_times(setting, profile, recording)
    reason = ""
    if not has_schedule(recording):
        reason = " does not show how many threads ran; record with: perf record --switch-events"
        reason += " (perf 6.15 and later: --latency), or -e sched:sched_switch -a"
    elif has_only_sampled_switches(recording):
        reason = " has only some of its context switches, as -F samples sched:sched_switch, too; "
        reason += "record with: perf record --switch-events"
    if reason:
        raise SettingError("", setting, f": the recording{reason}")


def _rows_at_levels(parallelism: I32, levels: tuple[int, ...], unmatched: UnmatchedFilters) -> I64:
    rows = flatnonzero(np.isin(parallelism, levels))
    if len(rows):
        unmatched.matched("parallelism", levels)
    elif len(parallelism):
        existing = ", ".join(map(str, unique(parallelism).tolist()[:8]))
        reason = f": no sample was taken while that many threads ran; samples have {existing}"
        unmatched.missed_with_error("parallelism", levels, lambda: SettingError("", "parallelism", reason))
    return rows


def _with_latencies(profile: Profile, parallelism: I32) -> Profile:
    """Do not divide values of waits, because no running thread shares that time; the idle task has latency 0."""
    samples = profile.samples
    latency = samples.value.copy()
    for event, rows in rows_by(samples.event):
        if not profile.events[event].is_wait:
            latency[rows] = divide(samples.value[rows], as_int64(parallelism[rows]))
    latency[(profile.threads.tid == 0)[samples.thread]] = 0
    return replace(profile, samples=replace(samples, latency=latency))


def divide(value: I64, parallelism: I64) -> I64:
    """Return (n,) ``value / parallelism`` as integers, whose sum is nearly exact.

    Each fraction is carried to the next sample: values 1, 1, 1, 1 at a parallelism of 2 become 0, 1, 0, 1.
    """
    quotient, remainder = np.divmod(value, parallelism)
    carried_sum = cumsum((remainder << _FRACTION_BITS) // parallelism) >> _FRACTION_BITS
    return quotient + np.diff(carried_sum, prepend=0)


def latency_as_value(profile: Profile) -> Profile:
    """Replace values by latencies, if there are any, and put ``latency:`` before the names of events.

    Periods of events become 0 (none).
    """
    if profile.samples.latency is None:
        return profile
    samples = replace(profile.samples, value=profile.samples.latency, latency=None)
    events = tuple(replace(event, name=_PREFIX + event.name, period=0) for event in profile.events)
    return replace(profile, events=events, samples=samples)
