"""The schedule of a recording: when and why threads left a CPU, and when they entered one, were forked and exited.

- Samples of ``sched:sched_switch``: the sampled thread leaves its CPU in a state (prev_state), and another thread
  (next_pid) gets the CPU. Source of truth: TRACE_EVENT(sched_switch) in include/trace/events/sched.h.
- Context-switch records (``--switch-events``): a thread leaves its CPU, preempted or not, or gets one.

If a recording has both, switch-outs come from the samples, and switch-ins from both. But if perf sampled only some of
the switches (``-F``, ``-c``), only the context-switch records count. The idle task, thread 0, is ignored.
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

SCHED_SWITCH = "sched:sched_switch"
# offset and size of fields, in bytes, by name
_FieldLayouts = Mapping[str, tuple[int, int]]


class SwitchSamples(ColumnTable):
    """Samples of sched_switch, in file order; ``tid`` and ``pid`` belong to the thread that left the CPU."""

    tid: I64
    pid: I32
    time: U64
    cpu: I32
    """−1 if unknown."""
    state: I64
    """prev_state, why the thread left; −1 if unknown."""
    next_tid: I64
    """next_pid, the thread that got the CPU; −1 if unknown."""

    @property
    def rows_by_cpu(self) -> I64:
        """Return the row numbers of samples whose CPU is known, sorted by CPU and time."""
        rows = flatnonzero(self.cpu >= 0)
        return rows[argsort_rows([self.cpu[rows], self.time[rows], rows])]

    @property
    def switch_ins(self) -> ThreadTimes:
        """Return the threads that got a CPU, and when; samples without next_pid are left out."""
        return ThreadTimes(self.next_tid, self.time).where(self.next_tid >= 0)


def _without_modifiers(name: str) -> str:
    parts = name.split(":")
    return ":".join(parts[:2]) if name.startswith("sched:") else parts[0]


def event_rows_named(events: Sequence[Event | ProfileEvent], name: str) -> list[int]:
    """Return the rows of the events that have this name; modifiers are ignored."""
    return [row for row, event in enumerate(events) if _without_modifiers(event.name) == name]


def read_switch_samples(recording: Recording) -> tuple[SwitchSamples, int, int]:
    """Read all samples of sched_switch of a recording, ignoring filters.

    Also returns the latest time of any event's samples, and the number of switches without a sample.
    """
    rows = event_rows_named(recording.session.events, SCHED_SWITCH)
    layouts = [_field_layouts(recording, row) for row in rows]
    parts, latest, unsampled = [no_rows(SwitchSamples)], 0, 0
    for batch in recording.samples(Want.RAW | Want.REREAD):
        if batch.time is None:
            continue
        latest = max(latest, _latest_time(batch.time))
        for row, layout in zip(rows, layouts, strict=True):
            rows_of_event = flatnonzero(batch.event == row)
            parts.append(_decode_samples(batch, rows_of_event, layout, recording.session.byte_order))
            unsampled += sum_of(np.maximum(batch.period[rows_of_event], np.uint64(1)) - np.uint64(1))
    return join_tables(parts), latest, unsampled


def unseen_switch_outs(samples: SwitchSamples, switches: ThreadTimes) -> ThreadTimes:
    """Infer switch-outs without a sample, which was lost, or not taken because only selected threads were recorded.

    A thread that gets a CPU must have left it before the CPU's next sample, in which another thread leaves::

        samples of a CPU    A → B    B → C                 A → D
        switch-outs         A        B       C (inferred)  A

    Nothing is inferred if ``switches`` has a switch of the thread in between.
    """
    rows = samples.rows_by_cpu
    sample, next_sample = rows[:-1], rows[1:]
    arrived_tid = samples.next_tid[sample]
    is_missing = samples.cpu[sample] == samples.cpu[next_sample]
    is_missing &= (arrived_tid > 0) & (samples.tid[next_sample] != arrived_tid)
    sample, next_sample, arrived_tid = sample[is_missing], next_sample[is_missing], arrived_tid[is_missing]
    next_switch = next_time(ThreadTimes(arrived_tid, samples.time[sample] + np.uint64(1)), switches)
    return ThreadTimes(arrived_tid, samples.time[next_sample]).where(next_switch > samples.time[next_sample])


def _field_layouts(recording: Recording, row: int) -> _FieldLayouts:
    entry = recording.session.tracepoint_format(recording.session.events[row])
    return {field["name"]: (field["offset"], field["size"]) for field in entry["fields"]} if entry else {}


def _decode_samples(batch: Samples, rows: I64, fields: _FieldLayouts, byte_order: str) -> SwitchSamples:
    next_tid, state = (minus_ones(len(batch)) for _ in range(2))
    for name, column in (("next_pid", next_tid), ("prev_state", state)):
        readable, numbers = _decode_field(batch.raw, rows, fields.get(name), byte_order)
        column[readable] = np.maximum(numbers, -1)
    return SwitchSamples(
        tid=as_int64(batch.tid[rows]),
        pid=as_int32(batch.pid[rows]),
        time=batch.times[rows],
        cpu=as_int32(batch.cpus[rows]),
        state=state[rows],
        next_tid=next_tid[rows],
    )


def _decode_field(raw: ListArray | None, rows: I64, field: tuple[int, int] | None, byte_order: str) -> tuple[I64, I64]:
    """Return those of ``rows`` whose raw data contain a field, and the field's values.

    ``field``: offset and size in bytes; sizes other than 4 and 8 are not read.
    """
    if raw is None or field is None or field[1] not in (4, 8):
        return zeros(0), zeros(0)
    offset, size = field
    readable = rows[raw.lengths[rows] >= offset + size]
    return readable, as_int64(raw.numbers_at(offset, f"{byte_order}i{size}", readable))


# between samples that are further apart, a thread may have slept
_MAX_ESTIMATE_NS = 10_000_000


def sampling_intervals(profile: Profile) -> I64:
    """Return (events,) the nanoseconds between two samples of a thread that runs all the time.

    For clocks and events with a frequency, it is the requested interval. For other events, it is the median time from
    one sample of a thread to the next, but at most 10 ms. It is 0 if no thread has two samples of the event.
    """
    samples = profile.samples
    intervals = zeros(len(profile.events))
    for event, rows in rows_by(samples.event):
        requested = _requested_interval(profile.events[event])
        intervals[event] = requested or _median_interval(profile, rows)
    return intervals


def _requested_interval(event: ProfileEvent) -> int:
    if event.frequency:
        return 1_000_000_000 // event.frequency
    return event.period if event.unit == "nanoseconds" and not event.is_wait else 0


def _median_interval(profile: Profile, rows: I64) -> int:
    if profile.samples.time is None:
        return 0
    thread, time = profile.samples.thread[rows], as_int64(profile.samples.time[rows])
    order = argsort_rows([thread, time])
    steps = np.diff(time[order])[np.diff(thread[order]) == 0]
    return min(int(np.median(steps)), _MAX_ESTIMATE_NS) if len(steps) else 0


# the thread exits: EXIT_DEAD and EXIT_ZOMBIE (include/linux/sched.h)
_EXIT_STATES = 0x30
# If none of these bits is set, the thread was preempted (TASK_RUNNING). Linux also marks preempted threads, since 4.14
# by the bit 0x100, before by 0x400 or a higher bit; these marks are ignored.
_SLEEPING_STATES = 0x2FF


class SwitchOuts(ColumnTable):
    """Switch-outs, in order of time: a thread leaves its CPU."""

    tid: I64
    time: U64
    kind: U8
    """Why the thread left: a value of the enumeration Wait."""
    cpu: I32
    """−1 if unknown."""
    pid: I32
    """−1 if unknown."""

    @property
    def times(self) -> ThreadTimes:
        """Return only threads and times."""
        return ThreadTimes.of(self)


class Schedule(Frozen):
    """The schedule of all threads of a recording, without filters and without the idle task."""

    switch_outs: SwitchOuts
    """Without the last switch-out of threads that exit, because they never come back."""
    stops: ThreadTimes
    """All times at which threads stopped running: exits and all switch-outs, last and inferred ones included."""
    switch_ins: ThreadTimes
    exits: ThreadTimes
    forks: ThreadTimes
    end: int
    """Time of the recording's last record (ns)."""
    switches_are_samples: bool
    """Whether switch-outs are samples of sched_switch, with stacks; otherwise they are context-switch records."""
    unsampled: int = 0
    """Number of switches that sched_switch counted without a sample; 0 if switch-outs are context-switch records."""


