"""Finds the PERF_RECORD_CALLCHAIN_DEFERRED that carries the deferred user chain of a sample.

The kernel (get_perf_callchain and perf_callchain_deferred_output) ends the sample's chain with
PERF_CONTEXT_USER_DEFERRED and a cookie that identifies one stay of one thread in the kernel. When the thread returns to
user space, one record with the same cookie follows. Sample and record are matched by cookie, whatever their order in
the file. Several records can have one cookie: the counter wrapped around, or a record was written twice. Then the
record of the sample's own thread that is nearest in time is chosen. A record of another thread is chosen only if the
process called exec between sample and record, because an exec gives the calling thread its leader's id.

Records are sorted by (cookie, thread, time); that order is the only index, so a record costs no more than its row::

    cookie   7    7    7    9            a sample with cookie 7 of thread 4 at time 60:
    tid      4    4    5    1            rows 0 … 2, lower bound of (4, 60) is 1, neighbours 0 and 1: the nearer one
    time     10   99   50   70
"""

from enum import IntEnum
from functools import cached_property

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    KeyedTimes,
    as_int32,
    as_intp,
    begins_run,
    flatnonzero,
    searchsorted,
    sum_of,
)
from perf2x.base.columnar.keyed_values import distance
from perf2x.model.recording import Comms, DeferredChains

COOKIE_REUSE_NS = 100_000_000_000
"""Nanoseconds within which a cookie cannot recur.

The cookie counter of a CPU has 31 bits, and 2³¹ kernel entries on one CPU take longer than this.
"""


class JoinOutcome(IntEnum):
    """The outcome of joining a sample with its deferred record."""

    NONE = 0
    """The sample has no cookie."""
    JOINED = 1
    JOINED_EARLY_RECORD = 2
    """Joined, although the record precedes the sample in time.

    perf 7.2 leaves these unjoined: it joins a record only with samples that were queued before it
    (evlist__deliver_deferred_callchain in util/session.c), and session__flush_deferred_samples delivers the others with
    the cookie as their outermost frame.
    """
    JOINED_ACROSS_EXEC = 3
    """Joined with a record under the leader's thread id (perf 7.2 never does)."""
    MISSING = 4
    """No record has the cookie."""
    REFUSED = 5
    """The only records with the cookie belong to another thread, or to an earlier round of the cookie counter."""


