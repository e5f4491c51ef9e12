"""Pairs of thread and time, and as-of joins of tables of pairs."""

from typing import Any

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, ColumnTable, arange, argsort_rows, as_int64, flatnonzero, minus_ones
from perf2x.model.profile import Profile
from perf2x.model.value_limits import LAST_TIME


class ThreadTimes(ColumnTable):
    """Pairs of thread and time, in any order: ``tid`` (n,), ``time`` (n,) in nanoseconds of the samples' clock."""

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
    """Return thread and time of every sample; all times are 0 if the profile has none."""
    time = profile.samples.time
    tid = as_int64(profile.threads.tid)[profile.samples.thread]
    return ThreadTimes(tid, np.zeros(len(tid), np.uint64) if time is None else time)


def first_at_or_after(targets: ThreadTimes, candidates: ThreadTimes) -> I64:
    """Return (targets,) the first row of ``candidates`` at or after each time, with the same thread; −1: none."""
    tid = np.concatenate([targets.tid, candidates.tid])
    time = np.concatenate([targets.time, candidates.time])
    row = np.concatenate([minus_ones(len(targets)), arange(len(candidates))])
    order = argsort_rows([tid, time, row >= 0])
    # position, in sorted order, of the next row of ``candidates``
    position = np.where(row[order] >= 0, arange(len(order)), len(order))
    next_candidate = np.minimum.accumulate(position[::-1])[::-1] if len(position) else position
    # only candidates of the same thread count
    result = minus_ones(len(order))
    found = flatnonzero(next_candidate < len(order))
    found = found[tid[order[next_candidate[found]]] == tid[order[found]]]
    result[order[found]] = row[order[next_candidate[found]]]
    return result[: len(targets)]


def last_at_or_before(targets: ThreadTimes, candidates: ThreadTimes) -> I64:
    """Return (targets,) the last row of ``candidates`` at or before each time, with the same thread; −1: none."""
    # the first row at or after the target if time runs backwards
    last = np.uint64(2**64 - 1)
    return first_at_or_after(
        ThreadTimes(targets.tid, last - targets.time), ThreadTimes(candidates.tid, last - candidates.time)
    )


def next_time(targets: ThreadTimes, candidates: ThreadTimes) -> U64:
    """Return (targets,) the first time in ``candidates`` at or after each, of the same thread; LAST_TIME if none."""
    return np.append(candidates.time, np.uint64(LAST_TIME))[first_at_or_after(targets, candidates)]


def last_time(targets: ThreadTimes, candidates: ThreadTimes) -> U64:
    """Return (targets,) the last time in ``candidates`` at or before each, of the same thread; 0 if none."""
    return np.append(candidates.time, np.uint64(0))[last_at_or_before(targets, candidates)]
