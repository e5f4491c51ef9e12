"""Finds the PERF_RECORD_CALLCHAIN_DEFERRED that carries the deferred user chain of a sample.

The kernel (get_perf_callchain and perf_callchain_deferred_output) ends the sample's chain with
PERF_CONTEXT_USER_DEFERRED and a cookie that identifies one stay of one thread in the kernel. When the thread returns to
user space, one record with the same cookie follows. Several records can have one cookie: the counter wrapped around, or
a record was written twice. Then the record of the sample's thread that is nearest in time is chosen. The thread ids may
differ only if one is unknown (−1), or if the process called exec in between, which gives the thread its leader's id.

Records are sorted by (cookie, thread, time); that order is the only index. For cookie 7 of thread 4 at time 60::

    row      0    1    2    3            rows with cookie 7: 0 … 2
    cookie   7    7    7    9            first of them not below (4, 60): row 1
    tid      4    4    5    1            candidates: row 1 and the row before it
    time     10   99   50   70           nearest in time: row 1
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
"""Nanoseconds within which a cookie cannot recur: 2³¹ kernel entries on one CPU take longer."""


class JoinOutcome(IntEnum):
    """Outcome of joining a sample with its deferred record; from MISSING on, a sample has a cookie but no record."""

    NONE = 0
    """The sample has no cookie."""
    JOINED = 1
    JOINED_EARLY_RECORD = 2
    """Joined, although the record precedes the sample in time.

    perf 7.2 joins a record only with samples that were queued before it (evlist__deliver_deferred_callchain in
    util/session.c); the others' outermost frame is the cookie (session__flush_deferred_samples).
    """
    JOINED_ACROSS_EXEC = 3
    """The record has the leader's thread id; perf 7.2 never joins these."""
    MISSING = 4
    """No record has the cookie."""
    REFUSED = 5
    """Records with the cookie belong to another thread, or to another round of the cookie counter."""


