"""Computes the spans of waits, inserts waits into a profile as samples, and sums them up for the summary.

A wait lasts from a switch out until the thread is back on a CPU.
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
    """One row per wait, which lasts from ``since`` to ``until`` (ns)."""

    departure: I64
    """The switch out with which the wait begins: a row of Schedule.left."""
    since: U64
    until: U64
    is_guessed: Bools
    """Whether no record shows when the thread was back; ``until`` is then the latest possible time."""
    is_open: Bools
    """Whether the recording ended before the wait did."""

    @property
    def duration(self) -> I64:
        """Nanoseconds, limited to the largest period that a sample may have."""
        duration: U64 = np.minimum(self.until - self.since, np.uint64(MOST_PERIOD))
        return as_int64(duration)


def spans_of(schedule: Schedule, sampled: ThreadTimes) -> WaitSpans:
    """Return the wait after each switch out; waits of one thread do not overlap.

    A wait ends when a record shows the thread's switch in. Without such a record, the wait ends (as a guess) when the
    thread leaves its CPU once more, exits or, if switches out are samples of sched_switch, is sampled (``sampled``): it
    was back by then. If nothing shows that the thread was back, it waits until the end of the recording.

    ::

        departures   ●───────────┐      ●────────┐         ●──────────
        records                  back            exit                 end of the recording
    """
    left = schedule.left
    # if a thread has several switches out at the same time, the first one counts
    departure = np.sort(group_rows([left.tid, as_int64(left.time)])[0])
    start = ThreadTimes(left.tid[departure], left.time[departure])
    later = ThreadTimes(start.tid, start.time + np.uint64(1))
    entered = next_time(start, schedule.entered)
    guess = np.minimum(next_time(later, start), next_time(start, schedule.exits))
    if schedule.is_traced:
        guess = np.minimum(guess, next_time(later, sampled))
    end = np.maximum(start.time, np.uint64(schedule.end))
    until = np.minimum(np.minimum(entered, guess), end)
    is_open = (entered > end) & (guess > end)
    # of threads whose switches in are never recorded, the last wait may have ended before the recording did
    never_enters = np.full(len(departure), schedule.is_traced, np.bool_) & ~np.isin(start.tid, schedule.entered.tid)
    is_guessed = np.where(is_open, never_enters, guess < entered)
    spans = WaitSpans(departure, start.time, until, is_guessed, is_open)
    return take_rows_of(spans, ~is_open | (until > start.time))


def clipped(spans: WaitSpans, ranges: Sequence[Range]) -> WaitSpans:
    """Return the parts of waits within time ranges, in order of time; the whole waits if there are no ranges."""
    if not ranges:
        return spans
    joined = join_tables([_within(spans, first, min(last, LAST_TIME - 1)) for first, last in ranges])
    return take_rows_of(joined, lexsort((joined.departure, joined.since)))


def _within(spans: WaitSpans, first: int, last: int) -> WaitSpans:
    since = np.maximum(spans.since, np.uint64(first))
    until = np.minimum(spans.until, np.uint64(last + 1))
    begins_inside = (spans.since >= np.uint64(first)) & (spans.since <= np.uint64(last))
    return take_rows_of(replace(spans, since=since, until=until), begins_inside | (until > since))


_WAITING = "[waiting]"
"""The frame that stands for an unknown stack."""
_PREEMPTED = "[preempted]"
"""Innermost frame of a preempted thread."""


class Waits(ColumnTable):
    """Waits that become samples."""

    sample: I64
    """Row of Profile.samples that gives the wait its stack, −1 for none."""
    thread: I32
    stack: I32
    """Row of Profile.stacks, −1 if unknown."""
    cpu: I32
    since: U64
    """ns"""
    duration: I64
    """ns"""
    kind: U8
    """Values of the enumeration Wait."""


def with_wait_frames(profile: Profile, waits: Waits) -> tuple[Profile, Waits]:
    """Add synthetic frames: ``[waiting]`` in place of an unknown stack, ``[preempted]`` at the end of a preempted one.

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
    grown, first_location = with_synthetic_frames(profile, names)
    stack = waits.stack.copy()
    if is_unknown.any():
        grown, stack[is_unknown] = _with_callee(grown, waits.stack[is_unknown], first_location)
    if is_preempted.any():
        last_location = first_location + len(names) - 1
        grown, stack[is_preempted] = _with_callee(grown, waits.stack[is_preempted], last_location)
    return grown, replace(waits, stack=stack)


def _with_callee(profile: Profile, callers: I32, location: int) -> tuple[Profile, I32]:
    """Add a stack for each of ``callers`` (rows of stacks), which ends with a call of ``location``; return their rows.

    For caller −1, the new stack has no other frame.
    """
    parents, new_row = unique_inverse(callers)
    old = profile.stacks
    stacks = join_tables([old, Stacks(as_int32(parents), np.full(len(parents), location, np.int32))])
    return replace(profile, stacks=stacks), as_int32(new_row.reshape(-1) + len(old))


def joined_samples(profile: Profile, kept: Bools, waits: Waits, event: int) -> ProfileSamples:
    """Merge the ``kept`` samples with the waits, which become samples of ``event``, in order of time."""
    samples = profile.samples
    running = replace(samples, wait=np.full(len(samples), Wait.RAN, np.uint8))
    waiting = ProfileSamples(
        event=np.full(len(waits), event, np.int32),
        thread=waits.thread,
        stack=waits.stack,
        value=waits.duration,
        count=np.ones(len(waits), np.int64),
        time=waits.since,
        cpu=waits.cpu,
        cgroup=_taken_from_samples(samples.cgroup, waits),  # string 0 is empty: unknown cgroup
        data_src=_taken_from_samples(samples.data_src, waits),
        wait=waits.kind,
        fields=np.full(len(waits), -1, np.int32),
    )
    joined = join_tables([take_rows_of(running, kept), waiting])
    return take_rows_of(joined, lexsort((joined.value, joined.stack, joined.event, joined.thread, joined.times)))


def _taken_from_samples(column: AnyArray | None, waits: Waits) -> AnyArray | None:
    """Return the values that waits have in a column of samples: that of the wait's sample, or 0 without a sample."""
    return None if column is None else np.append(column, column.dtype.type(0))[waits.sample]


def report_of(waits: Waits, near_ns: int = 0, open_ns: int = 0) -> WaitReport:
    """Sum up waits whose unknown stacks are still −1.

    ``near_ns``: how old a sample may be to give a blocked thread its stack; ``open_ns``: time of waits without an end.
    """
    duration = waits.duration
    return WaitReport(
        waits=len(waits),
        waited_ns=sum_of(duration),
        preempted_ns=sum_of(duration[waits.kind == Wait.PREEMPTED]),
        nameless_ns=sum_of(duration[waits.stack < 0]),
        near_ns=near_ns,
        open_ns=open_ns,
    )
