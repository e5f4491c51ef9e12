"""The schedule of a recording: when threads were switched out and why, came back, were forked and exited.

It comes from two kinds of records:

- samples of ``sched:sched_switch``: one thread leaves its CPU in a state (prev_state), another (next_pid) comes. Source
  of truth: TRACE_EVENT(sched_switch) in include/trace/events/sched.h; the recording's own format file has the offsets;
- context-switch records (``--switch-events``): a thread leaves, preempted or not, or comes.

If a recording has both, switches out come from the samples, and switches in from both. But if perf sampled only some of
the switches (``-F``, ``-c``), only the context-switch records count.

The idle task, thread 0, is ignored: an idle CPU is not a thread that waits or runs. `sampling_intervals` estimates how
often each event samples a thread that runs all the time.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    Bools,
    ColumnTable,
    Frozen,
    ListArray,
    argsort,
    argsort_rows,
    as_int32,
    as_int64,
    flatnonzero,
    join_tables,
    minus_ones,
    no_rows,
    rows_by,
    sum_of,
    take_rows_of,
    zeros,
)
from perf2x.features.schedule.thread_times import ThreadTimes, last_at_or_before, next_time
from perf2x.model.profile import Profile, ProfileEvent, Wait
from perf2x.model.recording import Event, Recording, Samples, Session, Switches, Want
from perf2x.model.value_limits import LAST_TIME

SWITCH = "sched:sched_switch"
_Fields = Mapping[str, tuple[int, int]]
"""Offset and size of each field of an event, by name."""


class SwitchSamples(ColumnTable):
    """Samples of sched_switch, in file order; ``tid`` and ``pid`` are those of the thread that left."""

    tid: I64
    pid: I32
    time: U64
    cpu: I32
    """−1 if unknown."""
    state: I64
    """prev_state; −1 if unknown."""
    next_tid: I64
    """The thread that came to the CPU; −1 if unknown."""

    @property
    def by_cpu(self) -> I64:
        """Return the rows of samples whose CPU is known, sorted by CPU and time."""
        known = flatnonzero(self.cpu >= 0)
        return known[argsort_rows([self.cpu[known], self.time[known], known])]

    @property
    def next(self) -> ThreadTimes:
        """Return the threads that came to a CPU, and when; samples without next_pid are left out."""
        return ThreadTimes(self.next_tid, self.time).where(self.next_tid >= 0)


def _base_name(name: str) -> str:
    """Return the name without modifiers, for ``sched:sched_switch:u`` and ``offcpu-time``."""
    parts = name.split(":")
    return ":".join(parts[:2]) if name.startswith("sched:") else parts[0]


def rows_called(events: Sequence[Event | ProfileEvent], name: str) -> list[int]:
    """Return the rows of events with this name, whatever their modifiers."""
    return [row for row, event in enumerate(events) if _base_name(event.name) == name]


def switch_samples(recording: Recording) -> tuple[SwitchSamples, int, int]:
    """Read all samples of sched_switch of a recording, ignoring filters.

    Also returns the latest time of any event's samples, and the number of switches without a sample: a sample with
    period N stands for N switches, itself included.
    """
    rows = rows_called(recording.session.events, SWITCH)
    fields = [_fields(recording, row) for row in rows]
    parts, last, missed = [no_rows(SwitchSamples)], 0, 0
    for batch in recording.samples(Want.RAW | Want.REREAD):
        if batch.time is None:
            continue
        last = max(last, _latest(batch.time))
        for row, offsets in zip(rows, fields, strict=True):
            rows_of_event = flatnonzero(batch.event == row)
            parts.append(_decoded(batch, rows_of_event, offsets, recording.session.byte_order))
            missed += sum_of(np.maximum(batch.period[rows_of_event], np.uint64(1)) - np.uint64(1))
    return join_tables(parts), last, missed


def unseen_departures(traced: SwitchSamples, entered: ThreadTimes) -> ThreadTimes:
    """Infer switches out that have no sample, because it was lost or only selected threads were recorded.

    If a thread came to a CPU, but the CPU's next sample shows another thread leave, the first must have left before.
    The time of that next sample is taken for the switch out::

        samples of a CPU    A → B    B → C             A → D
        departures          A        B    C, unseen    A

    Nothing is inferred if ``entered`` shows that the thread ran again between the two samples.
    """
    rows = traced.by_cpu
    sample, following = rows[:-1], rows[1:]
    came = traced.next_tid[sample]
    is_lost = (traced.cpu[sample] == traced.cpu[following]) & (came > 0) & (traced.tid[following] != came)
    sample, following, came = sample[is_lost], following[is_lost], came[is_lost]
    next_seen = next_time(ThreadTimes(came, traced.time[sample] + np.uint64(1)), entered)
    return ThreadTimes(came, traced.time[following]).where(next_seen > traced.time[following])


def _fields(recording: Recording, row: int) -> _Fields:
    entry = recording.session.tracepoint_format(recording.session.events[row])
    return {field["name"]: (field["offset"], field["size"]) for field in entry["fields"]} if entry else {}


def _decoded(batch: Samples, rows: I64, fields: _Fields, order: str) -> SwitchSamples:
    next_tid, states = (minus_ones(len(batch)) for _ in range(2))
    for name, column in (("next_pid", next_tid), ("prev_state", states)):
        readable, numbers = _field_values(batch.raw, rows, fields.get(name), order)
        column[readable] = np.maximum(numbers, -1)
    return SwitchSamples(
        tid=as_int64(batch.tid[rows]),
        pid=as_int32(batch.pid[rows]),
        time=batch.times[rows],
        cpu=as_int32(batch.cpus[rows]),
        state=states[rows],
        next_tid=next_tid[rows],
    )


def _field_values(raw: ListArray | None, rows: I64, field: tuple[int, int] | None, order: str) -> tuple[I64, I64]:
    """Return the ``rows`` whose raw data contains a field, and the field's value in each of these rows.

    No row is returned without the field, or if its size is neither 4 nor 8 bytes.
    """
    if raw is None or field is None or field[1] not in (4, 8):
        return zeros(0), zeros(0)
    offset, size = field
    has_room = rows[raw.lengths[rows] >= offset + size]
    return has_room, as_int64(raw.numbers_at(offset, f"{order}i{size}", has_room))


_LONGEST_NS = 10_000_000
"""Upper limit of intervals estimated from samples: samples further apart do not show that the thread ran all along."""


def sampling_intervals(profile: Profile) -> I64:
    """Return (events,) the nanoseconds between two samples of a thread that runs all the time.

    For events with a frequency and for clocks it is the requested interval. For others it is the median time between
    two samples of a thread, but at most 10 ms; 0 if no thread has two samples.
    """
    samples = profile.samples
    intervals = zeros(len(profile.events))
    for event, rows in rows_by(samples.event):
        by_frequency = _requested_interval(profile.events[event])
        intervals[event] = by_frequency or _median_step(profile, rows)
    return intervals


def _requested_interval(event: ProfileEvent) -> int:
    if event.frequency:
        return 1_000_000_000 // event.frequency
    return event.period if event.unit == "nanoseconds" and not event.is_wait else 0


def _median_step(profile: Profile, rows: I64) -> int:
    if profile.samples.time is None:
        return 0
    thread, time = profile.samples.thread[rows], as_int64(profile.samples.time[rows])
    order = argsort_rows([thread, time])
    steps = np.diff(time[order])[np.diff(thread[order]) == 0]
    return min(int(np.median(steps)), _LONGEST_NS) if len(steps) else 0


_NEVER_BACK = 0x30
"""Bits of prev_state of a thread that exits: EXIT_DEAD and EXIT_ZOMBIE (include/linux/sched.h)."""
_STATES = 0x2FF
"""Bits of prev_state that mean sleeping. If none of them is set (TASK_RUNNING), the thread was preempted.

