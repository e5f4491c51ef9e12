"""How the deferred user chains of a recording fared, in figures that travel to the summary, ``info`` and the
outputs."""

import numpy as np
from msgspec import Struct, field

from perf2x.stitch.deferred import Join
from perf2x.stitch.missing_user_stacks import gather, reasons
from perf2x.stitch.stitcher import Stitcher


class DeferredReport(Struct, frozen=True):
    """Counts of one recording; all zero where nothing was deferred."""

    samples: int = 0
    """Samples that hold a cookie."""
    records: int = 0
    """PERF_RECORD_CALLCHAIN_DEFERRED in the file."""
    joined: int = 0
    joined_early_record: int = 0
    """Of ``joined``: the record comes before the sample, which perf 7.2 gives up."""
    joined_across_exec: int = 0
    """Of ``joined``: the record carries another thread id because the thread executed a program."""
    missing: int = 0
    missing_reasons: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    """Records with the cookie exist, but of another thread or another age."""
    duplicates: int = 0
    """Records that repeat another."""
    orphans: int = 0
    """Records whose cookie no sample has: asked for by another perf session, or of another file's samples."""


def deferred_report(stitcher: Stitcher) -> DeferredReport:
    """The figures after every batch was added."""
    fates = stitcher.tally.fates
    early, across = int(fates[Join.JOINED_EARLY_RECORD]), int(fates[Join.JOINED_ACROSS_EXEC])
    join = stitcher.join
    return DeferredReport(
        samples=int(fates[1:].sum()),
        records=len(stitcher.sideband.deferred),
        joined=int(fates[Join.JOINED]) + early + across,
        joined_early_record=early,
        joined_across_exec=across,
        missing=int(fates[Join.MISSING]),
        missing_reasons=_reasons(stitcher),
        refused=int(fates[Join.REFUSED]),
        duplicates=join.duplicates,
        orphans=join.orphans,
    )


def _reasons(stitcher: Stitcher) -> dict[str, int]:
    """Samples without their record by reason; the stays in the kernel of all batches are summed up first."""
    if not stitcher.missing:
        return {}
    columns = zip(
        *((part.cookie, part.pid, part.tid, part.cpu, part.when, part.count) for part in stitcher.missing), strict=True
    )
    missing = gather(*(np.concatenate(column) for column in columns))
    return reasons(missing, stitcher.sideband, stitcher.join, stitcher.timed)
