"""Joins batches of samples with their deferred user chains, counts the outcomes, and explains missing user stacks.

A later deferred record of the thread shows that it returned to user space; so the sample's record is lost or in another
file. Without one, the thread exited, its later records were lost, or it was still in the kernel.
"""

from enum import StrEnum

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    ColumnTable,
    Frozen,
    KeyedTimes,
    as_int64,
    bincount,
    falses,
    flatnonzero,
    group_rows,
    join_tables,
    minus_ones,
    no_rows,
    sum_at,
    sum_of,
    take_rows_of,
    unique,
    zeros,
)
from perf2x.base.columnar.keyed_values import FOREVER
from perf2x.model.recording import Losts, Samples, Sideband
from perf2x.stitcher.deferred.cookie_matching import DeferredRecords, JoinOutcome
from perf2x.stitcher.history.process_history import ProcessHistory


class MissingReason(StrEnum):
    """Reasons for missing stacks, by their names in ``info --json``."""

    STOPPED = "recording_stopped"
    """The thread was still in the kernel when the recording ended."""
    EXITED = "task_exited"
    """The task was exiting: per-task events end before its record would be written (do_exit in kernel/exit.c)."""
    LOST = "record_lost"
    """The ring buffer was full: a PERF_RECORD_LOST follows the sample."""
    ELSEWHERE = "in_another_file"
    """The thread returned and nothing was lost: the record is in the previous or the next file."""
    INJECTED = "dropped_by_inject"
    """Threads entered the kernel repeatedly, but the recording has no deferred records: perf inject drops them."""


class MissingUserStacks(ColumnTable):
    """Samples without their deferred record: one row per stay in the kernel, by cookie and thread."""

    cookie: U64
    pid: I32
    tid: I32
    cpu: I32
    """−1 if unknown."""
    last_time: U64
    """Time of the last sample (``DeferredRecords.time_keys``)."""
    count: I64  # of samples


def sum_missing(missing: MissingUserStacks) -> MissingUserStacks:
    """Merge the rows of one stay in the kernel."""
    first, stay = group_rows([missing.cookie, as_int64(missing.tid)])
    last_time = np.zeros(len(first), np.uint64)
    np.maximum.at(last_time, stay, missing.last_time)
    return replace(take_rows_of(missing, first), last_time=last_time, count=sum_at(stay, missing.count, len(first)))


def missing_reasons(missing: MissingUserStacks, sideband: Sideband, records: DeferredRecords) -> dict[str, int]:
    """Return the number of samples by reason, in the order of MissingReason."""
    if not len(missing):
        return {}
    # more stays than threads: a thread returned in between
    if not len(sideband.deferred) and len(missing.cookie) > len(unique(missing.tid)):
        return {str(MissingReason.INJECTED): sum_of(missing.count)}
    next_record_time = records.times_by_thread.first_after(missing.tid, missing.last_time)
    exits = sideband.exits
    exit_times = KeyedTimes(exits.tid, records.time_keys(exits.time, exits.position))
    has_exited = exit_times.first_after(missing.tid, missing.last_time) != FOREVER
    is_lost = _lost_after(sideband.losts, missing, records)
    # after an exec, later records with the thread's id may be those of another thread
    has_execed = records.exec_times.has_time_between(missing.pid, missing.last_time, next_record_time)
    has_returned = (next_record_time != FOREVER) & ~has_execed
    has_exited |= has_execed
    reasons = np.select(
        [has_returned & is_lost, has_returned, has_exited, is_lost],
        [MissingReason.LOST, MissingReason.ELSEWHERE, MissingReason.EXITED, MissingReason.LOST],
        MissingReason.STOPPED,
    )
    counts = ((reason, sum_of(missing.count[reasons == reason])) for reason in MissingReason)
    return {str(reason): count for reason, count in counts if count}


def _lost_after(losts: Losts, missing: MissingUserStacks, records: DeferredRecords) -> Bools:
    """Return (n,) whether a record was lost after each sample; the kernel writes LOST once there is room again.

    If the CPUs of the sample and of all losses are known, only losses on the sample's CPU count.
    """
    rows = flatnonzero(~losts.samples_only & (losts.lost > 0))
    time_key = records.time_keys(losts.time, losts.position)[rows]
    cpu = losts.cpu[rows]
    on_any_cpu = KeyedTimes(np.zeros(len(rows), np.int32), time_key).first_after(
        np.zeros_like(missing.cpu), missing.last_time
    )
    is_lost: Bools = on_any_cpu != FOREVER
    if bool(np.all(cpu >= 0)):
        index = flatnonzero(missing.cpu >= 0)
        is_lost[index] = KeyedTimes(cpu, time_key).first_after(missing.cpu[index], missing.last_time[index]) != FOREVER
    return is_lost


