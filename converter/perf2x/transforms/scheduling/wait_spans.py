"""Waits of threads as spans of time: from a departure of the schedule to the moment its thread was back."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, U64, Bools, ColumnTable, take_rows_of
from perf2x.base.columnar.ragged import join_tables
from perf2x.base.columnar.unique import group_rows
from perf2x.model.value_limits import LAST_TIME, MOST_PERIOD
from perf2x.transforms.filters.time_ranges import Range
from perf2x.transforms.scheduling.schedule import Schedule
from perf2x.transforms.scheduling.thread_times import ThreadTimes, next_time


class Spans(ColumnTable, frozen=True):
    """One row per wait: ``left`` is its row of Schedule.left, and it lasts from ``since`` to ``until`` (ns)."""

    left: I64
    since: U64
    until: U64
    is_guessed: Bools
    """Nobody said when the thread was back; it was at ``until`` at the latest."""
    is_open: Bools
    """The recording ends first."""

    @property
    def duration(self) -> I64:
        """Nanoseconds, cut at the largest period that a sample may have."""
        lasted: U64 = np.minimum(self.until - self.since, np.uint64(MOST_PERIOD))
        return lasted.astype(np.int64)


def spans_of(schedule: Schedule, seen: ThreadTimes) -> Spans:
    """Return the wait behind each departure; none of a thread overlap.

    A thread is back when a record says so. Without one it was back before it left again, exited or, where departures
    are samples, was seen on a CPU (``seen``). Otherwise it waits until the recording's end.

    ::

        departures   ●───────────┐      ●────────┐         ●──────────
        records                  back            exit                 end of the recording
    """
    rows = _distinct(schedule.left.times)
    start = ThreadTimes(schedule.left.tid[rows], schedule.left.time[rows])
    later = ThreadTimes(start.tid, start.time + np.uint64(1))
    told = next_time(start, schedule.entered, LAST_TIME)
    guess = np.minimum(next_time(later, start, LAST_TIME), next_time(start, schedule.exits, LAST_TIME))
    if schedule.is_traced:
        guess = np.minimum(guess, next_time(later, seen, LAST_TIME))
    end = np.maximum(start.time, np.uint64(schedule.end))
    until = np.minimum(np.minimum(told, guess), end)
    is_open = (told > end) & (guess > end)
    # a thread that is traced only where it leaves may have come back unseen before the end
    unseen = np.full(len(rows), schedule.is_traced) & ~np.isin(start.tid, schedule.entered.tid)
    is_guessed = np.where(is_open, unseen, guess < told)
    spans = Spans(rows, start.time, until, is_guessed, is_open)
    return take_rows_of(spans, ~is_open | (until > start.time))


def _distinct(left: ThreadTimes) -> I64:
    """Rows without those of a thread that seems to leave twice at one moment."""
    first = group_rows([left.tid, left.time.astype(np.int64)])[0]
    first.sort()
    return first


def clipped(spans: Spans, ranges: Sequence[Range]) -> Spans:
    """Return the parts of waits within ranges of time, in order of time; all of them where there are no ranges."""
    if not ranges:
        return spans
    joined = join_tables([_within(spans, first, min(last, LAST_TIME - 1)) for first, last in ranges])
    return take_rows_of(joined, np.lexsort((joined.left, joined.since)))


def _within(spans: Spans, first: int, last: int) -> Spans:
    since = np.maximum(spans.since, np.uint64(first))
    until = np.minimum(spans.until, np.uint64(last + 1))
    begins_in = (spans.since >= np.uint64(first)) & (spans.since <= np.uint64(last))
    return take_rows_of(replace(spans, since=since, until=until), begins_in | (until > since))
