"""``--off-cpu``: waiting time per stack, from the time a thread left its CPU until it came back.

Three kinds of recording hold them; the first of these that a recording has is used:

- ``perf record --off-cpu``: samples of ``offcpu-time`` that carry the time themselves;
- ``-e sched:sched_switch -g``: samples where a thread leaves; it is back when a context-switch record or another
  thread's sched_switch says so, at the latest at its own next sample;
- ``--switch-events``: records of leaving and coming back; the stack is that of the thread's last sample before.
"""

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.abi.uapi import SampleType
from perf2x.columnar.arrays import I64, U8, U64
from perf2x.columnar.ragged import Ragged
from perf2x.columnar.unique import unique
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.errors import OptionError
from perf2x.tables.events import Recording, Samples, Want
from perf2x.tables.profile import Profile, ProfileEvent, ProfileSamples
from perf2x.tables.value_limits import LAST_TIME, MOST_PERIOD
from perf2x.tables.waits import Wait
from perf2x.transform.select import keep_samples

SWITCH = "sched:sched_switch"
MEASURED = "offcpu-time"
OFF_CPU = "off-cpu"
WALL_CLOCK = "wall-clock"
HOW = ("apart", "beside", "merged")
_NO_TIME = np.uint64(LAST_TIME)
"""Times that perf makes up for sums of waits are clamped to it (OFF_CPU_TIMESTAMP in tools/perf/util/off_cpu.h)."""


class ThreadTimes(Struct, frozen=True):
    """thread, in any order: ``tid`` (n,), ``time`` (n,) on the samples' clock."""

    tid: I64
    time: U64

    def __len__(self) -> int:
        return len(self.tid)


class Waits(Struct, frozen=True):
    """Rows of a profile's samples whose stack a thread waited in, since when, for how long, and why (a Wait)."""

    sample: I64
    since: U64
    duration: I64
    kind: U8


def check_how(how: str) -> None:
    """Raise OptionError for an unknown way."""
    if how not in HOW:
        raise OptionError(f"--off-cpu {how}: it is one of {', '.join(HOW)}")


def off_cpu(profile: Profile, recording: Recording, how: str, diagnostics: Diagnostics) -> Profile:
    """A timeline profile with waiting time as an event; OptionError when the recording does not tell."""
    check_how(how)
    if any(_base(event.name) == MEASURED for event in profile.events):
        return _measured(profile, how)
    times = profile.samples.time
    if times is None or not any(event.sample_type & SampleType.TIME for event in recording.session.events):
        raise OptionError("--off-cpu: the recording does not say the time of its samples; record with: perf record -T")
    if any(_base(event.name) == SWITCH for event in profile.events):
        waits, open_ended = _by_tracepoint(profile, recording, diagnostics)
    elif len(recording.sideband.switches):
        waits, open_ended = _by_records(profile, recording, diagnostics)
    else:
        raise OptionError(
            "--off-cpu: the recording does not say when threads waited; record with: perf record --off-cpu,"
            " or -e sched:sched_switch, or --switch-events"
        )
    diagnostics.add("waits_without_end", Severity.INFO, "the recording ends while they last; left out", open_ended)
    return with_waits(profile, waits, how)


def _measured(profile: Profile, how: str) -> Profile:
    """Return samples that are waits already.

    The kernel writes one when the wait is over. Sums of shorter waits, and waits that are longer than the clock has
    run, have no place in time; sums stand at the recording's end.
    """
    row = next(row for row, event in enumerate(profile.events) if _base(event.name) == MEASURED)
    waits = _measured_waits(profile.samples, np.flatnonzero(profile.samples.event == row))
    if how != "beside":
        return with_waits(profile, waits, how)
    others = keep_samples(profile, np.flatnonzero(profile.samples.event != row))
    joined = _joined(profile, others.samples, waits, row)
    return replace(profile, samples=joined, default_event=row)


def _measured_waits(samples: ProfileSamples, held: I64) -> Waits:
    time = np.zeros(len(samples), np.uint64) if samples.time is None else samples.time
    last = time[time < _NO_TIME].max(initial=np.uint64(0))
    until, duration = time[held], samples.value[held]
    placed = (until < _NO_TIME) & (duration.astype(np.uint64) <= until)
    since = np.where(placed, until - np.where(placed, duration, 0).astype(np.uint64), np.minimum(until, last))
    return Waits(held, since, duration, np.where(placed, Wait.UNTOLD, Wait.UNPLACED).astype(np.uint8))


