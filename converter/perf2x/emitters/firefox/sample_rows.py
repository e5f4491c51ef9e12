"""Threads of a Firefox profile, and the rows of their samples tables.

The viewer shows a stack until the thread's next row, and spreads the CPU time of a row evenly over the time since the
row before. perf records nothing while a thread sleeps, so stacks would seem to last through every sleep. *Blank rows*,
without stack and weight (``-``), prevent that: where a thread starts and stops running, where a wait (C) ends, and
where a sample's duration ends::

    thread runs     |-------|          |-----|              |----|
    samples             A   B       C                            D
    rows            -   A   B   -   C  -     -              -    D    -
    CPU time        0   4   4   0   0  0     6              0    5    0
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar import (
    I64,
    U64,
    AnyArray,
    Bools,
    ColumnTable,
    Frozen,
    argsort_rows,
    argsort_small,
    begins_run,
    bincount,
    cumsum,
    ends_run,
    flatnonzero,
    lexsort,
    minus_ones,
    narrow,
    no_rows,
    of_next,
    of_previous,
    offsets_of,
    searchsorted,
    sum_at,
    sum_of,
    take_rows_of,
    zeros,
)
from perf2x.emitters.timeline.running_time import count_rows_until, since
from perf2x.emitters.timeline.shown_samples import ShownSamples, origin_of, shown_samples
from perf2x.emitters.timeline.tracks import Tracks, tracks_of
from perf2x.model.printable_text import one_line
from perf2x.model.profile import Profile, are_placed_waits


class Timeline(Frozen):
    """The track and time of each row of Profile.samples."""

    tracks: Tracks
    sample_tracks: AnyArray
    """(samples,) row of each sample's thread in ``tracks``; int32 if that suffices."""
    recorded_times: U64
    """(samples,) nanoseconds on the recording's clock, ascending; 0 if the recording has no times."""
    origin: int
    """The earliest of ``recorded_times``: time 0 of the written profile."""

    def times(self, rows: AnyArray | slice) -> I64:
        """Return the times of these samples in nanoseconds since ``origin``; 0 if the recording has no times."""
        return since(self.recorded_times[rows], self.origin)


def timeline_of(profile: Profile) -> Timeline:
    """Return the tracks and times of all samples."""
    tracks, sample_tracks = tracks_of(profile)
    recorded_times = profile.samples.times
    origin = int(recorded_times[0]) if len(recorded_times) else 0
    return Timeline(tracks, narrow(sample_tracks), recorded_times, origin)


class ThreadLifetime(Frozen):
    """A thread's row in Tracks, and the times of its first and last sample (ns since the origin)."""

    track: int
    first_time: int
    last_time: int


def thread_lifetimes(timeline: Timeline) -> Iterator[ThreadLifetime]:
    """Yield all threads as they are written: processes by pid, main threads first."""
    tracks, sample_tracks, time = timeline.tracks, timeline.sample_tracks, timeline.times(slice(None))
    last_time = zeros(len(tracks))
    last_time[sample_tracks] = time  # samples are in time order, and the last assignment to an index wins
    first_time = zeros(len(tracks))
    first_time[sample_tracks[::-1]] = time[::-1]
    for track in lexsort((tracks.tid, tracks.tid != tracks.pid, tracks.pid)).tolist():
        yield ThreadLifetime(track, int(first_time[track]), int(last_time[track]))


def thread_members(tracks: Tracks, thread: ThreadLifetime, names: tuple[str, str]) -> dict[str, object]:
    """Return the members of a thread's JSON object except its tables; ``names``: of the thread, of its process."""
    pid, tid = int(tracks.pid[thread.track]), int(tracks.tid[thread.track])
    name, process_name = map(one_line, names)
    return {
        "name": name,
        "processName": process_name,
        "processType": "default",
        "isMainThread": pid == tid,
        "pid": str(pid),
        "tid": str(tid),
        "registerTime": thread.first_time / 1e6,
        "unregisterTime": thread.last_time / 1e6,
        "processStartupTime": thread.first_time / 1e6,
        "processShutdownTime": None,
        "pausedRanges": [],
        "showMarkersInTimeline": False,
    }


_JITTER = 0.5
"""Gaps up to this share of a sample's duration are ignored: timers fire late, so samples are not exactly periodic."""

_SHORTEST_NS = 1000
"""Time for which the stack of a sample without a duration is shown, so that it is visible."""


class SampleTableRows(ColumnTable):
    """Rows of the samples tables of several threads, by track, then time."""

    track: I64
    time: I64
    """Nanoseconds since the timeline's origin."""
    sample: I64
    """Row in Profile.samples; −1 for a blank row."""
    cpu_time: I64
    """Nanoseconds that the thread ran since the row before; in its first row, since it began to run."""


class _RowsWithoutCpuTime(Frozen):
    track: AnyArray
    time: I64
    sample: AnyArray


