"""Reports losses that the recording itself declares, with advice."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perf2x.base.abi import AuxFlag, UserRecordType, is_decoded
from perf2x.base.columnar import I32, U64, rows_by, sum_of
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import Event, Losts, Session, Sideband, counted_losses

_TRACE_LOSSES = {
    AuxFlag.TRUNCATED: "record with a larger buffer for hardware trace (-m ,16M) or a longer period",
    AuxFlag.PARTIAL: "hardware trace was not read in time, or was switched off: record with a longer period",
    AuxFlag.COLLISION: "operations came faster than they could be sampled: record with a longer period",
}


def note_lost_samples(events: Sequence[Event], losts: Losts, diagnostics: Diagnostics) -> None:
    """Count the losses of a whole recording, each loss once even if there are several files."""
    losts = counted_losses(events, losts)
    for name, rows in (("lost_records", ~losts.samples_only), ("lost_samples", losts.samples_only)):
        count, where = sum_of(losts.lost[rows]), _by_event(events, losts.event[rows], losts.lost[rows])
        diagnostics.add(name, "record with a larger buffer (-m) or a lower rate (-F)", count, where)


def note_losses(session: Session, sideband: Sideband, diagnostics: Diagnostics) -> None:
    """Count throttling and undecoded hardware trace of a file."""
    stopped = sideband.throttles.event[~sideband.throttles.lifted]
    diagnostics.add(
        "throttled",
        "the kernel paused events that fired too often: record with a lower rate (-F)",
        count=len(stopped), where=_by_event(session.events, stopped, np.ones(len(stopped), np.uint64)),
    )  # fmt: skip
    for flag, advice in _TRACE_LOSSES.items():
        lacking = int(np.count_nonzero(sideband.auxes.flags & np.uint64(flag)))
        diagnostics.add(f"trace_{flag.name.lower()}", advice, lacking)
    diagnostics.add(
        "hardware_trace",
        _trace_advice(session),
        count=0 if is_decoded(session.features) else sideband.record_counts.get(UserRecordType.AUXTRACE.name, 0),
    )  # fmt: skip


def _trace_advice(session: Session) -> str:
    """Return the kind of trace, and the command that makes samples from it."""
    known: Any = session.features.get("hardware_trace", {})
    name = known.get("name") or "hardware trace"
    how = known.get("itrace", "i100usl")
    if not how:
        return f"{name} is not decoded, and perf inject cannot make samples from it"
    return (
        f"{name} is not decoded; on the recorded machine, run: perf inject --itrace={how} -i perf.data -o samples.data"
    )


def _by_event(events: Sequence[Event], owner: I32, numbers: U64) -> str:
    """Format sums by event: ``cycles: 120, instructions: 3``; losses of unknown events are omitted."""
    sums = {index: sum_of(numbers[rows]) for index, rows in rows_by(owner)}
    totals = [(event.name, sums.get(event.index, 0)) for event in events]
    return ", ".join(f"{name}: {total}" for name, total in totals if total)