def has_schedule(recording: Recording) -> bool:
    """Return whether a recording has context switches of either kind, with times."""
    return bool(_switch_events(recording)) or len(recording.sideband.switches) > 0


def has_only_sampled_switches(recording: Recording) -> bool:
    """Return whether a recording has only samples of some context switches, because of ``-F`` or ``-c``."""
    switch_events = _switch_events(recording)
    return not (len(recording.sideband.switches) or all(map(_takes_every_switch, switch_events)))


def _switch_events(recording: Recording) -> list[Event]:
    return [recording.session.events[row] for row in event_rows_named(recording.session.events, SCHED_SWITCH)]


def _takes_every_switch(event: Event) -> bool:
    return "freq" not in event.flags and event.sample_period <= 1


def _uses_samples(recording: Recording) -> bool:
    switch_events = _switch_events(recording)
    is_complete = all(map(_takes_every_switch, switch_events))
    return bool(switch_events) and (is_complete or not len(recording.sideband.switches))


def schedule_of(recording: Recording) -> Schedule:
    """Read the schedule; without context switches, it has only forks and exits."""
    sideband = recording.sideband
    exits, forks = ThreadTimes.of(sideband.exits), ThreadTimes.of(sideband.forks)
    switches_are_samples, unsampled = _uses_samples(recording), 0
    switches = sideband.switches
    switch_ins = [_without_idle(ThreadTimes.of(switches).where(~switches.is_out))]
    if switches_are_samples:
        samples, latest, unsampled = read_switch_samples(recording)
        switch_ins.append(_without_idle(samples.switch_ins))
        switch_outs = _switch_outs_of_samples(samples)
        stops = ThreadTimes.of(samples)
        stops = join_tables([stops, unseen_switch_outs(samples, join_tables([stops, *switch_ins]))])
    else:
        switch_outs, latest = _switch_outs_of_records(switches, recording.session), 0
        stops = switch_outs.times
    comes_back = (switch_outs.tid > 0) & ~has_ended(switch_outs.times, exits, forks)
    return Schedule(
        switch_outs=take_rows_of(switch_outs, flatnonzero(comes_back)),
        stops=_without_idle(join_tables([stops, exits])),
        switch_ins=join_tables(switch_ins),
        exits=exits,
        forks=forks,
        end=max(latest, _time_of_last_record(recording)),
        switches_are_samples=switches_are_samples,
        unsampled=unsampled,
    )