The bit by which the kernel itself marks preempted threads is not among them, because it moved: it is 0x100 since Linux
4.14, 0x400 or above in earlier versions.
"""


class Departures(ColumnTable):
    """Switches out, in time order; ``kind`` has values of enumeration Wait, ``cpu`` and ``pid`` are −1 if unknown."""

    tid: I64
    time: U64
    kind: U8
    cpu: I32
    pid: I32

    @property
    def times(self) -> ThreadTimes:
        """Return only threads and times."""
        return ThreadTimes.of(self)


class Schedule(Frozen):
    """The schedule of all threads, without filters."""

    left: Departures
    """Switches out, without those of exiting threads, which never come back."""
    stopped: ThreadTimes
    """All times at which threads stopped running: switches out (also final ones), exits, and inferred switches out."""
    entered: ThreadTimes
    """Switches in."""
    exits: ThreadTimes
    forks: ThreadTimes
    end: int
    """Time of the recording's last record (ns)."""
    is_traced: bool
    """Whether switches out are samples of sched_switch, with stacks; otherwise they are context-switch records."""
    missed: int = 0
    """Context switches that sched_switch counted without taking a sample; 0 if records show them all."""


def has_schedule(recording: Recording) -> bool:
    """Return whether a recording has context switches of either kind, with times."""
    return bool(_switch_events(recording)) or len(recording.sideband.switches) > 0


def has_samples_only(recording: Recording) -> bool:
    """Return whether a recording has only some of its context switches, because ``-F`` samples sched_switch, too."""
    traced = _switch_events(recording)
    return not (len(recording.sideband.switches) or all(map(_takes_every_switch, traced)))


