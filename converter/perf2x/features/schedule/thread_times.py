"""Pairs of thread and time, and as-of joins between them: the next or the last row of the same thread."""

from typing import Any

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, ColumnTable, arange, argsort_rows, as_int64, flatnonzero, minus_ones
from perf2x.model.profile import Profile
from perf2x.model.value_limits import LAST_TIME


class ThreadTimes(ColumnTable):
    """Pairs of thread and time, in any order: ``tid`` (n,), ``time`` (n,) on the samples' clock."""

    tid: I64
    time: U64

    @staticmethod
    def of(table: Any) -> "ThreadTimes":
        """Return threads and times of a table of records."""
        return ThreadTimes(as_int64(table.tid), table.time)

    def where(self, keep: Bools) -> "ThreadTimes":
        """Return the rows where ``keep`` (n,) is True."""
        return ThreadTimes(self.tid[keep], self.time[keep])


def sample_times(profile: Profile) -> ThreadTimes:
    """Return thread and time of every sample; all times are 0 if the recording has none."""
    time = profile.samples.time
    tid = as_int64(profile.threads.tid)[profile.samples.thread]
    return ThreadTimes(tid, np.zeros(len(tid), np.uint64) if time is None else time)


def first_at_or_after(targets: ThreadTimes, among: ThreadTimes) -> I64:
    """As-of join forwards: (targets,) the first row of ``among`` with the same thread at or after the time; −1: none.

    ::

        rows of one thread, by time   t0  a0  t1  t2  a1     t: targets, a: among; at equal times, t comes first
        result for t0, t1, t2         a0      a1  a1
    """
    tid = np.concatenate([targets.tid, among.tid])
    time = np.concatenate([targets.time, among.time])
    row = np.concatenate([minus_ones(len(targets)), arange(len(among))])  # row of ``among``, −1 for targets
    order = argsort_rows([tid, time, row >= 0])
    # the position, in sorted order, of the next row of ``among`` at or after each position
    position = np.where(row[order] >= 0, arange(len(order)), len(order))
    following = np.minimum.accumulate(position[::-1])[::-1] if len(position) else position
    result = minus_ones(len(order))
    found = flatnonzero(following < len(order))
    found = found[tid[order[following[found]]] == tid[order[found]]]
    result[order[found]] = row[order[following[found]]]
    return result[: len(targets)]


def last_at_or_before(targets: ThreadTimes, among: ThreadTimes) -> I64:
    """As-of join backwards: (targets,) the last row of ``among`` with the same thread at or before the time; −1: none.

    It is the join forwards with time reversed.
    """
    top = np.uint64(2**64 - 1)
    return first_at_or_after(ThreadTimes(targets.tid, top - targets.time), ThreadTimes(among.tid, top - among.time))


def next_time(targets: ThreadTimes, among: ThreadTimes) -> U64:
    """Return (targets,) the first time of the same thread in ``among``, at or after each time; LAST_TIME if none."""
    return np.append(among.time, np.uint64(LAST_TIME))[first_at_or_after(targets, among)]


def last_time(targets: ThreadTimes, among: ThreadTimes) -> U64:
    """Return (targets,) the last time of the same thread in ``among``, at or before each time; 0 if none."""
    return np.append(among.time, np.uint64(0))[last_at_or_before(targets, among)]
