"""Timelines: the track that each sample is drawn on, and how long its stack is shown there.

perf writes nothing while a thread sleeps. Showing each stack until the next sample would draw hours of work that never
happened, so a stack ends when its thread is switched out, or else one and a half sampling periods after its sample.
"""

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I64, U64, AnyArray, Bools
from perf2x.columnar.ragged import argsort_small
from perf2x.columnar.unique import argsort_rows, rows_by, unique_inverse
from perf2x.tables.profile import Profile, ProfileEvent

UNKNOWN_ID = 4_194_305
"""Stands for pid −1: just above the kernel's largest pid (PID_MAX_LIMIT); viewers turn negative ids into 0."""

CPUS_ID = 4_194_306
"""The process that holds the tracks of CPUs."""

_PERIODS_SHOWN = 1.5
_LONGEST_GUESS_NS = 10_000_000.0


class Tracks(Struct, frozen=True):
    """One row per horizontal lane of a viewer, by pid, then tid."""

    pid: I64
    tid: I64
    thread: I64
    """The thread row (Profile.threads) that was sampled last: its name is the lane's."""
    cpu: I64
    """CPU of an idle or a processor's lane, −1 for threads."""

    def __len__(self) -> int:
        return len(self.pid)


class ShownSamples(Struct, frozen=True):
    """One row per sample that is shown, by track, then time. Times are microseconds since the first sample.

    Rows of a track never overlap; ``joined`` says that row i ends where row i + 1 of the same track begins.
    """

    track: I64
    sample: I64
    """Row in Profile.samples."""
    start: I64
    end: I64
    joined: Bools

    def __len__(self) -> int:
        return len(self.track)


def tracks_of(profile: Profile) -> tuple[Tracks, I64]:
    """Return all tracks, and the track of each sample.

    Idle threads all have pid and tid 0, one per CPU at a time: each CPU's gets a tid of its own (1 + CPU), since
    viewers join threads of one id, and take tid 0 for "unknown".
    """
    thread, cpu, seen = _threads_seen(profile)
    pid, tid = _ids(profile, thread)
    idle = (pid == 0) & (tid == 0)
    cpu[~idle] = -1
    tid[idle] = 1 + np.maximum(cpu[idle], 0)
    ids, track_of_seen = unique_inverse(pid << 32 | tid)
    track = track_of_seen[seen]
    last = np.zeros(len(ids), np.int64)
    last[track] = np.arange(len(track))  # the last assignment wins: rows are in time order
    return Tracks(ids >> 32, ids & 0xFFFFFFFF, thread[seen[last]], cpu[seen[last]]), track


def _threads_seen(profile: Profile) -> tuple[I64, I64, I64]:
    """Return the distinct pairs of thread and CPU (−1: unknown) of all samples, and each sample's pair."""
    cpu = profile.samples.cpu
    width = 1 if cpu is None else int(cpu.max(initial=-1)) + 2
    number = profile.samples.thread.astype(np.int64) * width + (0 if cpu is None else cpu.astype(np.int64) + 1)
    pairs, seen = unique_inverse(number)
    return pairs // width, pairs % width - 1, seen


def cpu_tracks_of(profile: Profile) -> tuple[Tracks, I64]:
    """Return one track per CPU, and the track of each sample; the profile must know CPUs."""
    cpu = np.zeros(0, np.int64) if profile.samples.cpu is None else profile.samples.cpu.astype(np.int64)
    cpus, track = unique_inverse(cpu)
    count = len(cpus)
    return Tracks(np.full(count, CPUS_ID), 1 + cpus, np.zeros(count, np.int64), cpus), track


def shown_samples(profile: Profile, track: I64, wanted: I64) -> ShownSamples:
    """Return when each wanted sample (rows, ascending) is on screen; rows shorter than any microsecond are left out.

    ::

        samples    A        B  C             D                 times of one track
        shown      AAAAAAAA BB CCCC          DDDD              A and B end at the next sample, C and D after 1.5 periods
        joined     yes      yes no           no
    """
    if profile.samples.time is None or not len(wanted):
        none = np.zeros(0, np.int64)
        return ShownSamples(none, none, none, none, np.zeros(0, np.bool_))
    order = wanted[argsort_small(track[wanted])]
    lane, time = track[order], profile.samples.time[order]
    origin = np.uint64(profile.samples.time[0])
    start = _microseconds(time - origin)
    end = np.maximum(_microseconds(_ends(profile, order, lane, time) - origin), start + 1)
    is_followed = np.append(lane[1:] == lane[:-1], False)[: len(lane)]
    next_start = np.append(start[1:], 0)
    end = np.where(is_followed, np.minimum(end, next_start), end)
    kept = end > start
    lane, order, start, end = lane[kept], order[kept], start[kept], end[kept]
    joined = np.zeros(len(lane), np.bool_)
    joined[:-1] = (lane[1:] == lane[:-1]) & (start[1:] == end[:-1])
    return ShownSamples(lane, order, start, end, joined)


