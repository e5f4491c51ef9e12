"""Joins samples whose user chain was deferred with the PERF_RECORD_CALLCHAIN_DEFERRED that carries it.

The kernel (get_perf_callchain and perf_callchain_deferred_output) ends such a sample with PERF_CONTEXT_USER_DEFERRED
and a cookie that names one stay of one thread in the kernel; one record with the same cookie follows when the thread
returns to user space. The cookie decides, whatever the order in the file. Of several records with one cookie (a counter
that came round, a record written twice) the nearest in time of the sample's own thread is taken. A record of another
thread is taken only where an exec of the process between sample and record explains it: then the thread took over its
leader's id.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from perf2x.model.arrays import I32, I64, U64, Bools
from perf2x.model.events import Comms, DeferredChains

COOKIE_REUSE_NS = 100_000_000_000
"""A cookie cannot come back sooner: its counter has 31 bits, and 2³¹ kernel entries on one CPU take longer than
this."""


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


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Records sorted by (key, time): one run per key."""

    keys: U64
    """Distinct keys, rising."""
    first: I64
    """(len(keys) + 1,) where each run starts in ``rows``."""
    order_key: I64
    """(key rank, time rank) of each record as one rising number."""
    times: U64
    """Distinct times, rising."""
    rows: I64

    @classmethod
    def build(cls, key: U64, time: U64) -> "_Keyed":
        keys, rank = np.unique(key, return_inverse=True)
        times, slot = np.unique(time, return_inverse=True)
        order_key = rank.reshape(-1) * (len(times) + 1) + slot.reshape(-1)
        rows = np.argsort(order_key, kind="stable")
        first = np.searchsorted(order_key[rows], np.arange(len(keys) + 1) * (len(times) + 1))
        return cls(keys, first, order_key[rows], times, rows)

    def nearest(self, key: U64, time: U64, record_time: U64) -> I64:
        """(n,) int64: for each (key, time) the record of that key whose time is nearest, later ones first; or −1."""
        if not len(self.keys):
            return np.full(len(key), -1, np.int64)
        rank = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        known = self.keys[rank] == key
        wanted = rank * (len(self.times) + 1) + np.searchsorted(self.times, time)
        after = np.searchsorted(self.order_key, wanted)
        low, high = self.first[rank], self.first[rank + 1] - 1
        later = self.rows[np.clip(after, low, high)]
        earlier = self.rows[np.clip(after - 1, low, high)]
        choose_later = distance(record_time[later], time) <= distance(record_time[earlier], time)
        return np.where(known, np.where(choose_later, later, earlier), -1)

    def between(self, key: U64, low: U64, high: U64) -> Bools:
        """(n,) bool: whether a record of each key lies in low … high, both included."""
        if not len(self.keys):
            return np.zeros(len(key), np.bool_)
        rank = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        base = rank * (len(self.times) + 1)
        begin = np.searchsorted(self.order_key, base + np.searchsorted(self.times, low))
        end = np.searchsorted(self.order_key, base + np.searchsorted(self.times, high, "right"))
        inside: Bools = (self.keys[rank] == key) & (end > begin)
        return inside


def distance(one: U64, other: U64) -> U64:
    """(n,) uint64: |one − other| without leaving unsigned numbers."""
    return np.where(one > other, one - other, other - one)


