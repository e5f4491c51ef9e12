"""Turns losses that a recording itself reports into diagnostics."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perf2x.base.abi import AuxFlag, UserRecordType, is_decoded
from perf2x.base.columnar import I32, U64, rows_by, sum_of
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import Event, Losts, Session, Sideband, losses_to_count

_TRACE_FLAGS = {
    AuxFlag.TRUNCATED: "record with a larger buffer for hardware trace (-m ,16M) or a longer period",
    AuxFlag.PARTIAL: "hardware trace was not read in time, or was switched off: record with a longer period",
    AuxFlag.COLLISION: "operations came faster than they could be sampled: record with a longer period",
}


def note_lost_samples(events: Sequence[Event], losts: Losts, diagnostics: Diagnostics) -> None:
    """Report the lost records and samples of a whole session, which may have several files."""
    losts = losses_to_count(events, losts)
    for name, rows in (("lost_records", ~losts.samples_only), ("lost_samples", losts.samples_only)):
        count, where = sum_of(losts.lost[rows]), _sums_by_event(events, losts.event[rows], losts.lost[rows])
        diagnostics.add(name, "record with a larger buffer (-m) or a lower rate (-F)", count, where)


def note_losses(session: Session, sideband: Sideband, diagnostics: Diagnostics) -> None:
    """Report throttled events, losses of hardware trace, and trace that is not decoded."""
    throttled_events = sideband.throttles.event[~sideband.throttles.is_unthrottle]
    diagnostics.add(
        "throttled",
        "the kernel paused events that fired too often: record with a lower rate (-F)",
        count=len(throttled_events),
        where=_sums_by_event(session.events, throttled_events, np.ones(len(throttled_events), np.uint64)),
    )  # fmt: skip
    for flag, advice in _TRACE_FLAGS.items():
        count = int(np.count_nonzero(sideband.auxes.flags & np.uint64(flag)))
        diagnostics.add(f"trace_{flag.name.lower()}", advice, count)
    diagnostics.add(
        "hardware_trace",
        _trace_advice(session),
        count=0 if is_decoded(session.features) else sideband.record_counts.get(UserRecordType.AUXTRACE.name, 0),
    )  # fmt: skip


def _trace_advice(session: Session) -> str:
    trace_info: Any = session.features.get("hardware_trace", {})
    name = trace_info.get("name") or "hardware trace"
    itrace = trace_info.get("itrace", "i100usl")
    if not itrace:
        return f"{name} is not decoded, and perf inject cannot make samples from it"
    command = f"perf inject --itrace={itrace} -i perf.data -o samples.data"
    return f"{name} is not decoded; on the recorded machine, run: {command}"


def _sums_by_event(events: Sequence[Event], event: I32, counts: U64) -> str:
    """``cycles: 120, instructions: 3``, without sums of 0."""
    sums = {index: sum_of(counts[rows]) for index, rows in rows_by(event)}
    totals = [(each.name, sums.get(each.index, 0)) for each in events]
    return ", ".join(f"{name}: {total}" for name, total in totals if total)
