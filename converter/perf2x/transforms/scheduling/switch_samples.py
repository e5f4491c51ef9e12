"""Samples of ``sched:sched_switch`` as a table: who left in which state, and who came.

Source of truth: TRACE_EVENT(sched_switch) in include/trace/events/sched.h; the recording's own format file says where
the fields are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, ColumnTable, arange, flatnonzero, no_rows, sum_of
from perf2x.base.columnar.ragged import Ragged, join_tables
from perf2x.base.columnar.unique import argsort_rows
from perf2x.model.recording.events import Recording, Samples, Want
from perf2x.model.value_limits import LAST_TIME
from perf2x.transforms.scheduling.thread_times import ThreadTimes, next_time

SWITCH = "sched:sched_switch"
_Fields = Mapping[str, tuple[int, int]]
"""Offset and size of the fields of one event's format."""


class SwitchSamples(ColumnTable):
    """One row per sample, in file order: the thread that left."""

    tid: I64
    pid: I32
    time: U64
    cpu: I32
    """−1 where unknown."""
    state: I64
    """prev_state; −1 where the sample does not say it."""
    next_tid: I64
    """The thread that came to the CPU; −1 where the sample does not say it."""

    @property
    def next(self) -> ThreadTimes:
        """Threads that came to a CPU; fewer than samples where some do not say it."""
        return ThreadTimes(self.next_tid, self.time).where(self.next_tid >= 0)


def base_name(name: str) -> str:
    """``sched:sched_switch:u`` and ``offcpu-time`` without modifiers."""
    parts = name.split(":")
    return ":".join(parts[:2]) if name.startswith("sched:") else parts[0]


def switch_samples(recording: Recording) -> tuple[SwitchSamples, int, int]:
    """Read all samples of sched_switch of a recording, whatever filters there are.

    With them come the latest time of any sample, of all events, and how many switches they stand for besides their own.
    """
    rows = [row for row, event in enumerate(recording.session.events) if base_name(event.name) == SWITCH]
    fields = [_fields(recording, row) for row in rows]
    parts, last, missed = [no_rows(SwitchSamples)], 0, 0
    for batch in recording.samples(Want.RAW | Want.AGAIN):
        if batch.time is None:
            continue
        last = max(last, int(batch.time[batch.time < np.uint64(LAST_TIME)].max(initial=np.uint64(0))))
        for row, places in zip(rows, fields, strict=True):
            held = flatnonzero(batch.event == row)
            parts.append(_of_batch(batch, held, places, recording.session.byte_order))
            missed += sum_of(np.maximum(batch.period[held], np.uint64(1)) - np.uint64(1))
    return join_tables(parts), last, missed


def unseen_departures(traced: SwitchSamples, told: ThreadTimes) -> ThreadTimes:
    """Return when threads had left that no sample says to leave: when another thread left their CPU.

    Threads of which something else is told in between (``told``, any moments of threads) are left to that. Samples are
    lost, and in recordings of chosen threads the others have none::

        samples of a CPU    A → B    B → C             A → D
        departures          A        B    C, unseen    A
    """
    known = flatnonzero(traced.cpu >= 0)
    rows = known[argsort_rows([traced.cpu[known], traced.time[known], known])]
    one, other = rows[:-1], rows[1:]
    came = traced.next_tid[one]
    is_lost = (traced.cpu[one] == traced.cpu[other]) & (came > 0) & (traced.tid[other] != came)
    one, other, came = one[is_lost], other[is_lost], came[is_lost]
    following = next_time(ThreadTimes(came, traced.time[one] + np.uint64(1)), told, LAST_TIME)
    return ThreadTimes(came, traced.time[other]).where(following > traced.time[other])


def _fields(recording: Recording, row: int) -> _Fields:
    traced: Any = recording.session.features.get("tracing_data", {})
    entry = traced.get("formats", {}).get(str(recording.session.events[row].config))
    return {field["name"]: (field["offset"], field["size"]) for field in entry["fields"]} if entry else {}


def _of_batch(batch: Samples, rows: I64, fields: _Fields, order: str) -> SwitchSamples:
    came, states = (np.full(len(batch), -1, np.int64) for _ in range(2))
    for name, column in (("next_pid", came), ("prev_state", states)):
        told, numbers = _numbers(batch.raw, rows, fields.get(name), order)
        column[told] = np.maximum(numbers, -1)
    return SwitchSamples(
        tid=batch.tid[rows].astype(np.int64),
        pid=batch.pid[rows].astype(np.int32),
        time=batch.times[rows],
        cpu=batch.cpus[rows].astype(np.int32),
        state=states[rows],
        next_tid=came[rows],
    )


def _numbers(raw: Ragged | None, rows: I64, field: tuple[int, int] | None, order: str) -> tuple[I64, I64]:
    """Return those of ``rows`` whose bytes reach the end of a field, and its number in each; none without the field."""
    if raw is None or field is None or field[1] not in (4, 8):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    offset, size = field
    held = rows[raw.lengths[rows] >= offset + size]
    octets = raw.values[(raw.offsets[held] + offset)[:, None] + arange(size)]
    dtype = np.dtype(f"{order}i{size}")
    return held, octets.astype(np.uint8).reshape(-1).view(dtype).astype(np.int64)
