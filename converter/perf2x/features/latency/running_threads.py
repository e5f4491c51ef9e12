"""The number of running threads over time, from a recording's context switches.

``perf report --latency`` counts them, too (machine->parallelism in tools/perf/util/machine.c). But here threads are
tracked individually, so that a lost record does not shift the count for the rest of the recording. The idle task does
not count.
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
from perf2x.features.schedule.schedule import SCHED_SWITCH, Schedule, event_rows_named, schedule_of
from perf2x.features.schedule.thread_times import ThreadTimes, last_time, sample_times
from perf2x.model.profile import Profile, RunningThreads
from perf2x.model.recording import Recording


def running_threads(profile: Profile, recording: Recording, pids: tuple[int, ...]) -> RunningThreads:
    """Return the number of running threads over time; empty ``pids``: of all processes."""
    schedule = schedule_of(recording)
    samples = sample_times(profile)
    # samples show that their thread runs, except samples of sched_switch, at which it stops running
    shows_running = ~np.isin(profile.samples.event, event_rows_named(profile.events, SCHED_SWITCH)) & (samples.tid != 0)
    times, is_running = _state_changes(schedule, samples.where(shows_running))
    if pids:
        keep = np.isin(times.tid, _tids_of_processes(profile, recording, schedule, pids))
        times, is_running = times.where(keep), is_running[keep]
    return _limited_to_cpus(cpu_count(recording), count_running(times, is_running, schedule.forks))


def cpu_count(recording: Recording) -> int:
    """Return the number of CPUs in the recording's header; 0 if unknown."""
    counts: Any = recording.session.features.get("nrcpus") or {}
    return int(counts.get("available") or 0)


def _limited_to_cpus(cpus: int, running: RunningThreads) -> RunningThreads:
    """Limit the number of running threads to ``cpus`` (0: unknown): records may be lost, and clocks of CPUs differ."""
    if not cpus or not len(running):
        return running
    return _where_changed(running.time, np.minimum(running.threads, cpus))


def _where_changed(time: U64, threads: AnyArray) -> RunningThreads:
    changes = np.diff(threads, prepend=0) != 0
    return RunningThreads(time[changes], as_int32(threads[changes]))


def _state_changes(schedule: Schedule, sampled: ThreadTimes) -> tuple[ThreadTimes, Bools]:
    """Return times of threads, and (n,) whether the thread runs from that time on, or has stopped.

    Where context-switch records are used, samples (``sampled``) count only for threads without any switch or exit.
    """
    if not schedule.switches_are_samples:
        switching = np.append(schedule.switch_ins.tid, schedule.stops.tid)
        sampled = sampled.where(~np.isin(sampled.tid, switching))
    starts = join_tables([schedule.switch_ins, sampled])
    # a sample at the time of its thread's switch-out was taken while it ran
    stops = ThreadTimes(schedule.stops.tid, schedule.stops.time + np.uint64(1))
    return join_tables([starts, stops]), arange(len(starts) + len(stops)) < len(starts)


def _tids_of_processes(profile: Profile, recording: Recording, schedule: Schedule, pids: tuple[int, ...]) -> I64:
    tables: list[Any] = [schedule.switch_outs, recording.sideband.switches, recording.sideband.exits, profile.threads]
    return unique(np.concatenate([as_int64(table.tid[np.isin(table.pid, pids)]) for table in tables]))


def count_running(changes: ThreadTimes, is_running: Bools, forks: ThreadTimes) -> RunningThreads:
    """Count how many threads run after each of ``changes``, which are in any order.

    ``is_running`` (changes,): the thread runs from that time on. A thread whose first change is a stop ran since its
    fork or, if no fork is recorded, since time 0. ::

        thread 1          ──on────off─────        changes           on  on  off  off
        thread 2          ─────on─────off─        running threads    1   2    1    0
    """
    order = argsort_rows([changes.tid, changes.time, ~is_running])
    tid, time, is_on = changes.tid[order], changes.time[order], is_running[order]
    is_first = begins_run(tid)
    was_running = np.where(is_first, ~is_on, of_previous(is_on, False))  # if a state is repeated, the step is 0
    steps = as_int64(is_on) - was_running
    ran_before = is_first & ~is_on
    start_times = last_time(ThreadTimes(tid[ran_before], time[ran_before]), forks)
    return _running_sum(np.append(start_times, time), np.append(np.ones(len(start_times), np.int64), steps))


def _running_sum(time: U64, steps: I64) -> RunningThreads:
    order = argsort(time)
    sorted_time, total = time[order], cumsum(steps[order])
    is_last = ends_run(sorted_time)
    return _where_changed(sorted_time[is_last], total[is_last])


def parallelism_at(running: RunningThreads, time: U64, cpus: int) -> I32:
    """Return (n,) the number of running threads at each ``time`` (n,) of a sample.

    It is at least 1, because the sampled thread runs, and at most ``cpus`` (0: unknown).
    """
    row = searchsorted(running.time, time, side="right") - 1
    count = np.append(running.threads, np.int32(0))[row]
    limit = cpus if cpus > 0 else np.iinfo(np.int32).max
    clipped: I32 = as_int32(np.clip(count, 1, limit))
    return clipped