class SamplesByTrack(Frozen):
    """The samples to write, sorted by track. To save memory, `table_rows` makes the rows of a few tracks at a time."""

    timeline: Timeline
    samples: AnyArray
    """Rows of Profile.samples to write, by track, then time; int32 if that suffices."""
    offsets: I64
    """(tracks + 1,) track i has the entries from ``offsets[i]`` to before ``offsets[i + 1]`` of ``samples``."""
    shown: ShownSamples
    """The time spans in which the samples are drawn, in nanoseconds since the timeline's origin."""
    length: I64
    """(samples of the profile + 1,) nanoseconds for which each sample is drawn; the last entry is for sample −1."""
    is_wait: Bools
    """(samples of the profile + 1,) whether each is a wait with a start and an end; the last entry is for sample −1."""

    def table_rows(self, first_track: int, end_track: int) -> SampleTableRows:
        """Return the rows of the tracks from ``first_track`` to before ``end_track``."""
        samples = self.samples[self.offsets[first_track] : self.offsets[end_track]]
        if not len(samples):
            return no_rows(SampleTableRows)
        shown = take_rows_of(self.shown, rows_between(self.shown.track, first_track, end_track))
        rows = _RowsWithoutCpuTime(self.timeline.sample_tracks[samples], self.timeline.times(samples), samples)
        rows = _with_blank_rows(rows, _blank_rows_around_runs(shown, self.is_wait[shown.sample], self.length))
        rows = _with_blank_rows(rows, _blank_rows_after_stacks(rows, self.length, self.is_wait))
        return SampleTableRows(rows.track, rows.time, rows.sample, _cpu_time(rows, shown, self.is_wait))


def samples_by_track(profile: Profile, timeline: Timeline, samples: I64) -> SamplesByTrack:
    """Sort the samples to write by track; ``samples`` are rows of Profile.samples, ascending."""
    samples = narrow(samples)
    shown = shown_samples(profile, timeline.sample_tracks, samples)
    # times of spans count from `origin_of`, which may be before the first sample
    shift = timeline.origin - origin_of(profile)
    for times in (shown.start, shown.end):  # in place, because nothing else uses these columns
        np.subtract(times, shift, out=times)
    length = sum_at(shown.sample, shown.end - shown.start, len(profile.samples) + 1)
    track = timeline.sample_tracks[samples]
    offsets = offsets_of(bincount(track, len(timeline.tracks)))
    by_track = samples[argsort_small(track)]
    return SamplesByTrack(
        timeline, by_track, offsets, shown, length, np.append(are_placed_waits(profile.samples), False)
    )


def rows_between(track: AnyArray, first_track: int, end_track: int) -> slice:
    """Return the rows of a table on the tracks from ``first_track`` to before ``end_track``; ``track`` is ascending."""
    return slice(*searchsorted(track, [first_track, end_track]).tolist())


def _blank_rows_around_runs(shown: ShownSamples, span_is_wait: Bools, length: I64) -> _RowsWithoutCpuTime:
    gap = of_next(shown.start, 0) - shown.end
    is_short_gap = gap <= _JITTER * length[of_next(shown.sample, -1)]
    runs_on = ~ends_run(shown.track) & ~span_is_wait & ~of_next(span_is_wait, False) & is_short_gap
    starts_run = ~span_is_wait & ~of_previous(runs_on, False)
    track = np.append(shown.track[starts_run], shown.track[~runs_on])
    time = np.append(shown.start[starts_run], shown.end[~runs_on])
    is_kept = time >= 0  # a run before the first sample counts in the CPU time of the thread's first row
    return _RowsWithoutCpuTime(track[is_kept], time[is_kept], minus_ones(sum_of(is_kept)))


def _with_blank_rows(rows: _RowsWithoutCpuTime, blank: _RowsWithoutCpuTime) -> _RowsWithoutCpuTime:
    """Insert blank rows, which are in any order, at times at which their track has no row yet."""
    blank = take_rows_of(blank, argsort_rows([blank.track, blank.time]))
    insert_at = count_rows_until((rows.track, rows.time), (blank.track, blank.time))
    before = np.maximum(insert_at - 1, 0)
    has_row = (insert_at > 0) & (rows.track[before] == blank.track) & (rows.time[before] == blank.time)
    is_new = begins_run(blank.track, blank.time) & ~has_row
    columns, insert_at = _RowsWithoutCpuTime.__struct_fields__, insert_at[is_new]
    return _RowsWithoutCpuTime(
        *(np.insert(getattr(rows, column), insert_at, getattr(blank, column)[is_new]) for column in columns)
    )


def _blank_rows_after_stacks(rows: _RowsWithoutCpuTime, length: I64, is_wait: Bools) -> _RowsWithoutCpuTime:
    """Return blank rows where the durations of samples end, unless another row of the thread follows soon."""
    has_stack = (rows.sample >= 0) & ~is_wait[rows.sample]
    duration = np.maximum(length[rows.sample], _SHORTEST_NS)
    is_followed = ~ends_run(rows.track) & (of_next(rows.time, 0) - rows.time <= (1 + _JITTER) * duration)
    last = flatnonzero(has_stack & ~is_followed)
    return _RowsWithoutCpuTime(rows.track[last], rows.time[last] + duration[last], minus_ones(len(last)))


def _cpu_time(rows: _RowsWithoutCpuTime, shown: ShownSamples, is_wait: Bools) -> I64:
    running_rows = flatnonzero(~is_wait[shown.sample])
    track, start, length = shown.track[running_rows], shown.start[running_rows], (shown.end - shown.start)[running_rows]
    # (running spans + 1,) may wrap around, but differences within a track do not
    total_before = np.append(0, cumsum(length))
    # number of spans up to each row, including those of earlier tracks
    spans_before = count_rows_until((track, start), (rows.track, rows.time))
    latest = np.maximum(spans_before - 1, 0)
    is_same_track = (spans_before > 0) & (np.append(track, -1)[latest] == rows.track)
    remaining = np.where(is_same_track, np.maximum(np.append(start + length, 0)[latest] - rows.time, 0), 0)
    total = total_before[spans_before] - remaining
    first = flatnonzero(begins_run(rows.track))
    cpu_time: I64 = total - of_previous(total, 0)
    cpu_time[first] = total[first] - total_before[searchsorted(track, rows.track[first])]
    return cpu_time
