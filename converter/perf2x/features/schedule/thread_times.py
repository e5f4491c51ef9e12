"""Moments of threads, and which moment of the same thread comes next or came last."""

from typing import Any

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, ColumnTable, arange, argsort_rows, as_int64, flatnonzero, minus_ones
from perf2x.model.profile import Profile
from perf2x.model.value_limits import LAST_TIME


class ThreadTimes(ColumnTable):
    """Moments of threads, in any order: ``tid`` (n,), ``time`` (n,) on the samples' clock."""

    tid: I64
    time: U64

    @staticmethod
    def of(table: Any) -> "ThreadTimes":
        """Threads and times of a table of records."""
        return ThreadTimes(as_int64(table.tid), table.time)

    def where(self, keep: Bools) -> "ThreadTimes":
        """Return the moments where ``keep`` (n,) holds."""
        return ThreadTimes(self.tid[keep], self.time[keep])


def sample_times(profile: Profile) -> ThreadTimes:
    """(samples,) thread and time of every sample; 0 where there are no times."""
    time = profile.samples.time
    tid = as_int64(profile.threads.tid)[profile.samples.thread]
    return ThreadTimes(tid, np.zeros(len(tid), np.uint64) if time is None else time)


def first_at_or_after(wanted: ThreadTimes, among: ThreadTimes) -> I64:
    """(wanted,) the row of ``among`` with the same thread that is next in time, or −1.

    ::

        one thread's rows by time   w0  a0  w1  w2  a1      (a row of ``among`` sorts behind a wanted one of its time)
        answer for w                a0      a1  a1
    """
    tid = np.concatenate([wanted.tid, among.tid])
    time = np.concatenate([wanted.time, among.time])
    row = np.concatenate([minus_ones(len(wanted)), arange(len(among))])
    order = argsort_rows([tid, time, row >= 0])
    places = np.where(row[order] >= 0, arange(len(order)), len(order))
    ahead = np.minimum.accumulate(places[::-1])[::-1] if len(places) else places
    answer = minus_ones(len(order))
    found = flatnonzero(ahead < len(order))
    found = found[tid[order[ahead[found]]] == tid[order[found]]]
    answer[order[found]] = row[order[ahead[found]]]
    return answer[: len(wanted)]


def last_at_or_before(wanted: ThreadTimes, among: ThreadTimes) -> I64:
    """(wanted,) the row of ``among`` with the same thread that is last in time until then, or −1."""
    top = np.uint64(2**64 - 1)
    return first_at_or_after(ThreadTimes(wanted.tid, top - wanted.time), ThreadTimes(among.tid, top - among.time))


def next_time(wanted: ThreadTimes, among: ThreadTimes) -> U64:
    """(wanted,) when the same thread is next in ``among``, at the earliest at the wanted moment; LAST_TIME if never."""
    return np.append(among.time, np.uint64(LAST_TIME))[first_at_or_after(wanted, among)]


def last_time(wanted: ThreadTimes, among: ThreadTimes) -> U64:
    """(wanted,) when the same thread was last in ``among`` until then; 0 if never."""
    return np.append(among.time, np.uint64(0))[last_at_or_before(wanted, among)]