def _switch_events(recording: Recording) -> list[Event]:
    return [recording.session.events[row] for row in rows_called(recording.session.events, SWITCH)]


def _takes_every_switch(event: Event) -> bool:
    return "freq" not in event.flags and event.sample_period <= 1


def _is_traced(recording: Recording) -> bool:
    """Return whether to take switches out from samples of sched_switch: if they are complete, or the only source."""
    traced = _switch_events(recording)
    return bool(traced) and (all(map(_takes_every_switch, traced)) or not len(recording.sideband.switches))


def schedule_of(recording: Recording) -> Schedule:
    """Read the schedule; empty for a recording without context switches."""
    sideband = recording.sideband
    exits, forks = ThreadTimes.of(sideband.exits), ThreadTimes.of(sideband.forks)
    is_traced, missed = _is_traced(recording), 0
    switches = sideband.switches
    entered = [_without_idle(ThreadTimes.of(switches).where(~switches.is_out))]
    if is_traced:
        traced, last, missed = switch_samples(recording)
        entered.append(_without_idle(traced.next))
        left = _departures_of_samples(traced)
        stopped = ThreadTimes.of(traced)
        stopped = join_tables([stopped, unseen_departures(traced, join_tables([stopped, *entered]))])
    else:
        left, last = _departures_of_records(switches, recording.session), 0
        stopped = left.times
    comes_back = (left.tid > 0) & ~has_ended(left.times, exits, forks)
    return Schedule(
        left=take_rows_of(left, flatnonzero(comes_back)),
        stopped=_without_idle(join_tables([stopped, exits])),
        entered=join_tables(entered),
        exits=exits,
        forks=forks,
        end=max(last, _last_time(recording)),
        is_traced=is_traced,
        missed=missed,
    )


def _departures_of_records(switches: Switches, session: Session) -> Departures:
    rows = flatnonzero(switches.is_out)
    rows = rows[argsort(switches.time[rows])]
    preempted = switches.preempted[rows]
    # kernels before 4.17 do not mark preempted threads, so that the other switches may be of either kind
    unmarked = Wait.BLOCKED if preempted.any() or _marks_preempted(session.os_release) else Wait.UNKNOWN
    kind = np.where(preempted, Wait.PREEMPTED, unmarked).astype(np.uint8)
    return Departures(as_int64(switches.tid[rows]), switches.time[rows], kind, switches.cpu[rows],
                      switches.pid[rows])  # fmt: skip


def _marks_preempted(release: str) -> bool:
    """Return whether a kernel marks context switches of preempted threads: since Linux 4.17."""
    parts = release.split("-")[0].split(".")
    numbers = [int(part) if part.isdecimal() and len(part) < 6 else 0 for part in parts[:2]]
    return numbers >= [4, 17]


def _departures_of_samples(traced: SwitchSamples) -> Departures:
    kind = kinds_of_states(traced.state)
    comes_back = (traced.state < 0) | (traced.state & _NEVER_BACK == 0)
    rows = flatnonzero(comes_back)
    rows = rows[argsort(traced.time[rows])]
    return Departures(traced.tid[rows], traced.time[rows], kind[rows], traced.cpu[rows], traced.pid[rows])


def kinds_of_states(state: I64) -> U8:
    """Return (n,) the Wait of each prev_state; −1: unknown."""
    kind = np.where(state & _STATES == 0, Wait.PREEMPTED, Wait.BLOCKED)
    return np.where(state < 0, Wait.UNKNOWN, kind).astype(np.uint8)


def _without_idle(times: ThreadTimes) -> ThreadTimes:
    return times.where(times.tid > 0)


def has_ended(left: ThreadTimes, exits: ThreadTimes, forks: ThreadTimes) -> Bools:
    """Return (left,) whether a thread had exited by its time in ``left``, and no other thread reused its tid since."""
    exit_row, fork_row = last_at_or_before(left, exits), last_at_or_before(left, forks)
    nothing = np.zeros(1, np.uint64)
    exit_time, fork_time = np.append(exits.time, nothing)[exit_row], np.append(forks.time, nothing)[fork_row]
    return (exit_row >= 0) & ((fork_row < 0) | (fork_time < exit_time))


def _last_time(recording: Recording) -> int:
    """Return the latest time of any record; perf's header has the time of the last sample."""
    sideband, last = recording.sideband, recording.session.sample_times[1]
    tables = (sideband.switches, sideband.exits, sideband.forks, sideband.comms, sideband.mmaps, sideband.losts)
    return _latest(*(table.time for table in tables), np.array([last], np.uint64))


def _latest(*times: U64) -> int:
    """Return the latest plausible time; 0 if there is none."""
    time = np.concatenate(times)
    return int(time[time < np.uint64(LAST_TIME)].max(initial=np.uint64(0)))