class DeferredRecords:
    """The deferred records of a recording, found by cookie, thread and time.

    If ``has_time`` is False, the recording has no timestamps, and positions in the file replace times.
    """

    def __init__(self, records: DeferredChains, comms: Comms, has_time: bool) -> None:
        self._records = records
        self.has_time = has_time
        self._when: U64 = records.time if has_time else records.position.view(np.uint64)
        execs = flatnonzero(comms.is_exec)
        self.execs = KeyedTimes(comms.pid[execs], comms.time[execs])
        """Times of execs by process."""

    def __len__(self) -> int:
        return len(self._records)

    @cached_property
    def threads(self) -> KeyedTimes:
        """Times of each thread's records; computed on first use, because healthy recordings never need it."""
        return KeyedTimes(self._records.tid, self._when)

    @property
    def duplicates(self) -> int:
        """Number of records with the same cookie, thread and time as another."""
        columns = (self._records.cookie, self._records.tid, self._when)
        return sum_of(~begins_run(*columns))

    def orphans(self, used: Bools) -> int:
        """Return the number of records whose cookie no sample has.

        ``used`` (records,) is True for those that were joined with a sample.
        """
        cookie = self._records.cookie
        if not len(cookie):
            return 0
        first = flatnonzero(begins_run(cookie))
        is_used = np.logical_or.reduceat(used, as_intp(first))
        return sum_of(np.diff(first, append=len(cookie))[~is_used])

    def time_keys(self, time: U64 | None, position: I64) -> U64:
        """Return (n,) the sort key of samples and records: times, or positions in recordings without timestamps."""
        return time if self.has_time and time is not None else position.view(np.uint64)

    def match(self, cookie: U64, pid: I32, tid: I32, when: U64) -> tuple[I64, I64]:
        """Return (n,) the record's row or −1, and (n,) JoinOutcome, of samples that all have a cookie.

        ``when`` comes from ``time_keys``.
        """
        low = searchsorted(self._records.cookie, cookie, "left")
        high = searchsorted(self._records.cookie, cookie, "right")
        record = self._nearest_record(low, high, tid, when)
        outcome = np.where(record >= 0, int(JoinOutcome.JOINED), int(JoinOutcome.MISSING))
        rows = flatnonzero((record < 0) & (high > low))
        if len(rows):
            self._match_other_thread(rows, (low[rows], high[rows]), record, outcome, pid, tid, when)
        self._check_time(record, outcome, tid, when)
        return record, outcome

    def _nearest_record(self, low: I64, high: I64, tid: I32, when: U64) -> I64:
        """Return (n,) the record of the thread in rows low … high − 1 that is nearest in time, −1 for none."""
        row = low.copy()
        several = flatnonzero(high - low > 1)
        if len(several):
            row[several] = self._lower_bound(low[several], high[several], tid[several], when[several])
        later = np.where(row < high, row, -1)
        earlier = np.where(row > low, row - 1, -1)
        later, earlier = (self._of_thread(candidate, tid) for candidate in (later, earlier))
        closer = distance(self._when_of(later), when) <= distance(self._when_of(earlier), when)
        return np.where((earlier < 0) | ((later >= 0) & closer), later, earlier)

    def _lower_bound(self, low: I64, high: I64, tid: I32, when: U64) -> I64:
        """Return (n,) the first row in low … high − 1 whose (tid, time) is not less than the sample's.

        ``high`` if there is none. The binary searches of all samples advance together.
        """
        low, high = low.copy(), high.copy()
        while len(todo := flatnonzero(low < high)):
            middle = (low[todo] + high[todo]) >> 1
            middle_tid = self._records.tid[middle]
            below = (middle_tid < tid[todo]) | ((middle_tid == tid[todo]) & (self._when[middle] < when[todo]))
            low[todo] = np.where(below, middle + 1, low[todo])
            high[todo] = np.where(below, high[todo], middle)
        return low

    def _of_thread(self, record: I64, tid: I32) -> I64:
        if not len(self._records):
            return record
        return np.where((record >= 0) & (self._records.tid[record] == tid), record, -1)

    def _when_of(self, record: I64) -> U64:
        return self._when[record] if len(self._records) else np.zeros(len(record), np.uint64)

    def _match_other_thread(
        self, rows: I64, run: tuple[I64, I64], record: I64, outcome: I64, pid: I32, tid: I32, when: U64
    ) -> None:
        """Match samples with records of another thread id, if an id is unknown or an exec explains the other."""
        low, high = run
        sought = as_int32(np.where(tid[rows] < 0, self._records.tid[low], np.int32(-1)))
        anonymous = self._nearest_record(low, high, sought, when[rows])
        leader = self._nearest_record(low, high, pid[rows], when[rows])
        known = flatnonzero(leader >= 0)
        leader[known[~self._exec_between(pid[rows][known], when[rows][known], leader[known])]] = -1
        record[rows] = np.where(anonymous >= 0, anonymous, leader)
        outcome[rows] = JoinOutcome.REFUSED
        outcome[rows[anonymous >= 0]] = JoinOutcome.JOINED
        outcome[rows[(anonymous < 0) & (leader >= 0)]] = JoinOutcome.JOINED_ACROSS_EXEC

    def _exec_between(self, pid: I32, when: U64, found: I64) -> Bools:
        """Return (n,) whether sample and record are of one process, which called exec between them.

        Without timestamps, only the process is compared.
        """
        same: Bools = self._records.pid[found] == pid
        if not self.has_time:
            return same
        time = self._when[found]
        return same & self.execs.between(pid, np.minimum(when, time), np.maximum(when, time))

    def _check_time(self, record: I64, outcome: I64, tid: I32, when: U64) -> None:
        """Mark records that precede their samples, and refuse those of another round of the cookie counter."""
        rows = flatnonzero(record >= 0)
        time = self._when_of(record[rows])
        early = rows[(time < when[rows]) & (outcome[rows] == JoinOutcome.JOINED)]
        outcome[early] = JoinOutcome.JOINED_EARLY_RECORD
        if not self.has_time:
            return
        is_far = distance(time, when[rows]) > COOKIE_REUSE_NS
        far, time = rows[is_far], time[is_far]
        if not len(far):
            return
        # the thread has another record in between, so it returned to user space, and the counter wrapped around
        low, high = np.minimum(time, when[far]) + np.uint64(1), np.maximum(time, when[far]) - np.uint64(1)
        other_round = far[self.threads.between(tid[far], low, high)]
        record[other_round] = -1
        outcome[other_round] = JoinOutcome.REFUSED