class DeferredJoin:
    """Finds the record for each sample with a cookie; keeps which records were used."""

    def __init__(self, records: DeferredChains, comms: Comms, timed: bool) -> None:
        self._records = records
        self._timed = timed
        self._time = records.time if timed else records.position.astype(np.uint64)
        self.used = np.zeros(len(records), np.bool_)
        self._by_thread = _Keyed.build(self._thread_key(records.cookie, records.tid), self._time)
        self._by_cookie = _Keyed.build(records.cookie, self._time)
        own = records.tid.astype(np.int64).astype(np.uint64)
        self._by_tid = _Keyed.build(own, self._time)
        execs = np.flatnonzero(comms.is_exec)
        self._execs = _Keyed.build(comms.pid[execs].astype(np.int64).astype(np.uint64), comms.time[execs])

    @property
    def duplicates(self) -> int:
        """Records that repeat the cookie, thread and time of another."""
        order = np.lexsort((self._time, self._records.tid, self._records.cookie))
        columns = (self._records.cookie[order], self._records.tid[order], self._time[order])
        return int(np.sum(np.all([column[1:] == column[:-1] for column in columns], axis=0)))

    def join(self, cookie: U64, pid: I32, tid: I32, time: U64 | None, position: I64) -> tuple[I64, I64]:
        """(n,) record row or −1, and (n,) Join, for samples that all have a cookie."""
        when = time if self._timed and time is not None else position.astype(np.uint64)
        record = self._by_thread.nearest(self._thread_key(cookie, tid), when, self._time)
        if len(self._records):
            record[(self._records.cookie[record] != cookie) | (self._records.tid[record] != tid)] = -1
        fate = np.where(record >= 0, int(Join.JOINED), int(Join.MISSING))
        other = np.flatnonzero((record < 0) & (tid >= 0))
        if len(other):
            self._join_others(other, record, fate, cookie, pid, tid, when)
        unknown = np.flatnonzero((record < 0) & (tid < 0))
        record[unknown] = self._by_cookie.nearest(cookie[unknown], when[unknown], self._time)
        fate[unknown[record[unknown] >= 0]] = Join.JOINED
        self._judge_time(record, fate, tid, when)
        self.used[record[record >= 0]] = True
        return record, fate

    def _thread_key(self, cookie: U64, tid: I32) -> U64:
        """Cookie and thread in one word; ``join`` compares both again, so a collision cannot mislead."""
        return cookie ^ (tid.astype(np.int64).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))

    def _join_others(self, rows: I64, record: I64, fate: I64, cookie: U64, pid: I32, tid: I32, when: U64) -> None:
        """Records with the cookie under another thread id: taken when that id is unknown or an exec explains it."""
        found = self._by_cookie.nearest(cookie[rows], when[rows], self._time)
        rows, found = rows[found >= 0], found[found >= 0]
        anonymous = self._records.tid[found] < 0
        explained = self._exec_between(pid[rows], when[rows], found)
        taken = anonymous | explained
        record[rows[taken]] = found[taken]
        fate[rows[anonymous]] = Join.JOINED
        fate[rows[explained]] = Join.JOINED_ACROSS_EXEC
        fate[rows[~taken]] = Join.REFUSED

    def _exec_between(self, pid: I32, when: U64, found: I64) -> Bools:
        """Whether the record carries the leader's id of the same process, which executed a program in between."""
        records = self._records
        leader: Bools = (records.tid[found] == records.pid[found]) & (records.pid[found] == pid)
        if not self._timed:
            return leader
        key = pid.astype(np.int64).astype(np.uint64)
        time = self._time[found]
        explained: Bools = leader & self._execs.between(key, np.minimum(when, time), np.maximum(when, time))
        return explained

    def _judge_time(self, record: I64, fate: I64, tid: I32, when: U64) -> None:
        """Mark early records; refuse those of another age: so far away that the cookie came back in between."""
        rows = np.flatnonzero(record >= 0)
        time = self._time[record[rows]]
        early = rows[(time < when[rows]) & (fate[rows] == Join.JOINED)]
        fate[early] = Join.JOINED_EARLY_RECORD
        if not self._timed:
            return
        is_far = distance(time, when[rows]) > COOKIE_REUSE_NS
        far, time = rows[is_far], time[is_far]
        # Another record of the thread in between: it returned to user space, so the cookie came round.
        low, high = np.minimum(time, when[far]) + np.uint64(1), np.maximum(time, when[far]) - np.uint64(1)
        other_age = far[self._by_tid.between(tid[far].astype(np.int64).astype(np.uint64), low, high)]
        record[other_age] = -1
        fate[other_age] = Join.REFUSED