def _by_tracepoint(profile: Profile, recording: Recording, diagnostics: Diagnostics) -> tuple[Waits, int]:
    rows = np.array([row for row, event in enumerate(profile.events) if _base(event.name) == SWITCH], np.int64)
    samples = _sample_times(profile)
    leaving = np.flatnonzero(np.isin(profile.samples.event, rows))
    starts = ThreadTimes(samples.tid[leaving], samples.time[leaving])
    told = _concatenated_times(_entered(recording), _switched_to(recording, rows))
    # A thread that nobody saw come back was running again at its own next sample, perhaps for some time.
    ends = _concatenated_times(told, samples)
    later = ThreadTimes(starts.tid, starts.time + np.uint64(1))  # a sample does not end its own wait
    guessed = int((first_at_or_after(later, ends) >= len(told)).sum())
    advice = "only the thread's own next sample tells that it was back; record with -a or --switch-events"
    diagnostics.add("guessed_ends_of_waits", Severity.GUESS, advice, guessed)
    waits, untold = waits_between(later, ends, leaving)
    return replace(waits, since=waits.since - np.uint64(1), duration=waits.duration + 1), untold


def _by_records(profile: Profile, recording: Recording, diagnostics: Diagnostics) -> tuple[Waits, int]:
    switches = recording.sideband.switches
    left = switches.is_out
    starts = ThreadTimes(switches.tid[left].astype(np.int64), switches.time[left])
    stack = last_at_or_before(starts, _sample_times(profile))
    advice = "the stack of a wait is that of the thread's last sample before it; record with: perf record --off-cpu"
    diagnostics.add("guessed_stacks_of_waits", Severity.GUESS, advice, int((stack >= 0).sum()))
    unknown = int((stack < 0).sum())
    diagnostics.add("waits_without_stack", Severity.LOSS, "the thread had no sample before it waited", unknown)
    return waits_between(starts, _entered(recording), stack)


def _sample_times(profile: Profile) -> ThreadTimes:
    time = profile.samples.time
    tid = profile.threads.tid.astype(np.int64)[profile.samples.thread]
    return ThreadTimes(tid, np.zeros(len(tid), np.uint64) if time is None else time)


def _entered(recording: Recording) -> ThreadTimes:
    """Return the times at which context-switch records say that threads got a CPU."""
    switches = recording.sideband.switches
    entered = ~switches.is_out
    return ThreadTimes(switches.tid[entered].astype(np.int64), switches.time[entered])


def _switched_to(recording: Recording, events: I64) -> ThreadTimes:
    """Return the times at which sched_switch samples name a thread as the next one on their CPU."""
    traced: Any = recording.session.features.get("tracing_data", {})
    formats = traced.get("formats", {})
    found = [formats.get(str(recording.session.events[row].config)) for row in events.tolist()]
    offsets = [field["offset"] for entry in found if entry for field in entry["fields"] if field["name"] == "next_pid"]
    none = ThreadTimes(np.zeros(0, np.int64), np.zeros(0, np.uint64))
    if not offsets:
        return none
    order = recording.session.byte_order
    for batch in recording.samples(Want.RAW):
        if batch.raw is not None and batch.time is not None:
            none = _concatenated_times(none, _next(batch, batch.raw, events, offsets[0], order))
    return none


def _next(batch: Samples, raw: Ragged, events: I64, offset: int, order: str) -> ThreadTimes:
    rows = np.flatnonzero(np.isin(batch.event, events) & (raw.lengths >= offset + 4))
    octets = raw.values[(raw.offsets[rows] + offset)[:, None] + np.arange(4)]
    tid = octets.astype(np.uint8).reshape(-1).view(np.dtype(order + "i4")).astype(np.int64)
    time = np.zeros(len(batch), np.uint64) if batch.time is None else batch.time
    return ThreadTimes(tid, time[rows])


def _concatenated_times(one: ThreadTimes, other: ThreadTimes) -> ThreadTimes:
    return ThreadTimes(np.concatenate([one.tid, other.tid]), np.concatenate([one.time, other.time]))


def _base(name: str) -> str:
    """``sched:sched_switch:u`` and ``offcpu-time`` without modifiers."""
    parts = name.split(":")
    return ":".join(parts[:2]) if name.startswith("sched:") else parts[0]


