"""Inserts waits into a profile: computes their spans, adds them as samples, and sums them up for the summary.

A wait lasts from a switch out until the thread is back.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    U64,
    AnyArray,
    Bools,
    ColumnTable,
    as_int32,
    as_int64,
    group_rows,
    join_tables,
    lexsort,
    sum_of,
    take_rows_of,
    unique_inverse,
)
from perf2x.features.off_cpu.wait_report import WaitReport
from perf2x.features.schedule.schedule import Schedule
from perf2x.features.schedule.thread_times import ThreadTimes, next_time
from perf2x.model.filters.time_ranges import Range
from perf2x.model.profile import Profile, ProfileSamples, Stacks, Wait, with_synthetic_frames
from perf2x.model.value_limits import LAST_TIME, MOST_PERIOD


class WaitSpans(ColumnTable):
    """One row per wait: ``left`` is its row of Schedule.left, and it lasts from ``since`` to ``until`` (ns)."""

    left: I64
    since: U64
    until: U64
    is_guessed: Bools
    """No record shows when the thread was back; ``until`` is the latest possible time."""
    is_open: Bools
    """The recording ended before the wait did."""

    @property
    def duration(self) -> I64:
        """Nanoseconds, limited to the largest period that a sample may have."""
        lasted: U64 = np.minimum(self.until - self.since, np.uint64(MOST_PERIOD))
        return as_int64(lasted)


def spans_of(schedule: Schedule, seen: ThreadTimes) -> WaitSpans:
    """Return the wait after each switch out; waits of one thread do not overlap.

    A wait ends when a record shows the thread's switch in. Without that record, it ends when the thread leaves its CPU
    once more, exits or, if switches out are samples, is sampled on a CPU (``seen``): the thread was back by then. If
    nothing shows that the thread was back, it waits until the end of the recording.

    ::

        departures   ●───────────┐      ●────────┐         ●──────────
        records                  back            exit                 end of the recording
    """
    left = schedule.left
    rows = np.sort(group_rows([left.tid, as_int64(left.time)])[0])  # of departures at the same time, one counts
    start = ThreadTimes(left.tid[rows], left.time[rows])
    later = ThreadTimes(start.tid, start.time + np.uint64(1))
    entered = next_time(start, schedule.entered)
    guess = np.minimum(next_time(later, start), next_time(start, schedule.exits))
    if schedule.is_traced:
        guess = np.minimum(guess, next_time(later, seen))
    end = np.maximum(start.time, np.uint64(schedule.end))
    until = np.minimum(np.minimum(entered, guess), end)
    is_open = (entered > end) & (guess > end)
    # a thread traced only at its switches out may have been back before the end
    unseen = np.full(len(rows), schedule.is_traced, np.bool_) & ~np.isin(start.tid, schedule.entered.tid)
    is_guessed = np.where(is_open, unseen, guess < entered)
    spans = WaitSpans(rows, start.time, until, is_guessed, is_open)
    return take_rows_of(spans, ~is_open | (until > start.time))


def clipped(spans: WaitSpans, ranges: Sequence[Range]) -> WaitSpans:
    """Return the parts of waits within time ranges, in order of time; whole waits if there are no ranges."""
    if not ranges:
        return spans
    joined = join_tables([_within(spans, first, min(last, LAST_TIME - 1)) for first, last in ranges])
    return take_rows_of(joined, lexsort((joined.left, joined.since)))


def _within(spans: WaitSpans, first: int, last: int) -> WaitSpans:
    since = np.maximum(spans.since, np.uint64(first))
    until = np.minimum(spans.until, np.uint64(last + 1))
    begins_in = (spans.since >= np.uint64(first)) & (spans.since <= np.uint64(last))
    return take_rows_of(replace(spans, since=since, until=until), begins_in | (until > since))


_WAITING = "[waiting]"
"""The frame that stands for an unknown stack."""
_PREEMPTED = "[preempted]"
"""Innermost frame of a preempted thread."""


class Waits(ColumnTable):
    """Waits as new samples; ``sample`` is the row of Profile.samples from which each was made, −1 for none."""

    sample: I64
    thread: I32
    stack: I32
    """−1: unknown."""
    cpu: I32
    since: U64
    duration: I64
    kind: U8
    """A Wait."""


def with_wait_frames(profile: Profile, waits: Waits) -> tuple[Profile, Waits]:
    """Add frames for what stacks cannot show: ``[waiting]`` for unknown stacks, ``[preempted]`` below preempted ones.

    ::

        stack              blocked            preempted
        main;loop          main;loop          main;loop;[preempted]
        unknown            [waiting]          [preempted]
    """
    is_preempted = waits.kind == Wait.PREEMPTED
    is_unknown = (waits.stack < 0) & ~is_preempted
    names = [name for name, rows in ((_WAITING, is_unknown), (_PREEMPTED, is_preempted)) if rows.any()]
    if not names:
        return profile, waits
    grown, first = with_synthetic_frames(profile, names)
    stack = waits.stack.copy()
    if is_unknown.any():
        grown, stack[is_unknown] = _hung_below(grown, waits.stack[is_unknown], first)
    if is_preempted.any():
        grown, stack[is_preempted] = _hung_below(grown, waits.stack[is_preempted], first + len(names) - 1)
    return grown, replace(waits, stack=stack)


def _hung_below(profile: Profile, callers: I32, location: int) -> tuple[Profile, I32]:
    """Add stacks in which each of ``callers`` calls a location; return the row of each caller's new stack.

    ``callers`` are rows of stacks; −1: the location has no caller.
    """
    parents, place = unique_inverse(callers)
    old = profile.stacks
    stacks = join_tables([old, Stacks(as_int32(parents), np.full(len(parents), location, np.int32))])
    return replace(profile, stacks=stacks), as_int32(place.reshape(-1) + len(old))


def joined_samples(profile: Profile, kept: Bools, waits: Waits, event: int) -> ProfileSamples:
    """Merge the ``kept`` samples with the waits, which become samples of ``event``, in order of time."""
    samples = profile.samples
    ran = replace(samples, wait=np.full(len(samples), Wait.RAN, np.uint8))
    made = ProfileSamples(
        event=np.full(len(waits), event, np.int32),
        thread=waits.thread,
        stack=waits.stack,
        value=waits.duration,
        count=np.ones(len(waits), np.int64),
        time=waits.since,
        cpu=waits.cpu,
        cgroup=_of_samples(samples.cgroup, waits),  # string 0 is empty: unknown cgroup
        data_src=_of_samples(samples.data_src, waits),
        wait=waits.kind,
        fields=np.full(len(waits), -1, np.int32),
    )
    joined = join_tables([take_rows_of(ran, kept), made])
    return take_rows_of(joined, lexsort((joined.value, joined.stack, joined.event, joined.thread, joined.times)))


def _of_samples(column: AnyArray | None, waits: Waits) -> AnyArray | None:
    """Return a column for waits: each has the value of the sample from which it was made, or 0 without a sample."""
    return None if column is None else np.append(column, column.dtype.type(0))[waits.sample]


def report_of(waits: Waits, near_ns: int = 0, open_ns: int = 0) -> WaitReport:
    """Sum up waits; unknown stacks are −1."""
    duration = waits.duration
    return WaitReport(
        waits=len(waits),
        waited_ns=sum_of(duration),
        preempted_ns=sum_of(duration[waits.kind == Wait.PREEMPTED]),
        nameless_ns=sum_of(duration[waits.stack < 0]),
        near_ns=near_ns,
        open_ns=open_ns,
    )
