"""The schedule of a recording: when threads were switched out and why, when they came back, were forked and exited.

It comes from two kinds of records. If a recording has both, switches out come from the samples, and switches in from
both kinds; but if perf sampled only some of the switches (``-F``, ``-c``), only the context-switch records count:

- samples of ``sched:sched_switch``: one thread leaves in a state (prev_state), another (next_pid) comes. Source of
  truth: TRACE_EVENT(sched_switch) in include/trace/events/sched.h; field offsets come from the recording's own format
  file;
- context-switch records (``--switch-events``): a thread leaves, preempted or not, or comes.

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
"""Offset and size of an event's fields."""


class SwitchSamples(ColumnTable):
    """One row per sample, in file order: the thread that left."""

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
        """Return the rows of samples whose CPU is known, by CPU and time."""
        known = flatnonzero(self.cpu >= 0)
        return known[argsort_rows([self.cpu[known], self.time[known], known])]

    @property
    def next(self) -> ThreadTimes:
        """Return the threads that came to a CPU; samples without next_pid have none."""
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

    Also returns the latest time of any event's samples, and the number of further switches that the samples stand for.
    """
    rows = rows_called(recording.session.events, SWITCH)
    fields = [_fields(recording, row) for row in rows]
    parts, last, missed = [no_rows(SwitchSamples)], 0, 0
    for batch in recording.samples(Want.RAW | Want.REREAD):
        if batch.time is None:
            continue
        last = max(last, _latest(batch.time))
        for row, places in zip(rows, fields, strict=True):
            of_event = flatnonzero(batch.event == row)
            parts.append(_of_batch(batch, of_event, places, recording.session.byte_order))
            missed += sum_of(np.maximum(batch.period[of_event], np.uint64(1)) - np.uint64(1))
    return join_tables(parts), last, missed


def unseen_departures(traced: SwitchSamples, entered: ThreadTimes) -> ThreadTimes:
    """Return switches out without a sample: a thread came to a CPU, but the CPU's next sample shows another one leave.

    The time of that next sample is the time of the unseen switch out. If ``entered`` has another time of the thread
    between the two samples, nothing is inferred. Switches out have no sample if it was lost, or if only selected
    threads were recorded::

        samples of a CPU    A → B    B → C             A → D
        departures          A        B    C, unseen    A
    """
    rows = traced.by_cpu
    one, other = rows[:-1], rows[1:]
    came = traced.next_tid[one]
    is_lost = (traced.cpu[one] == traced.cpu[other]) & (came > 0) & (traced.tid[other] != came)
    one, other, came = one[is_lost], other[is_lost], came[is_lost]
    following = next_time(ThreadTimes(came, traced.time[one] + np.uint64(1)), entered)
    return ThreadTimes(came, traced.time[other]).where(following > traced.time[other])


def _fields(recording: Recording, row: int) -> _Fields:
    entry = recording.session.tracepoint_format(recording.session.events[row])
    return {field["name"]: (field["offset"], field["size"]) for field in entry["fields"]} if entry else {}


def _of_batch(batch: Samples, rows: I64, fields: _Fields, order: str) -> SwitchSamples:
    came, states = (minus_ones(len(batch)) for _ in range(2))
    for name, column in (("next_pid", came), ("prev_state", states)):
        filled, numbers = _numbers(batch.raw, rows, fields.get(name), order)
        column[filled] = np.maximum(numbers, -1)
    return SwitchSamples(
        tid=as_int64(batch.tid[rows]),
        pid=as_int32(batch.pid[rows]),
        time=batch.times[rows],
        cpu=as_int32(batch.cpus[rows]),
        state=states[rows],
        next_tid=came[rows],
    )


def _numbers(raw: ListArray | None, rows: I64, field: tuple[int, int] | None, order: str) -> tuple[I64, I64]:
    """Return the ``rows`` whose raw data is long enough for a field, and the field's value in each of these rows.

    Without the field, or if its size is neither 4 nor 8 bytes, no row is returned.
    """
    if raw is None or field is None or field[1] not in (4, 8):
        return zeros(0), zeros(0)
    offset, size = field
    has_room = rows[raw.lengths[rows] >= offset + size]
    return has_room, as_int64(raw.numbers_at(offset, f"{order}i{size}", has_room))


_LONGEST_NS = 10_000_000
"""Upper limit of intervals estimated from samples: samples of rarer events do not show when a thread ran."""


def sampling_intervals(profile: Profile) -> I64:
    """Return the nanoseconds between two samples of a running thread, (events,); 0 for events without samples.

    For events with a frequency and for clocks it is the requested interval. For others it is the median distance
    between two samples of a thread, but at most 10 ms; 0 if no thread has two samples.
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
"""Bits of prev_state of a sleeping thread. If none is set (TASK_RUNNING), the thread was preempted.

The kernel's own bit for preempted is not among them: 0x100 since Linux 4.14, 0x400 or above in earlier versions.
"""