class DeferredRecords:
    """Deferred records of a recording, found by cookie, thread and time.

    Unless ``has_time``, positions in the file replace times.
    """

    def __init__(self, records: DeferredChains, comms: Comms, has_time: bool) -> None:
        self._records = records
        self.has_time = has_time
        self._time_key: U64 = records.time if has_time else records.position.view(np.uint64)
        execs = flatnonzero(comms.is_exec)
        self.exec_times = KeyedTimes(comms.pid[execs], comms.time[execs])
        """Times of execs by pid."""

    def __len__(self) -> int:
        return len(self._records)

    @cached_property
    def times_by_thread(self) -> KeyedTimes:
        """Times of each thread's records; healthy recordings never need them."""
        return KeyedTimes(self._records.tid, self._time_key)

    @property
    def duplicates(self) -> int:
        """Number of records with the same cookie, thread and time as the record before them."""
        columns = (self._records.cookie, self._records.tid, self._time_key)
        return sum_of(~begins_run(*columns))

    def orphans(self, is_joined: Bools) -> int:
        """Return the number of records whose cookie belongs to no joined sample; ``is_joined`` is (records,)."""
        cookie = self._records.cookie
        if not len(cookie):
            return 0
        first = flatnonzero(begins_run(cookie))
        is_joined_cookie = np.logical_or.reduceat(is_joined, as_intp(first))
        return sum_of(np.diff(first, append=len(cookie))[~is_joined_cookie])

    def time_keys(self, time: U64 | None, position: I64) -> U64:
        """Return the keys (n,) that order samples and records: times, or positions without timestamps."""
        return time if self.has_time and time is not None else position.view(np.uint64)

    def match(self, cookie: U64, pid: I32, tid: I32, time_key: U64) -> tuple[I64, I64]:
        """Return the record's row (−1 for none) and JoinOutcome of samples with a cookie.

        ``time_key`` comes from ``time_keys``. All are (n,).
        """
        # the records with each sample's cookie: rows first … end − 1
        first = searchsorted(self._records.cookie, cookie, "left")
        end = searchsorted(self._records.cookie, cookie, "right")
        record = self._nearest_record(first, end, tid, time_key)
        outcome = np.where(record >= 0, int(JoinOutcome.JOINED), int(JoinOutcome.MISSING))
        unmatched = flatnonzero((record < 0) & (end > first))
        if len(unmatched):
            self._match_other_thread(unmatched, first, end, record, outcome, pid, tid, time_key)
        self._check_time(record, outcome, tid, time_key)
        return record, outcome

    def _nearest_record(self, first: I64, end: I64, tid: I32, time_key: U64) -> I64:
        """The thread's record (n,) in rows first … end − 1 that is nearest in time, −1 for none."""
        row = first.copy()
        has_choice = flatnonzero(end - first > 1)
        if len(has_choice):
            row[has_choice] = self._lower_bound(
                first[has_choice], end[has_choice], tid[has_choice], time_key[has_choice]
            )
        later = np.where(row < end, row, -1)
        earlier = np.where(row > first, row - 1, -1)
        later, earlier = (self._only_of_thread(candidate, tid) for candidate in (later, earlier))
        is_later_closer = distance(self._time_key_of(later), time_key) <= distance(self._time_key_of(earlier), time_key)
        return np.where((earlier < 0) | ((later >= 0) & is_later_closer), later, earlier)

    def _lower_bound(self, first: I64, end: I64, tid: I32, time_key: U64) -> I64:
        """First row (n,) in first … end − 1 whose (tid, time) is not below the sample's, ``end`` for none.

        The binary searches of all samples advance together.
        """
        low, high = first.copy(), end.copy()
        while len(open_searches := flatnonzero(low < high)):
            middle = (low[open_searches] + high[open_searches]) >> 1
            middle_tid = self._records.tid[middle]
            is_below = (middle_tid < tid[open_searches]) | (
                (middle_tid == tid[open_searches]) & (self._time_key[middle] < time_key[open_searches])
            )
            low[open_searches] = np.where(is_below, middle + 1, low[open_searches])
            high[open_searches] = np.where(is_below, high[open_searches], middle)
        return low

    def _only_of_thread(self, record: I64, tid: I32) -> I64:
        if not len(self._records):
            return record
        return np.where((record >= 0) & (self._records.tid[record] == tid), record, -1)

    def _time_key_of(self, record: I64) -> U64:
        """Time keys of −1 are meaningless."""
        return self._time_key[record] if len(self._records) else np.zeros(len(record), np.uint64)

    def _match_other_thread(
        self, rows: I64, first: I64, end: I64, record: I64, outcome: I64, pid: I32, tid: I32, time_key: U64
    ) -> None:
        """Set ``record`` and ``outcome`` of samples ``rows`` if a thread id is unknown, or an exec changed it."""
        first, end = first[rows], end[rows]
        # a sample of an unknown thread is taken for the first record's thread; one of a known thread may match a record
        # of an unknown thread (−1)
        other_tid = as_int32(np.where(tid[rows] < 0, self._records.tid[first], np.int32(-1)))
        of_unknown = self._nearest_record(first, end, other_tid, time_key[rows])
        of_leader = self._nearest_record(first, end, pid[rows], time_key[rows])
        candidates = flatnonzero(of_leader >= 0)
        has_execed = self._exec_between(pid[rows][candidates], time_key[rows][candidates], of_leader[candidates])
        of_leader[candidates[~has_execed]] = -1
        record[rows] = np.where(of_unknown >= 0, of_unknown, of_leader)
        outcome[rows] = JoinOutcome.REFUSED
        outcome[rows[of_unknown >= 0]] = JoinOutcome.JOINED
        outcome[rows[(of_unknown < 0) & (of_leader >= 0)]] = JoinOutcome.JOINED_ACROSS_EXEC

    def _exec_between(self, pid: I32, time_key: U64, record: I64) -> Bools:
        is_same_process: Bools = self._records.pid[record] == pid
        if not self.has_time:
            return is_same_process
        record_time = self._time_key[record]
        return is_same_process & self.exec_times.has_time_between(
            pid, np.minimum(time_key, record_time), np.maximum(time_key, record_time)
        )

    def _check_time(self, record: I64, outcome: I64, tid: I32, time_key: U64) -> None:
        """Mark records that precede their samples, and refuse those of another round of the cookie counter."""
        rows = flatnonzero(record >= 0)
        record_time = self._time_key_of(record[rows])
        early_rows = rows[(record_time < time_key[rows]) & (outcome[rows] == JoinOutcome.JOINED)]
        outcome[early_rows] = JoinOutcome.JOINED_EARLY_RECORD
        if not self.has_time:
            return
        is_distant = distance(record_time, time_key[rows]) > COOKIE_REUSE_NS
        distant_rows, record_time = rows[is_distant], record_time[is_distant]
        if not len(distant_rows):
            return
        # a record of the thread in between shows that it returned to user space: the counter wrapped around
        after = np.minimum(record_time, time_key[distant_rows]) + np.uint64(1)
        before = np.maximum(record_time, time_key[distant_rows]) - np.uint64(1)
        other_round = distant_rows[self.times_by_thread.has_time_between(tid[distant_rows], after, before)]
        record[other_round] = -1
        outcome[other_round] = JoinOutcome.REFUSED
