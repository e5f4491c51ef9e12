"""The number of running threads over time, from a recording's context switches.

``perf report --latency`` (machine->parallelism in tools/perf/util/machine.c) counts them: a switch in adds one, a
switch out or exit removes one. Here threads are tracked individually, so that a lost record does not shift the count
for the rest of the recording, and the idle task does not count.
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
    sampled = sample_times(profile)
    was_running = ~np.isin(profile.samples.event, rows_called(profile.events, SWITCH)) & (sampled.tid != 0)
    times, runs = _state_changes(schedule, sampled.where(was_running))
    if pids:
        keep = np.isin(times.tid, _threads_of(profile, recording, schedule, pids))
        times, runs = times.where(keep), runs[keep]
    return _at_most(cpus_of(recording), count_running(times, runs, schedule.forks))


def cpus_of(recording: Recording) -> int:
    """Return the recorded number of CPUs; 0 if unknown."""
    counts: Any = recording.session.features.get("nrcpus") or {}
    return int(counts.get("available") or 0)


def _at_most(cpus: int, running: RunningThreads) -> RunningThreads:
    """Limit the number of running threads to ``cpus`` (0: unknown): records may be lost, and CPUs' clocks differ."""
    if not cpus or not len(running):
        return running
    return _changes(running.time, np.minimum(running.threads, cpus))


def _changes(time: U64, threads: AnyArray) -> RunningThreads:
    """Keep only the rows at which the number of threads changes."""
    changes = np.diff(threads, prepend=0) != 0
    return RunningThreads(time[changes], as_int32(threads[changes]))


def _state_changes(schedule: Schedule, sampled: ThreadTimes) -> tuple[ThreadTimes, Bools]:
    """Return times from which a thread runs (True) or no longer runs (False).

    Threads are shown to run by records of their switches in, or else by their samples (``sampled``): if switches out
    are samples of sched_switch, by both; otherwise by samples only for threads without any switch record.
    """
    if not schedule.is_traced:
        switching = np.append(schedule.entered.tid, schedule.stopped.tid)
        sampled = sampled.where(~np.isin(sampled.tid, switching))
    on = join_tables([schedule.entered, sampled])
    # a sample at the time of its thread's switch out was taken while it ran
    off = ThreadTimes(schedule.stopped.tid, schedule.stopped.time + np.uint64(1))
    return join_tables([on, off]), arange(len(on) + len(off)) < len(on)


def _threads_of(profile: Profile, recording: Recording, schedule: Schedule, pids: tuple[int, ...]) -> I64:
    """Return the tids of all threads of some processes."""
    tables: list[Any] = [schedule.left, recording.sideband.switches, recording.sideband.exits, profile.threads]
    return unique(np.concatenate([as_int64(table.tid[np.isin(table.pid, pids)]) for table in tables]))


def count_running(changes: ThreadTimes, runs: Bools, forks: ThreadTimes) -> RunningThreads:
    """Count how many threads run after each of ``changes``.

    ``runs`` (changes,): True if the thread runs from that time on, False if it has stopped by then. A thread whose
    first change is a stop must have run before: since its fork, or since time 0 if its fork is not recorded.

    ::

        thread 1   ──on────off─────        changes  on  on  off  off
        thread 2   ─────on─────off─        threads   1   2    1    0
    """
    order = argsort_rows([changes.tid, changes.time, ~runs])
    tid, time, on = changes.tid[order], changes.time[order], runs[order]
    is_first = begins_run(tid)
    was_on = np.where(is_first, ~on, of_previous(on, False))  # a repeated state changes nothing: step 0
    step = as_int64(on) - was_on
    ran_before = is_first & ~on
    births = last_time(ThreadTimes(tid[ran_before], time[ran_before]), forks)
    return _summed(np.append(births, time), np.append(np.ones(len(births), np.int64), step))


def _summed(time: U64, step: I64) -> RunningThreads:
    """Add up the steps (+1, 0 or −1) in order of time; return a row for each time at which the sum changes."""
    order = argsort(time)
    sorted_time, total = time[order], cumsum(step[order])
    is_last = ends_run(sorted_time)
    return _changes(sorted_time[is_last], total[is_last])


def parallelism_at(running: RunningThreads, time: U64, cpus: int) -> I32:
    """Return (n,) the number of running threads at the time of each sample.

    It is at least 1, for the sampled thread itself, and at most ``cpus`` (0: unknown), as records may be out of order.
    """
    row = searchsorted(running.time, time, side="right") - 1
    count = np.append(running.threads, np.int32(0))[row]
    most = cpus if cpus > 0 else np.iinfo(np.int32).max
    clipped: I32 = as_int32(np.clip(count, 1, most))
    return clipped