def _microseconds(nanoseconds: U64) -> I64:
    return (nanoseconds // np.uint64(1000)).astype(np.int64)


def _ids(profile: Profile, thread: I64) -> tuple[I64, I64]:
    pid, tid = profile.threads.pid.astype(np.int64), profile.threads.tid.astype(np.int64)
    nameless = (tid < 0) | ((tid == 0) & (pid != 0))  # Perfetto takes tid 0 of another process for its leader
    return np.where(pid < 0, UNKNOWN_ID, pid)[thread], np.where(nameless, UNKNOWN_ID, tid)[thread]


def _ends(profile: Profile, order: I64, lane: I64, time: U64) -> U64:
    """Nanoseconds at which each row's stack leaves the screen: next sample, switch-out or gap, whichever is first."""
    far = np.iinfo(np.uint64).max
    following = np.full(len(time), far, np.uint64)
    if len(time):
        following[:-1] = np.where(lane[1:] == lane[:-1], time[1:], far)
    out, watched = _switched_out(profile, order, time)
    gap = time + _gaps(profile, order, lane, time)
    return np.minimum(following, np.where(watched & (np.minimum(following, out) < far), out, np.minimum(out, gap)))


def _switched_out(profile: Profile, order: I64, time: U64) -> tuple[U64, Bools]:
    """Return the first switch-out of each row's thread after the row, and whether its thread's switches were recorded.

    ::

        switch-outs of thread 1     10         30
        samples of thread 1            20          40
        result                         30          far             True for both; False for a thread without switches
    """
    far = np.iinfo(np.uint64).max
    out, watched = np.full(len(time), far, np.uint64), np.zeros(len(time), np.bool_)
    switches = profile.switches
    if switches is None or not len(switches.time):
        return out, watched
    pid, tid = _ids(profile, switches.thread.astype(np.int64))
    leaving = switches.is_out & ~((pid == 0) & (tid == 0))
    pids, tids = _ids(profile, profile.samples.thread[order].astype(np.int64))
    thread = _common_ranks(pid[leaving] << 32 | tid[leaving], pids << 32 | tids)
    switch = _next_of_thread(thread, _common_ranks(switches.time[leaving], time))
    found = np.flatnonzero(switch >= 0)
    out[found] = switches.time[leaving][switch[found]]
    return out, np.isin(thread[1], thread[0])


def _common_ranks(one: AnyArray, other: AnyArray) -> tuple[I64, I64]:
    """Return two columns as ranks among the distinct values of both, so that a pair of ranks fits one integer."""
    rank = unique_inverse(np.append(one, other))[1]
    return rank[: len(one)], rank[len(one) :]


def _next_of_thread(thread: tuple[I64, I64], time: tuple[I64, I64]) -> I64:
    """(samples,) the row of the first switch at or after each sample in its thread, −1 for none.

    Thread and time are ranks of (switches, samples). One search finds all::

        keys of switches, sorted   (1, 0) (1, 2) (2, 1)       thread, then time
        sample (1, 1)                     ▲                    the next key has its thread: found
        sample (1, 3)                            ▲             the next key has another thread: none
    """
    width = 1 + max(int(ranks.max(initial=0)) for ranks in time)
    switches, samples = (who * width + when for who, when in zip(thread, time, strict=True))
    order = np.append(argsort_rows([switches]), -1)
    at = np.searchsorted(switches[order[:-1]], samples)
    row = order[at]
    is_same = (row >= 0) & (np.append(thread[0], -1)[row] == thread[1])
    return np.where(is_same, row, -1)


def _gaps(profile: Profile, order: I64, lane: I64, time: U64) -> U64:
    """Return how long each row's stack is believed without a newer sample, by its event.

    Clock events say so themselves. Others happen when they happen: their median distance counts, but no more than a
    clock event of the same recording allows, which would have seen the thread run.
    """
    event = profile.samples.event[order]
    kinds = list(rows_by(event))
    clocks = {kind: period for kind, _ in kinds if (period := _clock_period_ns(profile.events[kind]))}
    longest = min(clocks.values(), default=_LONGEST_GUESS_NS)
    gaps = np.zeros(len(profile.events), np.uint64)
    for kind, rows in kinds:
        period = clocks.get(kind) or min(_median_step_ns(lane[rows], time[rows]), longest)
        gaps[kind] = int(_PERIODS_SHOWN * period)
    return gaps[event]


def _clock_period_ns(event: ProfileEvent) -> float:
    """Time between two samples of a busy thread as it was asked for; 0 where only the hardware knows."""
    if event.frequency:
        return 1e9 / event.frequency
    return float(event.period) if event.unit == "nanoseconds" else 0.0


def _median_step_ns(lane: I64, time: U64) -> float:
    steps = np.diff(time)[lane[1:] == lane[:-1]]
    return float(np.median(steps)) if len(steps) else 0.0