class Departures(ColumnTable):
    """Switches out, in time order: ``kind`` is a Wait, ``cpu`` and ``pid`` are −1 if unknown."""

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
    """The schedule as recorded; nothing is guessed or filtered."""

    left: Departures
    """Exiting threads, which never come back, are left out."""
    stopped: ThreadTimes
    """All times at which threads stopped running: switches out (also final ones), exits, and inferred switches out."""
    entered: ThreadTimes
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
    """Return whether a recording has only some of its context switches, because ``-F`` also limits sched_switch."""
    traced = _switch_events(recording)
    return not (len(recording.sideband.switches) or all(map(_takes_every_switch, traced)))


def _switch_events(recording: Recording) -> list[Event]:
    return [recording.session.events[row] for row in rows_called(recording.session.events, SWITCH)]


def _takes_every_switch(event: Event) -> bool:
    return "freq" not in event.flags and event.sample_period <= 1


def _is_traced(recording: Recording) -> bool:
    """Return whether switches out are samples of sched_switch: all of them, or some if no records exist."""
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
    alive = (left.tid > 0) & ~has_ended(left.times, exits, forks)
    return Schedule(
        left=take_rows_of(left, flatnonzero(alive)),
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
    slept = Wait.BLOCKED if preempted.any() or _marks_preempted(session.os_release) else Wait.UNKNOWN
    kind = np.where(preempted, Wait.PREEMPTED, slept).astype(np.uint8)
    return Departures(as_int64(switches.tid[rows]), switches.time[rows], kind, switches.cpu[rows],
                      switches.pid[rows])  # fmt: skip


def _marks_preempted(release: str) -> bool:
    """Return whether a kernel marks context switches of preempted threads: since Linux 4.17."""
    parts = release.split("-")[0].split(".")
    numbers = [int(part) if part.isdecimal() and len(part) < 6 else 0 for part in parts[:2]]
    return numbers >= [4, 17]


def _departures_of_samples(traced: SwitchSamples) -> Departures:
    kind = kinds_of_states(traced.state)
    back = (traced.state < 0) | (traced.state & _NEVER_BACK == 0)
    rows = flatnonzero(back)
    rows = rows[argsort(traced.time[rows])]
    return Departures(traced.tid[rows], traced.time[rows], kind[rows], traced.cpu[rows], traced.pid[rows])


def kinds_of_states(state: I64) -> U8:
    """Return (n,) the Wait of each prev_state; −1: unknown."""
    kind = np.where(state & _STATES == 0, Wait.PREEMPTED, Wait.BLOCKED)
    return np.where(state < 0, Wait.UNKNOWN, kind).astype(np.uint8)


def _without_idle(times: ThreadTimes) -> ThreadTimes:
    return times.where(times.tid > 0)


def has_ended(left: ThreadTimes, exits: ThreadTimes, forks: ThreadTimes) -> Bools:
    """Return whether each thread had exited at its time in ``left``, and its tid was not reused since; (left,)."""
    nothing = np.zeros(1, np.uint64)
    ended, born = last_at_or_before(left, exits), last_at_or_before(left, forks)
    died = np.append(exits.time, nothing)[ended]
    return (ended >= 0) & ((born < 0) | (np.append(forks.time, nothing)[born] < died))


def _last_time(recording: Recording) -> int:
    """Return the latest time of any record; the time of the last sample is taken from perf's header."""
    sideband, last = recording.sideband, recording.session.sample_times[1]
    tables = (sideband.switches, sideband.exits, sideband.forks, sideband.comms, sideband.mmaps, sideband.losts)
    return _latest(*(table.time for table in tables), np.array([last], np.uint64))


def _latest(*times: U64) -> int:
    """Return the latest plausible time; 0 if there is none."""
    every = np.concatenate(times)
    return int(every[every < np.uint64(LAST_TIME)].max(initial=np.uint64(0)))