def waits_between(starts: ThreadTimes, ends: ThreadTimes, sample: I64) -> tuple[Waits, int]:
    """From each start to the thread's first end that is not earlier; ``sample`` (starts,) is the row of its stack.

    A start is cut short by the thread's next start. Also returns how many starts have no end.
    """
    first = first_at_or_after(starts, ends)
    closed = np.flatnonzero((first >= 0) & (sample >= 0))
    until = ends.time[first[closed]]
    duration = np.minimum(until - starts.time[closed], np.uint64(MOST_PERIOD)).astype(np.int64)
    untold = np.full(len(closed), Wait.UNTOLD, np.uint8)
    return Waits(sample[closed], starts.time[closed], duration, untold), int((first < 0).sum())


def first_at_or_after(wanted: ThreadTimes, among: ThreadTimes) -> I64:
    """(wanted,) the row of ``among`` with the same thread that is next in time, or −1.

    ::

        one thread's rows by time   w0  a0  w1  w2  a1      (a row of ``among`` sorts behind a wanted one of its time)
        answer for w                a0      a1  a1
    """
    tid = np.concatenate([wanted.tid, among.tid])
    time = np.concatenate([wanted.time, among.time])
    row = np.concatenate([np.full(len(wanted), -1, np.int64), np.arange(len(among))])
    order = np.lexsort((row >= 0, time, tid))
    places = np.where(row[order] >= 0, np.arange(len(order)), len(order))
    ahead = np.minimum.accumulate(places[::-1])[::-1] if len(places) else places
    answer = np.full(len(order), -1, np.int64)
    found = np.flatnonzero(ahead < len(order))
    found = found[tid[order[ahead[found]]] == tid[order[found]]]
    answer[order[found]] = row[order[ahead[found]]]
    return answer[: len(wanted)]


def last_at_or_before(wanted: ThreadTimes, among: ThreadTimes) -> I64:
    """(wanted,) the row of ``among`` with the same thread that is last in time until then, or −1."""
    top = np.uint64(2**64 - 1)
    return first_at_or_after(ThreadTimes(wanted.tid, top - wanted.time), ThreadTimes(among.tid, top - among.time))


def with_waits(profile: Profile, waits: Waits, how: str) -> Profile:
    """Return the profile with waiting time as an event in nanoseconds.

    ``apart``: nothing else; ``beside``: one event more; ``merged``: added to the samples of the clock event, which is
    then called wall-clock. OptionError when there is no clock event to add to.
    """
    samples = profile.samples
    clock = _clock(profile) if how == "merged" else -1
    event = clock if how == "merged" else len(profile.events)
    if how == "merged":
        named = replace(profile.events[clock], name=WALL_CLOCK, period=0, frequency=0)
        events = (*profile.events[:clock], named, *profile.events[clock + 1 :])
        kept = samples.event == clock
    else:
        events = (*profile.events, ProfileEvent(OFF_CPU, "nanoseconds", 0, 0, is_wait=True))
        kept = np.full(len(samples), how == "beside")
    others = keep_samples(profile, np.flatnonzero(kept)).samples
    joined = _joined(profile, others, waits, event)
    return replace(profile, events=events, samples=joined, default_event=event)


def _clock(profile: Profile) -> int:
    clocks = [row for row, event in enumerate(profile.events) if event.unit == "nanoseconds"]
    sampled = [row for row in clocks if row in unique(profile.samples.event)]
    if not sampled:
        raise OptionError("--off-cpu merged: no event of the recording counts time; record with: -e cpu-clock")
    return sampled[0]


def _joined(profile: Profile, others: ProfileSamples, waits: Waits, event: int) -> ProfileSamples:
    """Return other samples and waits, as samples of ``event``, in time order."""
    ran = replace(others, wait=np.full(len(others), Wait.RAN, np.uint8))
    waited = replace(
        keep_samples(profile, waits.sample).samples,
        event=np.full(len(waits.sample), event, np.int32),
        value=waits.duration,
        count=np.ones(len(waits.sample), np.int64),
        time=waits.since,
        wait=waits.kind,
    )
    columns = {
        field: np.concatenate([getattr(ran, field), getattr(waited, field)])
        for field in ProfileSamples.__struct_fields__
        if getattr(ran, field) is not None
    }
    order = np.lexsort((columns["value"], columns["stack"], columns["event"], columns["thread"], columns["time"]))
    return ProfileSamples(**{name: column[order] for name, column in columns.items()})
