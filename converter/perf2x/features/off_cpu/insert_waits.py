"""Computes when waits of threads begin and end, adds waits to a profile as samples, and sums them up.

A wait lasts from a thread's switch-out until the thread is back on a CPU.
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
    """A row for each wait, which lasts from ``since`` to ``until`` (ns)."""

    switch_out: I64
    """The switch-out with which the wait begins: a row of ``Schedule.switch_outs``."""
    since: U64
    until: U64
    is_guessed: Bools
    """Whether the wait may have ended before ``until``, because no record shows when the thread was back."""
    is_open: Bools
    """Whether nothing shows that the thread was back before the recording ended."""

    @property
    def duration(self) -> I64:
        """Nanoseconds from ``since`` to ``until``, at most MOST_PERIOD."""
        duration: U64 = np.minimum(self.until - self.since, np.uint64(MOST_PERIOD))
        return as_int64(duration)


def wait_spans(schedule: Schedule, sampled: ThreadTimes) -> WaitSpans:
    """Return the wait after each switch-out; waits of one thread do not overlap.

    A wait ends at the thread's next switch-in, or with the recording. An earlier switch-out or exit also ends it; so
    does an earlier sample (``sampled``) if switch-outs are samples. Such an end is a guess. ::

        switch-outs    ●───────────┐        ●────────┐       ●──────────
        records                    switch-in         exit               end of the recording
    """
    switch_outs = schedule.switch_outs
    # if a thread has several switch-outs at the same time, the first one counts
    first_rows = np.sort(group_rows([switch_outs.tid, as_int64(switch_outs.time)])[0])
    start = ThreadTimes(switch_outs.tid[first_rows], switch_outs.time[first_rows])
    just_after = ThreadTimes(start.tid, start.time + np.uint64(1))
    time_in = next_time(start, schedule.switch_ins)
    guessed_time = np.minimum(next_time(just_after, start), next_time(start, schedule.exits))
    if schedule.switches_are_samples:
        guessed_time = np.minimum(guessed_time, next_time(just_after, sampled))
    end = np.maximum(start.time, np.uint64(schedule.end))
    until = np.minimum(np.minimum(time_in, guessed_time), end)
    is_open = (time_in > end) & (guessed_time > end)
    # a recording of selected threads may have no switch-ins of a thread, whose last wait may have ended earlier
    never_enters = np.full(len(first_rows), schedule.switches_are_samples, np.bool_) & ~np.isin(
        start.tid, schedule.switch_ins.tid
    )
    is_guessed = np.where(is_open, never_enters, guessed_time < time_in)
    spans = WaitSpans(first_rows, start.time, until, is_guessed, is_open)
    return take_rows_of(spans, ~is_open | (until > start.time))


def cut_to_ranges(spans: WaitSpans, ranges: Sequence[Range]) -> WaitSpans:
    """Cut waits to time ranges, and sort them by time; without ranges, return them unchanged."""
    if not ranges:
        return spans
    joined = join_tables([_within(spans, first, min(last, LAST_TIME - 1)) for first, last in ranges])
    return take_rows_of(joined, lexsort((joined.switch_out, joined.since)))


def _within(spans: WaitSpans, range_first: int, range_last: int) -> WaitSpans:
    since = np.maximum(spans.since, np.uint64(range_first))
    until = np.minimum(spans.until, np.uint64(range_last + 1))
    begins_inside = (spans.since >= np.uint64(range_first)) & (spans.since <= np.uint64(range_last))
    return take_rows_of(replace(spans, since=since, until=until), begins_inside | (until > since))


# the synthetic frame for an unknown stack
_WAITING = "[waiting]"
# the synthetic innermost frame of a preempted thread
_PREEMPTED = "[preempted]"


class Waits(ColumnTable):
    """Waits that become samples."""

    sample: I64
    """Row of Profile.samples from which the wait has its stack, −1 for none."""
    thread: I32
    """Row of Profile.threads."""
    stack: I32
    """Row of Profile.stacks, −1 if unknown."""
    cpu: I32
    """The CPU that the thread left, −1 if unknown."""
    since: U64
    """Time (ns) at which the wait begins."""
    duration: I64
    """Nanoseconds."""
    kind: U8
    """Values of the enumeration Wait."""


def with_wait_frames(profile: Profile, waits: Waits) -> tuple[Profile, Waits]:
    """Add synthetic frames: ``[waiting]`` in place of an unknown stack, ``[preempted]`` to stacks of preempted threads.

    Stacks are written outermost frame first::

        stack              blocked            preempted
        main;loop          main;loop          main;loop;[preempted]
        unknown            [waiting]          [preempted]
    """
    is_preempted = waits.kind == Wait.PREEMPTED
    is_unknown = (waits.stack < 0) & ~is_preempted
    names = [name for name, rows in ((_WAITING, is_unknown), (_PREEMPTED, is_preempted)) if rows.any()]
    if not names:
        return profile, waits
    with_frames, first_location = with_synthetic_frames(profile, names)
    stack = waits.stack.copy()
    if is_unknown.any():
        with_frames, stack[is_unknown] = _with_callee(with_frames, waits.stack[is_unknown], first_location)
    if is_preempted.any():
        last_location = first_location + len(names) - 1
        with_frames, stack[is_preempted] = _with_callee(with_frames, waits.stack[is_preempted], last_location)
    return with_frames, replace(waits, stack=stack)


def _with_callee(profile: Profile, callers: I32, location: int) -> tuple[Profile, I32]:
    """Add stacks with ``location`` as the new innermost frame; also return (callers,) their rows.

    ``callers`` are rows of Profile.stacks; −1 is an empty stack.
    """
    parents, new_row = unique_inverse(callers)
    old_stacks = profile.stacks
    stacks = join_tables([old_stacks, Stacks(as_int32(parents), np.full(len(parents), location, np.int32))])
    return replace(profile, stacks=stacks), as_int32(new_row.reshape(-1) + len(old_stacks))


def joined_samples(profile: Profile, kept: Bools, waits: Waits, event: int) -> ProfileSamples:
    """Merge the ``kept`` samples (samples,) with the waits, which become samples of ``event``, by time."""
    samples = profile.samples
    ran = replace(samples, wait=np.full(len(samples), Wait.RAN, np.uint8))
    waits_as_samples = ProfileSamples(
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
    joined = join_tables([take_rows_of(ran, kept), waits_as_samples])
    return take_rows_of(joined, lexsort((joined.value, joined.stack, joined.event, joined.thread, joined.times)))


def _taken_from_samples(column: AnyArray | None, waits: Waits) -> AnyArray | None:
    return None if column is None else np.append(column, column.dtype.type(0))[waits.sample]


def summarize_waits(waits: Waits, near_ns: int = 0, open_ns: int = 0) -> WaitReport:
    """Sum up waits for the summary, before `with_wait_frames` replaces unknown stacks.

    ``near_ns`` and ``open_ns``: see `WaitReport`.
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