class DeferredTally(Struct):
    """Outcomes of all joins so far."""

    outcomes: I64
    """(len(JoinOutcome),) samples with each outcome."""
    missing: list[MissingUserStacks]
    """One part per batch."""
    is_joined: Bools
    """(deferred records,) whether each was joined with a sample."""


class DeferredJoin:
    """Finds the deferred record of each sample with a cookie; unless ``merge``, nothing is joined."""

    def __init__(self, records: DeferredRecords, merge: bool) -> None:
        self._records = records
        self._merge = merge
        self.tally = DeferredTally(zeros(len(JoinOutcome)), [], falses(len(records)))
        """Outcomes of all batches so far."""

    def join(self, samples: Samples, cookies: U64, has_cookie: Bools) -> tuple[I64, I64]:
        """Return (n,) the row of each sample's record, −1 for none, and (n,) its JoinOutcome."""
        record = minus_ones(len(samples))
        outcome = zeros(len(samples))
        rows = flatnonzero(has_cookie)
        if len(rows) and self._merge:
            time_key = self._records.time_keys(samples.time, samples.position)
            record[rows], outcome[rows] = self._records.match(
                cookies[rows], samples.pid[rows], samples.tid[rows], time_key[rows]
            )
            self.tally.is_joined[record[record >= 0]] = True
            self._add_missing(samples, cookies, time_key, flatnonzero(outcome == JoinOutcome.MISSING))
        self.tally.outcomes += bincount(outcome, len(JoinOutcome))
        return record, outcome

    def absorb(self, other: DeferredTally) -> None:
        """Add the outcomes of other batches of the recording."""
        self.tally.outcomes += other.outcomes
        self.tally.missing += other.missing
        self.tally.is_joined |= other.is_joined

    def _add_missing(self, samples: Samples, cookies: U64, time_key: U64, rows: I64) -> None:
        if not len(rows):
            return
        cpu = samples.cpus[rows]
        ones = np.ones(len(rows), np.int64)
        missing = MissingUserStacks(cookies[rows], samples.pid[rows], samples.tid[rows], cpu, time_key[rows], ones)
        self.tally.missing.append(sum_missing(missing))


class DeferredReport(Frozen):
    """Counts of one recording; all zero if nothing was deferred."""

    samples: int = 0
    """With a cookie."""
    records: int = 0
    """PERF_RECORD_CALLCHAIN_DEFERRED records in the file."""
    joined: int = 0
    joined_early_record: int = 0
    """Those of ``joined`` whose record precedes the sample; perf 7.2 shows their cookies as frames."""
    joined_across_exec: int = 0
    """Those of ``joined`` whose record has another thread id, because the thread called exec."""
    missing: int = 0
    missing_reasons: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    """Samples whose cookie only occurs in records of another thread, or of another round of the cookie counter."""
    duplicates: int = 0
    """Records with the same cookie, thread and time as another."""
    orphans: int = 0
    """Records whose cookie belongs to no joined sample.

    Another perf session requested them, or the samples are in another file.
    """


def deferred_report(history: ProcessHistory, tally: DeferredTally) -> DeferredReport:
    """Return the counts of all batches in the tally."""
    outcomes = tally.outcomes
    missing = sum_missing(join_tables([no_rows(MissingUserStacks), *tally.missing]))  # a stay may span batches
    early, across = int(outcomes[JoinOutcome.JOINED_EARLY_RECORD]), int(outcomes[JoinOutcome.JOINED_ACROSS_EXEC])
    return DeferredReport(
        samples=sum_of(outcomes[1:]),
        records=len(history.deferred_records),
        joined=int(outcomes[JoinOutcome.JOINED]) + early + across,
        joined_early_record=early,
        joined_across_exec=across,
        missing=int(outcomes[JoinOutcome.MISSING]),
        missing_reasons=missing_reasons(missing, history.sideband, history.deferred_records),
        refused=int(outcomes[JoinOutcome.REFUSED]),
        duplicates=history.deferred_records.duplicates,
        orphans=history.deferred_records.orphans(tally.is_joined),
    )
