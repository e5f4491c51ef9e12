"""What the recording itself says is missing, with what to do about it."""

import numpy as np

from perf2x.abi.perffile import UserRecordType
from perf2x.model.arrays import I32, U64
from perf2x.model.diagnostics import Diagnostics, Severity
from perf2x.model.events import Session, Sideband


def note_losses(session: Session, sideband: Sideband, diagnostics: Diagnostics) -> None:
    """Count lost records and samples, throttling and undecoded hardware trace."""
    losts = sideband.losts
    counted = losts.samples_only
    diagnostics.add(
        "lost_records", Severity.LOSS,
        "The kernel's buffers were full: record with larger ones (perf record -m 4M), fewer events or a lower -F.",
        count=int(losts.lost[~counted].sum()), where=_by_event(session, losts.event[~counted], losts.lost[~counted]),
    )  # fmt: skip
    diagnostics.add(
        "lost_samples", Severity.LOSS,
        "Samples could not be written: record with larger buffers (perf record -m 4M), fewer events or a lower -F.",
        count=int(losts.lost[counted].sum()), where=_by_event(session, losts.event[counted], losts.lost[counted]),
    )  # fmt: skip
    stopped = sideband.throttles.event[~sideband.throttles.lifted]
    diagnostics.add(
        "throttled", Severity.LOSS,
        "The kernel paused events that took too much time: lower -F, or raise kernel.perf_event_max_sample_rate.",
        count=len(stopped), where=_by_event(session, stopped, np.ones(len(stopped), np.uint64)),
    )  # fmt: skip
    diagnostics.add(
        "hardware_trace", Severity.LOSS,
        "Hardware trace (Intel PT, Arm SPE or CoreSight) is not decoded; perf inject --itrace turns it into samples.",
        count=sideband.record_counts.get(UserRecordType.AUXTRACE.name, 0),
    )  # fmt: skip


def _by_event(session: Session, events: I32, numbers: U64) -> str:
    """``cycles: 120, instructions: 3``; what belongs to no event is left out."""
    totals = [(event.name, int(numbers[events == event.index].sum())) for event in session.events]
    return ", ".join(f"{name}: {total}" for name, total in totals if total)
