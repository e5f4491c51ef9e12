"""Joins batches of samples with their deferred user chains, and counts the outcomes.

The counts of a recording go into the summary, ``info`` and the outputs.
"""

import numpy as np
from msgspec import Struct, field

from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
    Frozen,
    bincount,
    falses,
    flatnonzero,
    join_tables,
    minus_ones,
    no_rows,
    sum_of,
    zeros,
)
from perf2x.model.recording import Samples
from perf2x.stitcher.deferred.cookie_matching import DeferredRecords, JoinOutcome
from perf2x.stitcher.deferred.missing_user_stacks import MissingUserStacks, missing_reasons, sum_missing
from perf2x.stitcher.history.process_history import ProcessHistory


class DeferredTally(Struct):
    """The outcomes of all joins so far."""

    outcomes: I64
    """(len(JoinOutcome),) samples with each outcome."""
    missing: list[MissingUserStacks]
    """Samples whose record is missing, one part per batch."""
    used: Bools
    """(deferred records,) whether a sample was joined with each record."""


class DeferredJoin:
    """Finds the deferred record of each sample with a cookie; if ``merge`` is False, nothing is joined."""

    def __init__(self, records: DeferredRecords, merge: bool = True) -> None:
        self._records = records
        self._merge = merge
        none = zeros(len(JoinOutcome))
        self.tally = DeferredTally(none, [], falses(len(records)))
        """The outcomes of all batches so far; updated by later batches."""

    def join(self, samples: Samples, cookies: U64, has_cookie: Bools) -> tuple[I64, I64]:
        """Return (n,) the row of each sample's record, −1 for none, and (n,) its JoinOutcome."""
        record = minus_ones(len(samples))
        outcome = zeros(len(samples))
        rows = flatnonzero(has_cookie)
        if len(rows) and self._merge:
            when = self._records.time_keys(samples.time, samples.position)
            record[rows], outcome[rows] = self._records.match(
                cookies[rows], samples.pid[rows], samples.tid[rows], when[rows]
            )
            self.tally.used[record[record >= 0]] = True
            self._add_missing(samples, cookies, when, flatnonzero(outcome == JoinOutcome.MISSING))
        self.tally.outcomes += bincount(outcome, len(JoinOutcome))
        return record, outcome

    def absorb(self, other: DeferredTally) -> None:
        """Add the outcomes of other batches of the recording."""
        self.tally.outcomes += other.outcomes
        self.tally.missing += other.missing
        self.tally.used |= other.used

    def _add_missing(self, samples: Samples, cookies: U64, when: U64, rows: I64) -> None:
        """Keep the data that explains why records are missing: one row per stay in the kernel, not per sample."""
        if not len(rows):
            return
        cpu = samples.cpus[rows]
        one = np.ones(len(rows), np.int64)
        missing = MissingUserStacks(cookies[rows], samples.pid[rows], samples.tid[rows], cpu, when[rows], one)
        self.tally.missing.append(sum_missing(missing))


class DeferredReport(Frozen):
    """Counts of one recording; all zero if nothing was deferred."""

    samples: int = 0
    """Samples with a cookie."""
    records: int = 0
    """PERF_RECORD_CALLCHAIN_DEFERRED records in the file."""
    joined: int = 0
    joined_early_record: int = 0
    """The part of ``joined`` where the record precedes the sample; perf 7.2 delivers such samples with the cookie as a
    frame.
    """
    joined_across_exec: int = 0
    """The part of ``joined`` where the record has another thread id, because the thread executed a program."""
    missing: int = 0
    missing_reasons: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    """Samples whose cookie only occurs in records of another thread, or of an earlier round of the cookie counter."""
    duplicates: int = 0
    """Records with the same cookie, thread and time as another."""
    orphans: int = 0
    """Records whose cookie no sample has: another perf session requested them, or the samples are in another file."""


def deferred_report(history: ProcessHistory, tally: DeferredTally) -> DeferredReport:
    """Return the counts of all batches in the tally."""
    outcomes = tally.outcomes
    missing = sum_missing(join_tables([no_rows(MissingUserStacks), *tally.missing]))  # a stay may span batches
    early, across = int(outcomes[JoinOutcome.JOINED_EARLY_RECORD]), int(outcomes[JoinOutcome.JOINED_ACROSS_EXEC])
    return DeferredReport(
        samples=sum_of(outcomes[1:]),
        records=len(history.deferred),
        joined=int(outcomes[JoinOutcome.JOINED]) + early + across,
        joined_early_record=early,
        joined_across_exec=across,
        missing=int(outcomes[JoinOutcome.MISSING]),
        missing_reasons=missing_reasons(missing, history.sideband, history.deferred),
        refused=int(outcomes[JoinOutcome.REFUSED]),
        duplicates=history.deferred.duplicates,
        orphans=history.deferred.orphans(tally.used),
    )
