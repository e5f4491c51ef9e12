"""Joins samples whose user chain was deferred with the PERF_RECORD_CALLCHAIN_DEFERRED that carries it.

The kernel (get_perf_callchain and perf_callchain_deferred_output) ends such a sample with PERF_CONTEXT_USER_DEFERRED
and a cookie that names one stay of one thread in the kernel; one record with the same cookie follows when the thread
returns to user space. The cookie decides, whatever the order in the file. Of several records with one cookie (a counter
that came round, a record written twice) the nearest in time of the sample's own thread is taken. A record of another
thread is taken only where an exec of the process between sample and record explains it: then the thread took over its
leader's id.

Records are sorted by (cookie, thread, time); that order is the only index, so a record costs no more than its row::

    cookie   7    7    7    9            a sample with cookie 7 of thread 4 at time 60:
    tid      4    4    5    1            run 0 … 2, place by (4, 60) is 1, neighbours 0 and 1: the nearer one
    time     10   99   50   70
"""

from enum import IntEnum

import numpy as np

from perf2x.columnar.arrays import I32, I64, U64, Bools
from perf2x.stitch.history.keyed_times import KeyedTimes, distance
from perf2x.tables.events import Comms, DeferredChains

COOKIE_REUSE_NS = 100_000_000_000
"""A cookie cannot come back sooner: its counter has 31 bits, and 2³¹ kernel entries on one CPU take longer."""


class Join(IntEnum):
    """How a sample with a cookie fared."""

    NONE = 0
    """The sample has no cookie."""
    JOINED = 1
    JOINED_EARLY_RECORD = 2
    """Joined, though the record stands before the sample in time (perf 7.2 gives such samples up)."""
    JOINED_ACROSS_EXEC = 3
    """Joined with a record under the leader's thread id (perf 7.2 never does)."""
    MISSING = 4
    """No record with the cookie."""
    REFUSED = 5
    """The only records with the cookie belong to another thread or another age."""


