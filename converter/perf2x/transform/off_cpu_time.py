"""Waiting time per stack: from the time a thread left its CPU until it came back.

Pure: takes a timeline profile and the times of leaving and entering CPUs, returns a timeline profile.
"""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.columnar.arrays import I64, U64, Bools
from perf2x.columnar.unique import unique
from perf2x.tables.errors import OptionError
from perf2x.tables.profile import Profile, ProfileEvent, ProfileSamples
from perf2x.tables.value_limits import MOST_PERIOD

OFF_CPU = "off-cpu"
WALL_CLOCK = "wall-clock"
HOW = ("apart", "beside", "merged")


class ThreadTimes(Struct, frozen=True):
    """thread, in any order: ``tid`` (n,), ``time`` (n,) on the samples' clock."""

    tid: I64
    time: U64

    def __len__(self) -> int:
        return len(self.tid)


class Waits(Struct, frozen=True):
    """Rows of a profile's samples whose stack a thread waited in, since when and for how long."""

    sample: I64
    since: U64
    duration: I64


def waits_between(starts: ThreadTimes, ends: ThreadTimes, sample: I64) -> tuple[Waits, int]:
    """From each start to the thread's first end that is not earlier; ``sample`` (starts,) is the row of its stack.

    A start is cut short by the thread's next start. Also returns how many starts have no end.
    """
    first = first_at_or_after(starts, ends)
    closed = np.flatnonzero((first >= 0) & (sample >= 0))
    until = ends.time[first[closed]]
    duration = np.minimum(until - starts.time[closed], np.uint64(MOST_PERIOD)).astype(np.int64)
    return Waits(sample[closed], starts.time[closed], duration), int((first < 0).sum())


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
    row = waits.sample
    columns = {
        field: getattr(samples, field)[row]
        for field in ProfileSamples.__struct_fields__
        if getattr(samples, field) is not None
    }
    clock = _clock(profile) if how == "merged" else -1
    event = clock if how == "merged" else len(profile.events)
    columns |= {
        "event": np.full(len(row), event, np.int32),
        "value": waits.duration,
        "count": np.ones(len(row), np.int64),
        "time": waits.since,
    }
    waited = ProfileSamples(**columns)
    if how == "merged":
        named = replace(profile.events[clock], name=WALL_CLOCK, period=0, frequency=0)
        events = (*profile.events[:clock], named, *profile.events[clock + 1 :])
        kept = samples.event == clock
    else:
        events = (*profile.events, ProfileEvent(OFF_CPU, "nanoseconds", 0, 0))
        kept = np.full(len(samples), how == "beside")
    joined = _merged_by_time(samples, kept, waited)
    return replace(profile, events=events, samples=joined, default_event=event)


def _clock(profile: Profile) -> int:
    clocks = [row for row, event in enumerate(profile.events) if event.unit == "nanoseconds"]
    sampled = [row for row in clocks if row in unique(profile.samples.event)]
    if not sampled:
        raise OptionError("--off-cpu merged: no event of the recording counts time; record with: -e cpu-clock")
    return sampled[0]


def _merged_by_time(samples: ProfileSamples, kept: Bools, more: ProfileSamples) -> ProfileSamples:
    """Return the kept rows and the new ones in time order."""
    columns = {
        field: np.concatenate([getattr(samples, field)[kept], getattr(more, field)])
        for field in ProfileSamples.__struct_fields__
        if getattr(samples, field) is not None
    }
    order = np.lexsort((columns["value"], columns["stack"], columns["event"], columns["thread"], columns["time"]))
    return ProfileSamples(**{name: column[order] for name, column in columns.items()})
