"""Finds stacks and threads for waits that come from context-switch records, which have no stack of their own.

A wait gets the stack of its thread's last sample before the switch-out, if that sample is recent:

- A thread that blocked called the kernel after the sample, possibly from another function. The limit is a tenth of the
  sampling interval, so that on average at most a tenth of the waits get the stack of code that merely ran before.
- A preempted thread was interrupted where it ran. The limit is the whole interval.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    Frozen,
    StringInterner,
    as_int32,
    as_int64,
    as_uint64,
    flatnonzero,
    group_rows,
    join_tables,
    minus_ones,
    take_rows_of,
)
from perf2x.features.schedule.schedule import SwitchOuts, sampling_intervals
from perf2x.features.schedule.thread_times import ThreadTimes, first_at_or_after, last_at_or_before, sample_times
from perf2x.model.filters.frame_filters import all_frames_match
from perf2x.model.profile import Profile, Threads, Wait, sum_samples
from perf2x.model.recording import Sideband


def without_scheduler_frames(profile: Profile) -> Profile:
    """Remove the scheduler's frames at the inner end of waits' stacks: the caller shows what the thread waited for.

    The outermost frame stays. Profiles without times lose the column ``wait``, which no later step needs.
    """
    samples, parent = profile.samples, as_int64(profile.stacks.parent)
    is_scheduler = all_frames_match(profile, "scheduler")[profile.stacks.location] & (parent >= 0)
    stack = as_int64(samples.stack)
    rows = flatnonzero((samples.waits != Wait.RAN) & (stack >= 0))
    while len(rows := rows[is_scheduler[stack[rows]]]):
        stack[rows] = parent[stack[rows]]
    wait = None if samples.time is None else samples.wait
    return sum_samples(replace(profile, samples=replace(samples, stack=stack.astype(samples.stack.dtype), wait=wait)))


# maximum age of the stack of a blocked thread's wait: 1/BLOCKED_SHARE of a sampling interval
BLOCKED_SHARE = 10


class StackSources(Frozen):
    """For each wait: the sample whose stack it gets, and its thread."""

    sample: I64
    """(waits,) row of Profile.samples, −1 for none."""
    thread: I32
    """(waits,) row of Profile.threads."""


def nearby_stack_sources(profile: Profile, switch_outs: SwitchOuts, sideband: Sideband) -> tuple[Profile, StackSources]:
    """Return, for each switch-out, the recent sample of its thread whose stack it gets, and its thread.

    Threads without samples are added to the profile.
    """
    samples = sample_times(profile)
    # (switch-outs,) the last sample before each switch-out, and the first one after it; −1: none
    before = _of_same_process(profile, switch_outs, last_at_or_before(switch_outs.times, samples))
    after = _of_same_process(profile, switch_outs, first_at_or_after(switch_outs.times, samples))
    thread = as_int32(np.append(profile.samples.thread, -1)[np.where(before >= 0, before, after)])
    is_recent = before >= 0
    age = switch_outs.time[is_recent] - samples.time[before[is_recent]]
    is_recent[is_recent] = age <= as_uint64(_max_age(profile, switch_outs, before)[is_recent])
    with_all_threads, thread = _with_threads(profile, switch_outs, thread, sideband)
    return with_all_threads, StackSources(np.where(is_recent, before, -1), thread)


def _of_same_process(profile: Profile, switch_outs: SwitchOuts, sample: I64) -> I64:
    """Replace samples (switch-outs,) by −1 if another process had a thread with the same tid."""
    pid = profile.threads.pid[np.append(profile.samples.thread, 0)[sample]] if len(profile.threads) else switch_outs.pid
    return np.where((sample >= 0) & ((pid == switch_outs.pid) | (switch_outs.pid < 0)), sample, -1)


def _max_age(profile: Profile, switch_outs: SwitchOuts, before: I64) -> I64:
    interval = np.append(sampling_intervals(profile), 0)[np.append(profile.samples.event, -1)[before]]
    max_age: I64 = np.where(switch_outs.kind == Wait.PREEMPTED, interval, interval // BLOCKED_SHARE)
    return max_age


def _with_threads(profile: Profile, switch_outs: SwitchOuts, thread: I32, sideband: Sideband) -> tuple[Profile, I32]:
    """Add a thread for each (pid, tid) of switch-outs whose ``thread`` is −1; also return ``thread`` without −1."""
    rows_without = flatnonzero(thread < 0)
    first, group = group_rows([as_int64(switch_outs.pid[rows_without]), switch_outs.tid[rows_without]])
    first_outs = take_rows_of(switch_outs, rows_without[first])
    strings = StringInterner({text: row for row, text in enumerate(profile.strings)})
    comms = names_of_threads(sideband, ThreadTimes(first_outs.tid, first_outs.time))
    leaders = names_of_threads(sideband, ThreadTimes(as_int64(first_outs.pid), first_outs.time))
    old_threads = profile.threads
    starts = np.zeros(len(first_outs), np.int32)  # the start was not recorded
    columns = first_outs.pid, as_int32(first_outs.tid), strings.add_all(comms), strings.add_all(leaders), starts
    threads = join_tables([old_threads, Threads(*columns)])
    thread_of_each = thread.copy()
    thread_of_each[rows_without] = as_int32(group + len(old_threads))
    parents = profile.parents
    if parents is not None:
        parents = np.append(parents, np.full(len(first_outs), -1, np.int32))
    return replace(profile, strings=strings.table(), threads=threads, parents=parents), thread_of_each


# threads to search for a name: the thread itself and its ancestors
_MAX_GENERATIONS = 64


def names_of_threads(sideband: Sideband, threads: ThreadTimes) -> list[str]:
    """Return the name of each thread at its time in ``threads``.

    Until a thread sets a name (COMM record), it has the name that its parent had at the fork. A thread without a name
    is called ``:TID``, as in perf.
    """
    latest_first = slice(None, None, -1)  # if a thread got several names at the same time, the last one counts
    comms = ThreadTimes(as_int64(sideband.comms.tid[latest_first]), sideband.comms.time[latest_first])
    # tid and time at which to look next for a name, and the name's row in ``comms``
    tid, time, comm_row = threads.tid.copy(), threads.time.copy(), minus_ones(len(threads))
    for _ in range(_MAX_GENERATIONS):
        rows_without = flatnonzero((comm_row < 0) & (tid >= 0))
        if not len(rows_without):
            break
        queries = ThreadTimes(tid[rows_without], time[rows_without])
        latest_comm, parent = last_at_or_before(queries, comms), _parents(sideband, queries)
        is_own = (latest_comm >= 0) & (np.append(comms.time, np.uint64(0))[latest_comm] >= parent.time)
        comm_row[rows_without[is_own]] = latest_comm[is_own]
        tid[rows_without], time[rows_without] = parent.tid, parent.time
    names = sideband.comms.comm[latest_first]
    return [
        names[row] if row >= 0 else f":{number}"
        for row, number in zip(comm_row.tolist(), threads.tid.tolist(), strict=True)
    ]


def _parents(sideband: Sideband, threads: ThreadTimes) -> ThreadTimes:
    """Without a FORK record, the parent is thread −1, at time 0."""
    forks = ThreadTimes.of(sideband.forks)
    fork = last_at_or_before(threads, forks)
    parent = np.append(as_int64(sideband.forks.ptid), -1)[fork]
    return ThreadTimes(parent, np.append(forks.time, np.uint64(0))[fork])
