"""Finds stacks and threads for waits that come from context-switch records, which have no stack of their own.

A wait gets the stack of its thread's last sample before the switch out, if that sample is recent. How old it may be
depends on the sampling interval of the sample's event:

- A thread that blocked has entered the kernel since the sample, so the stack may be another one. The limit is a tenth
  of the interval: then on average at most a tenth of the waits get the stack of code that merely ran before.
- A preempted thread was interrupted where it ran. The limit is the whole interval, the time that a sample represents.

The scheduler's own frames are removed from stacks of waits: its caller shows what the thread waited for.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    Frozen,
    TextInterner,
    as_int32,
    as_int64,
    as_uint64,
    flatnonzero,
    group_rows,
    join_tables,
    minus_ones,
)
from perf2x.features.schedule.schedule import Departures, sampling_intervals
from perf2x.features.schedule.thread_times import ThreadTimes, first_at_or_after, last_at_or_before, sample_times
from perf2x.model.filters.frame_filters import all_match
from perf2x.model.profile import Profile, Threads, Wait, sum_samples
from perf2x.model.recording import Sideband


def without_scheduler_frames(profile: Profile) -> Profile:
    """Remove the scheduler's innermost frames from the stacks of waits; the outermost frame of a stack is always kept.

    In a profile without times, only this function needs the column ``wait``, which it removes.
    """
    samples, parent = profile.samples, as_int64(profile.stacks.parent)
    is_scheduler = all_match(profile, "scheduler")[profile.stacks.location] & (parent >= 0)
    stack = as_int64(samples.stack)
    rows = flatnonzero((samples.waits != Wait.RAN) & (stack >= 0))
    while len(rows := rows[is_scheduler[stack[rows]]]):
        stack[rows] = parent[stack[rows]]
    wait = None if samples.time is None else samples.wait
    return sum_samples(replace(profile, samples=replace(samples, stack=stack.astype(samples.stack.dtype), wait=wait)))


BLOCKED_SHARE = 10
"""A sample gives a blocked thread's wait its stack if it is at most 1/BLOCKED_SHARE of an interval older."""


class Owners(Frozen):
    """Where each wait gets its stack and thread from: rows of Profile.samples (−1: none) and Profile.threads."""

    sample: I64
    thread: I32


def owners_by_nearness(profile: Profile, left: Departures, sideband: Sideband) -> tuple[Profile, Owners]:
    """Return the sample that gives each switch out its stack, and the thread of each switch out.

    The thread is that of any sample, before or after. Threads without samples are added to the profile.
    """
    samples = sample_times(profile)
    before = _same_process(profile, left, last_at_or_before(left.times, samples))
    after = _same_process(profile, left, first_at_or_after(left.times, samples))
    thread = as_int32(np.append(profile.samples.thread, -1)[np.where(before >= 0, before, after)])
    is_recent = before >= 0
    age = left.time[is_recent] - samples.time[before[is_recent]]
    is_recent[is_recent] = age <= as_uint64(_oldest(profile, left, before)[is_recent])
    grown, thread = _with_threads(profile, left, thread, sideband)
    return grown, Owners(np.where(is_recent, before, -1), thread)


def _same_process(profile: Profile, left: Departures, sample: I64) -> I64:
    """Return ``sample`` (departures,) with −1 where the sample is of another process that used the same tid."""
    pid = profile.threads.pid[np.append(profile.samples.thread, 0)[sample]] if len(profile.threads) else left.pid
    return np.where((sample >= 0) & ((pid == left.pid) | (left.pid < 0)), sample, -1)


def _oldest(profile: Profile, left: Departures, before: I64) -> I64:
    """Return how old (ns) the last sample before each switch out may be to give the switch its stack.

    ``before`` are the rows of these samples, −1 for none. Shapes: all (departures,).
    """
    interval = np.append(sampling_intervals(profile), 0)[np.append(profile.samples.event, -1)[before]]
    oldest: I64 = np.where(left.kind == Wait.PREEMPTED, interval, interval // BLOCKED_SHARE)
    return oldest


def _with_threads(profile: Profile, left: Departures, thread: I32, sideband: Sideband) -> tuple[Profile, I32]:
    """Add a thread for each (pid, tid) of switches whose ``thread`` is −1; return the thread of every switch."""
    lacking = flatnonzero(thread < 0)
    first, group = group_rows([as_int64(left.pid[lacking]), left.tid[lacking]])
    departure = lacking[first]  # the first switch out of each new thread
    pid, tid, time = as_int64(left.pid[departure]), left.tid[departure], left.time[departure]
    strings = TextInterner({text: row for row, text in enumerate(profile.strings)})
    comms = names_of_threads(sideband, ThreadTimes(tid, time))
    leaders = names_of_threads(sideband, ThreadTimes(pid, time))
    old = profile.threads
    none = np.zeros(len(departure), np.int32)
    added = Threads(as_int32(pid), as_int32(tid), strings.add_all(comms), strings.add_all(leaders), none)
    threads = join_tables([old, added])
    completed = thread.copy()
    completed[lacking] = as_int32(group + len(old))
    parents = profile.parents
    if parents is not None:
        parents = np.append(parents, np.full(len(departure), -1, np.int32))
    return replace(profile, strings=strings.table(), threads=threads, parents=parents), completed


_GENERATIONS = 64
"""How many threads to search for a name, at most: the thread itself and its ancestors."""


def names_of_threads(sideband: Sideband, threads: ThreadTimes) -> list[str]:
    """Return the name that each thread had at a time. Until it sets a name, a thread has the name of its parent.

    Names come from COMM records, parents from FORK records. If neither the thread nor its ancestors (`_GENERATIONS`)
    have a name, the thread is called ``:TID``, as in perf.
    """
    latest_first = slice(None, None, -1)  # if a thread got several names at the same time, the last one counts
    comms = ThreadTimes(as_int64(sideband.comms.tid[latest_first]), sideband.comms.time[latest_first])
    tid, time, name = threads.tid.copy(), threads.time.copy(), minus_ones(len(threads))
    for _ in range(_GENERATIONS):
        lacking = flatnonzero((name < 0) & (tid >= 0))
        if not len(lacking):
            break
        queries = ThreadTimes(tid[lacking], time[lacking])
        latest, parent = last_at_or_before(queries, comms), _parents(sideband, queries)
        is_own = (latest >= 0) & (np.append(comms.time, np.uint64(0))[latest] >= parent.time)
        name[lacking[is_own]] = latest[is_own]
        tid[lacking], time[lacking] = parent.tid, parent.time
    texts = sideband.comms.comm[latest_first]
    return [
        texts[row] if row >= 0 else f":{number}"
        for row, number in zip(name.tolist(), threads.tid.tolist(), strict=True)
    ]


def _parents(sideband: Sideband, threads: ThreadTimes) -> ThreadTimes:
    """Return the parent of each thread and when the parent forked it; without a FORK record, thread −1 and time 0."""
    forks = ThreadTimes.of(sideband.forks)
    fork = last_at_or_before(threads, forks)
    parent = np.append(as_int64(sideband.forks.ptid), -1)[fork]
    return ThreadTimes(parent, np.append(forks.time, np.uint64(0))[fork])