class DeferredJoin:
    """Finds the record for each sample with a cookie; keeps which records were used.

    ``timed`` False: the recording has no timestamps, and the position in the file stands in for the time.
    """

    def __init__(self, records: DeferredChains, comms: Comms, timed: bool) -> None:
        self._records = records
        self._timed = timed
        self.when: U64 = records.time if timed else records.position.view(np.uint64)
        self.used = np.zeros(len(records), np.bool_)
        execs = np.flatnonzero(comms.is_exec)
        self.execs = KeyedTimes(comms.pid[execs], comms.time[execs])
        self._threads: KeyedTimes | None = None

    @property
    def threads(self) -> KeyedTimes:
        """Times of the records of each thread; built when first asked for, since healthy recordings never do."""
        if self._threads is None:
            self._threads = KeyedTimes(self._records.tid, self.when)
        return self._threads

    @property
    def duplicates(self) -> int:
        """Records that repeat the cookie, thread and time of another."""
        columns = (self._records.cookie, self._records.tid, self.when)
        return int(np.sum(np.logical_and.reduce([column[1:] == column[:-1] for column in columns])))

    @property
    def orphans(self) -> int:
        """Records whose cookie no sample had."""
        cookie = self._records.cookie
        if not len(cookie):
            return 0
        first = np.flatnonzero(np.concatenate([[True], cookie[1:] != cookie[:-1]]))
        used = np.logical_or.reduceat(self.used, first)
        return int(np.diff(first, append=len(cookie))[~used].sum())

    def when_of(self, time: U64 | None, position: I64) -> U64:
        """What orders samples against records: their times, or positions where there are none."""
        return time if self._timed and time is not None else position.view(np.uint64)

    def join(self, cookie: U64, pid: I32, tid: I32, when: U64) -> tuple[I64, I64]:
        """(n,) record row or −1, and (n,) Join, for samples that all have a cookie; ``when`` as of ``when_of``."""
        low = np.searchsorted(self._records.cookie, cookie, "left")
        high = np.searchsorted(self._records.cookie, cookie, "right")
        record = self._nearest(low, high, tid, when)
        fate = np.where(record >= 0, int(Join.JOINED), int(Join.MISSING))
        rows = np.flatnonzero((record < 0) & (high > low))
        if len(rows):
            self._join_others(rows, (low[rows], high[rows]), record, fate, pid, tid, when)
        self._judge_time(record, fate, tid, when)
        self.used[record[record >= 0]] = True
        return record, fate

    def _nearest(self, low: I64, high: I64, tid: I32, when: U64) -> I64:
        """(n,) the record of the thread in rows low … high − 1 that is nearest in time, or −1."""
        place = low.copy()
        several = np.flatnonzero(high - low > 1)
        if len(several):
            place[several] = self._place(low[several], high[several], tid[several], when[several])
        later = np.where(place < high, place, -1)
        earlier = np.where(place > low, place - 1, -1)
        later, earlier = (self._of_thread(candidate, tid) for candidate in (later, earlier))
        closer = distance(self._when(later), when) <= distance(self._when(earlier), when)
        return np.where((earlier < 0) | ((later >= 0) & closer), later, earlier)

    def _place(self, low: I64, high: I64, tid: I32, when: U64) -> I64:
        """First row in low … high − 1 whose (tid, time) is not below; all bisections advance together."""
        low, high = low.copy(), high.copy()
        while len(todo := np.flatnonzero(low < high)):
            middle = (low[todo] + high[todo]) >> 1
            middle_tid = self._records.tid[middle]
            below = (middle_tid < tid[todo]) | ((middle_tid == tid[todo]) & (self.when[middle] < when[todo]))
            low[todo] = np.where(below, middle + 1, low[todo])
            high[todo] = np.where(below, high[todo], middle)
        return low

    def _of_thread(self, record: I64, tid: I32) -> I64:
        if not len(self._records):
            return record
        return np.where((record >= 0) & (self._records.tid[record] == tid), record, -1)

    def _when(self, record: I64) -> U64:
        return self.when[record] if len(self._records) else np.zeros(len(record), np.uint64)

    def _join_others(
        self, rows: I64, run: tuple[I64, I64], record: I64, fate: I64, pid: I32, tid: I32, when: U64
    ) -> None:
        """Records with the cookie under another thread id: taken when an id is unknown or an exec explains it."""
        low, high = run
        sought = np.where(tid[rows] < 0, self._records.tid[low], np.int32(-1)).astype(np.int32)
        anonymous = self._nearest(low, high, sought, when[rows])
        leader = self._nearest(low, high, pid[rows], when[rows])
        known = np.flatnonzero(leader >= 0)
        leader[known[~self._exec_between(pid[rows][known], when[rows][known], leader[known])]] = -1
        record[rows] = np.where(anonymous >= 0, anonymous, leader)
        fate[rows] = Join.REFUSED
        fate[rows[anonymous >= 0]] = Join.JOINED
        fate[rows[(anonymous < 0) & (leader >= 0)]] = Join.JOINED_ACROSS_EXEC

    def _exec_between(self, pid: I32, when: U64, found: I64) -> Bools:
        """Whether the leader's record is of the same process, which executed a program between sample and record."""
        same: Bools = self._records.pid[found] == pid
        if not self._timed:
            return same
        time = self.when[found]
        explained: Bools = same & self.execs.between(pid, np.minimum(when, time), np.maximum(when, time))
        return explained

    def _judge_time(self, record: I64, fate: I64, tid: I32, when: U64) -> None:
        """Mark early records; refuse those of another age: so far away that the cookie came back in between."""
        rows = np.flatnonzero(record >= 0)
        time = self._when(record[rows])
        early = rows[(time < when[rows]) & (fate[rows] == Join.JOINED)]
        fate[early] = Join.JOINED_EARLY_RECORD
        if not self._timed:
            return
        is_far = distance(time, when[rows]) > COOKIE_REUSE_NS
        far, time = rows[is_far], time[is_far]
        if not len(far):
            return
        # Another record of the thread in between: it returned to user space, so the cookie came round.
        low, high = np.minimum(time, when[far]) + np.uint64(1), np.maximum(time, when[far]) - np.uint64(1)
        other_age = far[self.threads.between(tid[far], low, high)]
        record[other_age] = -1
        fate[other_age] = Join.REFUSED
