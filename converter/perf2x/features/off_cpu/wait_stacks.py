"""Stacks and threads of waits from context-switch records, which have no stack of their own.

A sample shortly before the thread was switched out has (nearly) the wait's stack; an older one only shows that the
thread ran. The limit depends on the sampling interval of that sample's event:

- a thread that blocked has entered the kernel since the sample: the limit is a tenth of the interval, so that on
  average at most a tenth of the waits is charged to a loop that ran on the CPU between them;
- a preempted thread was interrupted where it ran: the limit is the whole interval, for which a sample stands anyway.

The scheduler's own frames are removed: its caller is what a thread waited for.
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

    An aggregated profile has waits from ``without_times(…, keep_wait=True)``; its wait column is removed.
    """
    samples, parent = profile.samples, as_int64(profile.stacks.parent)
    is_cut = all_match(profile, "scheduler")[profile.stacks.location] & (parent >= 0)
    stack = as_int64(samples.stack)
    rows = flatnonzero((samples.waits != Wait.RAN) & (stack >= 0))
    while len(rows := rows[is_cut[stack[rows]]]):
        stack[rows] = parent[stack[rows]]
    wait = None if samples.time is None else samples.wait
    return sum_samples(replace(profile, samples=replace(samples, stack=stack.astype(samples.stack.dtype), wait=wait)))


BLOCKED_SHARE = 10
"""A sample gives a blocked thread its stack if it is at most 1/BLOCKED_SHARE of an interval older."""


class Owners(Frozen):
    """For each wait: the row of the sample with its stack, −1 for none, and the row of its thread."""

    sample: I64
    thread: I32


def owners_by_nearness(profile: Profile, left: Departures, sideband: Sideband) -> tuple[Profile, Owners]:
    """Return the sample that gives each switch out its stack, and the thread of each switch.

    Threads without samples are added to the profile.
    """
    samples = sample_times(profile)
    before = _same_process(profile, left, last_at_or_before(left.times, samples))
    known = np.where(before >= 0, before, _same_process(profile, left, first_at_or_after(left.times, samples)))
    near = before >= 0
    age = left.time[near] - samples.time[before[near]]
    near[near] = age <= as_uint64(_farthest(profile, left, before)[near])
    thread = as_int32(np.append(profile.samples.thread, -1)[known])
    grown, thread = _with_threads(profile, left, thread, sideband)
    return grown, Owners(np.where(near, before, -1), thread)


def _same_process(profile: Profile, left: Departures, sample: I64) -> I64:
    """Replace samples of another process whose thread had the same tid by −1."""
    pid = profile.threads.pid[np.append(profile.samples.thread, 0)[sample]] if len(profile.threads) else left.pid
    return np.where((sample >= 0) & ((pid == left.pid) | (left.pid < 0)), sample, -1)


def _farthest(profile: Profile, left: Departures, before: I64) -> I64:
    """Return how old, in ns, the last sample before each switch out may be to give the switch its stack.

    ``before`` are the rows of these samples, −1 for none. Shapes: all (departures,).
    """
    interval = np.append(sampling_intervals(profile), 0)[np.append(profile.samples.event, -1)[before]]
    farthest: I64 = np.where(left.kind == Wait.PREEMPTED, interval, interval // BLOCKED_SHARE)
    return farthest


def _with_threads(profile: Profile, left: Departures, thread: I32, sideband: Sideband) -> tuple[Profile, I32]:
    """Add a thread for each (pid, tid) of switches whose ``thread`` is −1; return the thread of every switch."""
    lacking = flatnonzero(thread < 0)
    first, group = group_rows([as_int64(left.pid[lacking]), left.tid[lacking]])
    one = lacking[first]
    pid, tid, time = as_int64(left.pid[one]), left.tid[one], left.time[one]
    strings = TextInterner({text: row for row, text in enumerate(profile.strings)})
    comms = names_of_threads(sideband, ThreadTimes(tid, time))
    leaders = names_of_threads(sideband, ThreadTimes(pid, time))
    old = profile.threads
    none = np.zeros(len(one), np.int32)
    added = Threads(as_int32(pid), as_int32(tid), strings.add_all(comms), strings.add_all(leaders), none)
    threads = join_tables([old, added])
    found = thread.copy()
    found[lacking] = as_int32(group + len(old))
    parents = profile.parents
    if parents is not None:
        parents = np.append(parents, np.full(len(one), -1, np.int32))
    return replace(profile, strings=strings.table(), threads=threads, parents=parents), found


_GENERATIONS = 64
"""A thread's name is searched for in the thread itself and its ancestors: this many threads at most."""


def names_of_threads(sideband: Sideband, threads: ThreadTimes) -> list[str]:
    """Return the name that each thread had at a time; until a thread sets a name, it has its parent's.

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
    found = zip(name.tolist(), threads.tid.tolist(), strict=True)
    return [texts[row] if row >= 0 else f":{number}" for row, number in found]


def _parents(sideband: Sideband, threads: ThreadTimes) -> ThreadTimes:
    """Return the parent of each thread, and when it forked; thread −1 at 0 without a FORK record."""
    forks = ThreadTimes.of(sideband.forks)
    born = last_at_or_before(threads, forks)
    maker = np.append(as_int64(sideband.forks.ptid), -1)[born]
    return ThreadTimes(maker, np.append(forks.time, np.uint64(0))[born])
