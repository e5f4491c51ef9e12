"""Figures on the deferred user chains of a recording, for the summary, ``info`` and the outputs."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from perf2x.stitcher.deferred.deferred_join import DeferredTally
from perf2x.stitcher.deferred.deferred_matching import JoinOutcome
from perf2x.stitcher.deferred.missing_user_stacks import MissingUserStacks, missing_reasons, sum_missing
from perf2x.stitcher.process_history import ProcessHistory


class DeferredReport(Struct, frozen=True):
    """Counts of one recording; all zero where nothing was deferred."""

    samples: int = 0
    """Samples that hold a cookie."""
    records: int = 0
    """PERF_RECORD_CALLCHAIN_DEFERRED in the file."""
    joined: int = 0
    joined_early_record: int = 0
    """Of ``joined``: the record comes before the sample, which perf 7.2 drops."""
    joined_across_exec: int = 0
    """Of ``joined``: the record carries another thread id because the thread executed a program."""
    missing: int = 0
    missing_reasons: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    """Samples whose cookie only records of another thread or another round of the cookie counter have."""
    duplicates: int = 0
    """Records that repeat another."""
    orphans: int = 0
    """Records whose cookie no sample has: requested by another perf session, or of samples in another file."""


def deferred_report(history: ProcessHistory, tally: DeferredTally) -> DeferredReport:
    """Figures of all batches that the tally covers."""
    outcomes = tally.outcomes
    early, across = int(outcomes[JoinOutcome.JOINED_EARLY_RECORD]), int(outcomes[JoinOutcome.JOINED_ACROSS_EXEC])
    return DeferredReport(
        samples=int(outcomes[1:].sum()),
        records=len(history.deferred),
        joined=int(outcomes[JoinOutcome.JOINED]) + early + across,
        joined_early_record=early,
        joined_across_exec=across,
        missing=int(outcomes[JoinOutcome.MISSING]),
        missing_reasons=_reasons_of(history, tally.missing),
        refused=int(outcomes[JoinOutcome.REFUSED]),
        duplicates=history.deferred.duplicates,
        orphans=history.deferred.orphans(tally.used),
    )


def _reasons_of(history: ProcessHistory, parts: Sequence[MissingUserStacks]) -> dict[str, int]:
    """Number of samples without their record by reason; stays in the kernel span batches and are summed up first."""
    if not parts:
        return {}
    columns = zip(*((part.cookie, part.pid, part.tid, part.cpu, part.when, part.count) for part in parts), strict=True)
    missing = sum_missing(*(np.concatenate(column) for column in columns))
    return missing_reasons(missing, history.sideband, history.deferred)