def _switch_outs_of_records(switches: Switches, session: Session) -> SwitchOuts:
    rows = flatnonzero(switches.is_out)
    rows = rows[argsort(switches.time[rows])]
    preempted = switches.preempted[rows]
    # Kernels before 4.17 do not mark switches of preempted threads; a marked switch shows that the kernel marks them.
    unmarked = Wait.BLOCKED if preempted.any() or _marks_preempted(session.os_release) else Wait.UNKNOWN
    kind = np.where(preempted, Wait.PREEMPTED, unmarked).astype(np.uint8)
    return SwitchOuts(as_int64(switches.tid[rows]), switches.time[rows], kind, switches.cpu[rows],
                      switches.pid[rows])  # fmt: skip


def _marks_preempted(release: str) -> bool:
    parts = release.split("-")[0].split(".")
    numbers = [int(part) if part.isdecimal() and len(part) < 6 else 0 for part in parts[:2]]
    return numbers >= [4, 17]


def _switch_outs_of_samples(samples: SwitchSamples) -> SwitchOuts:
    kind = waits_of_states(samples.state)
    comes_back = (samples.state < 0) | (samples.state & _EXIT_STATES == 0)
    rows = flatnonzero(comes_back)
    rows = rows[argsort(samples.time[rows])]
    return SwitchOuts(samples.tid[rows], samples.time[rows], kind[rows], samples.cpu[rows], samples.pid[rows])


def waits_of_states(state: I64) -> U8:
    """Return (n,) values of the enumeration Wait: why a thread with each prev_state left its CPU; −1: unknown."""
    kind = np.where(state & _SLEEPING_STATES == 0, Wait.PREEMPTED, Wait.BLOCKED)
    return np.where(state < 0, Wait.UNKNOWN, kind).astype(np.uint8)


def _without_idle(times: ThreadTimes) -> ThreadTimes:
    """Leave out the idle task and unknown threads, −1."""
    return times.where(times.tid > 0)


def has_ended(threads: ThreadTimes, exits: ThreadTimes, forks: ThreadTimes) -> Bools:
    """Return (threads,) whether the thread has exited by its time in ``threads``.

    False if another thread with the same tid was forked after the exit.
    """
    exit_row, fork_row = last_at_or_before(threads, exits), last_at_or_before(threads, forks)
    zero = np.zeros(1, np.uint64)
    exit_time, fork_time = np.append(exits.time, zero)[exit_row], np.append(forks.time, zero)[fork_row]
    return (exit_row >= 0) & ((fork_row < 0) | (fork_time < exit_time))


def _time_of_last_record(recording: Recording) -> int:
    sideband, last = recording.sideband, recording.session.sample_times[1]
    tables = (sideband.switches, sideband.exits, sideband.forks, sideband.comms, sideband.mmaps, sideband.losts)
    return _latest_time(*(table.time for table in tables), np.array([last], np.uint64))


def _latest_time(*times: U64) -> int:
    """Ignore LAST_TIME, which stands for unknown and clamped times."""
    time = np.concatenate(times)
    return int(time[time < np.uint64(LAST_TIME)].max(initial=np.uint64(0)))
