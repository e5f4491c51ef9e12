"""The number of running threads over time, from a recording's context switches.

``perf report --latency`` (machine->parallelism in tools/perf/util/machine.c) counts them: a switch in adds one, a
switch out or exit removes one. Here threads are tracked individually, so that a lost record does not shift the count
for good, and the idle task does not count.
"""

from typing import Any

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    AnyArray,
    Bools,
    arange,
    argsort,
    argsort_rows,
    as_int32,
    as_int64,
    begins_run,
    cumsum,
    ends_run,
    join_tables,
    of_previous,
    searchsorted,
    unique,
)
from perf2x.features.schedule.schedule import SWITCH, Schedule, rows_called, schedule_of
from perf2x.features.schedule.thread_times import ThreadTimes, last_time, sample_times
from perf2x.model.profile import Profile, RunningThreads
from perf2x.model.recording import Recording


def running_threads(profile: Profile, recording: Recording, pids: tuple[int, ...]) -> RunningThreads:
    """Return the number of running threads over time, of all processes or of ``pids``."""
    schedule = schedule_of(recording)
    seen, runs = sample_times(profile), ~np.isin(profile.samples.event, rows_called(profile.events, SWITCH))
    moments = _moments(schedule, seen.where(runs & (seen.tid != 0)))
    if pids:
        tids = _threads_of(profile, recording, schedule, pids)
        keep = np.isin(moments[0].tid, tids)
        moments = moments[0].where(keep), moments[1][keep]
    return _at_most(cpus_of(recording), curve_of(*moments, schedule.forks))


def cpus_of(recording: Recording) -> int:
    """Return the recorded number of CPUs; 0 if unknown."""
    counts: Any = recording.session.features.get("nrcpus") or {}
    return int(counts.get("available") or 0)


def _at_most(cpus: int, curve: RunningThreads) -> RunningThreads:
    """Limit the number of threads to that of CPUs: some records are lost, and clocks of CPUs differ a little."""
    if not cpus or not len(curve):
        return curve
    return _changes(curve.time, np.minimum(curve.threads, cpus))


def _changes(time: U64, threads: AnyArray) -> RunningThreads:
    """Return one row for each time at which the number of threads changes."""
    changes = np.diff(threads, prepend=0) != 0
    return RunningThreads(time[changes], as_int32(threads[changes]))


def _moments(schedule: Schedule, seen: ThreadTimes) -> tuple[ThreadTimes, Bools]:
    """Return the times from which threads are known to run (True), or not to run (False).

    A sample shows that its thread ran, unless it was taken because the thread was switched out. If records of switches
    in exist for a thread, only they count; samples are the fallback.
    """
    if not schedule.is_traced:
        switching = np.append(schedule.entered.tid, schedule.stopped.tid)
        seen = seen.where(~np.isin(seen.tid, switching))
    on = join_tables([schedule.entered, seen])
    # a sample at the time of its thread's switch out was taken while it ran
    off = ThreadTimes(schedule.stopped.tid, schedule.stopped.time + np.uint64(1))
    return join_tables([on, off]), arange(len(on) + len(off)) < len(on)


def _threads_of(profile: Profile, recording: Recording, schedule: Schedule, pids: tuple[int, ...]) -> I64:
    """Return the tids of all threads of some processes."""
    tables: list[Any] = [schedule.left, recording.sideband.switches, recording.sideband.exits, profile.threads]
    return unique(np.concatenate([as_int64(table.tid[np.isin(table.pid, pids)]) for table in tables]))


def curve_of(moments: ThreadTimes, runs: Bools, forks: ThreadTimes) -> RunningThreads:
    """Count running threads after each row of ``moments``.

    ``runs``: the thread runs from that time on; otherwise it has stopped by then. A thread that stops first must have
    run before: since its fork, or, if that is not recorded, since the recording's start (0).

    ::

        thread 1   ──on────off─────        moments  on  on  off  off
        thread 2   ─────on─────off─        threads   1   2    1    0
    """
    order = argsort_rows([moments.tid, moments.time, ~runs])
    tid, time, on = moments.tid[order], moments.time[order], runs[order]
    is_first = begins_run(tid)
    before = np.where(is_first, ~on, of_previous(on, False))
    step = as_int64(on) - before
    early = is_first & ~on
    births = last_time(ThreadTimes(tid[early], time[early]), forks)
    return _summed(np.append(births, time), np.append(np.ones(len(births), np.int64), step))


def _summed(time: U64, step: I64) -> RunningThreads:
    """Add steps in order of time; one row for each time at which the number changes."""
    order = argsort(time)
    at, total = time[order], cumsum(step[order])
    is_last = ends_run(at)
    return _changes(at[is_last], total[is_last])


def parallelism_at(curve: RunningThreads, time: U64, cpus: int) -> I32:
    """Return (n,) the number of running threads at each time, at least 1 for the sampled thread itself.

    It is at most ``cpus``, if known (not 0), because records may be out of order.
    """
    row = searchsorted(curve.time, time, side="right") - 1
    count = np.append(curve.threads, np.int32(0))[row]
    most = cpus if cpus > 0 else np.iinfo(np.int32).max
    clipped: I32 = as_int32(np.clip(count, 1, most))
    return clipped
