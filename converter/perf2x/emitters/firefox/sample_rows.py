"""Threads and samples of Firefox Profiler's format.

Threads are in the format's order: processes by pid, main threads first. A sample has a time, a weight and the CPU time
since the sample before. The viewer shows a stack until the thread's next sample, spreads CPU time over the time since
the row before, and assumes that a thread without ``threadCPUDelta`` runs all the time. So rows without stack and weight
mark where a thread starts and stops running::

    runs        |-------|         |-----|              |----|
    samples         A   B      wait: C                      D
    rows        -   A   B  -   C  -     -              -    D   -
    CPU         0   4   4  0   0  0     6              0    5   0
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
from perf2x.emitters.timeline.running_time import rows_until, since
from perf2x.emitters.timeline.shown_samples import ShownSamples, origin_of, shown_samples
from perf2x.emitters.timeline.tracks import Tracks, tracks_of
from perf2x.model.printable_text import one_line
from perf2x.model.profile import Profile, placed_waits


class Timeline(Frozen):
    """The track and time of each row of Profile.samples."""

    tracks: Tracks
    track: AnyArray
    """32 bits if that suffices."""
    recorded: U64
    """Times on the recording's clock; 0 if the recording has no times."""
    origin: int
    """The earliest recorded time, in nanoseconds."""

    def times(self, rows: AnyArray | slice) -> I64:
        """Return nanoseconds since ``origin``, as in all tables; 0 for samples without a time."""
        return since(self.recorded[rows], self.origin)


def timeline_of(profile: Profile) -> Timeline:
    """Return tracks and times of all samples."""
    tracks, track = tracks_of(profile)
    recorded = profile.samples.times
    origin = int(recorded[0]) if len(recorded) else 0
    return Timeline(tracks, narrow(track), recorded, origin)


class Lane(Frozen):
    """One thread: its row in Tracks, and the times (ns) of its first and last event."""

    track: int
    first: int
    last: int


def lanes_of(timeline: Timeline) -> Iterator[Lane]:
    """Yield all threads."""
    tracks, track, time = timeline.tracks, timeline.track, timeline.times(slice(None))
    last = zeros(len(tracks))
    last[track] = time  # the last assignment wins
    first = zeros(len(tracks))
    first[track[::-1]] = time[::-1]
    for row in lexsort((tracks.tid, tracks.tid != tracks.pid, tracks.pid)).tolist():
        yield Lane(row, int(first[row]), int(last[row]))


def thread_head(tracks: Tracks, lane: Lane, names: tuple[str, str]) -> dict[str, object]:
    """Return all members of a thread except its tables; ``names`` are the thread's and its process's."""
    pid, tid = int(tracks.pid[lane.track]), int(tracks.tid[lane.track])
    name, process = map(one_line, names)
    return {
        "name": name,
        "processName": process,
        "processType": "default",
        "isMainThread": pid == tid,
        "pid": str(pid),
        "tid": str(tid),
        "registerTime": lane.first / 1e6,
        "unregisterTime": lane.last / 1e6,
        "processStartupTime": lane.first / 1e6,
        "processShutdownTime": None,
        "pausedRanges": [],
        "showMarkersInTimeline": False,
    }


_JITTER = 0.5
"""The share of a sample's duration below which a pause is ignored, because sampling is not exact."""

_SHORTEST_NS = 1000
"""The duration given to a stack that has none, so that it is visible."""


class TrackSamples(ColumnTable):
    """Rows of the samples tables of all threads, by track, then time."""

    track: I64
    time: I64
    """Nanoseconds since the first sample."""
    sample: I64
    """Row in Profile.samples, −1 where a thread starts or stops running."""
    cpu_time: I64
    """Nanoseconds of CPU time since the row before, or since the thread started to run."""


class _Points(Frozen):
    """Times on tracks."""

    track: AnyArray
    time: I64
    sample: AnyArray


class Moments(Frozen):
    """Selected samples and when they are drawn; `rows` are made for a few tracks at a time, because of their number."""

    timeline: Timeline
    order: AnyArray
    """Selected rows of Profile.samples by track, then time; 32 bits if that suffices."""
    ends: I64
    """(tracks + 1,) offsets of each track's rows in ``order``."""
    shown: ShownSamples
    """Times are nanoseconds since the first sample."""
    length: I64
    """(samples + 1,) nanoseconds for which each sample is drawn; the last one is for rows that are not samples."""
    is_wait: Bools
    """(samples + 1,) whether it is a wait; the last entry is for "none"."""

    def of_tracks(self, first: int, end: int) -> TrackSamples:
        """Return the rows of tracks from ``first`` to before ``end``."""
        own = self.order[self.ends[first] : self.ends[end]]
        if not len(own):
            return no_rows(TrackSamples)
        shown = take_rows_of(self.shown, rows_between(self.shown.track, first, end))
        points = _Points(self.timeline.track[own], self.timeline.times(own), own)
        points = _with_pauses(points, _bounds(shown, self.is_wait[shown.sample], self.length))
        points = _with_pauses(points, _ends_of_stacks(points, self.length, self.is_wait))
        return TrackSamples(points.track, points.time, points.sample, _cpu_time(points, shown, self.is_wait))


def moments_of(profile: Profile, timeline: Timeline, chosen: I64) -> Moments:
    """Return when the selected samples (rows of Profile.samples, ascending) are drawn."""
    chosen = narrow(chosen)
    shown = shown_samples(profile, timeline.track, chosen)
    first = timeline.origin - origin_of(profile)
    for times in (shown.start, shown.end):  # these columns are not shared, so they can change in place
        np.subtract(times, first, out=times)
    length = sum_at(shown.sample, shown.end - shown.start, len(profile.samples) + 1)
    track = timeline.track[chosen]
    ends = offsets_of(bincount(track, len(timeline.tracks)))
    order = chosen[argsort_small(track)]
    return Moments(timeline, order, ends, shown, length, np.append(placed_waits(profile.samples), False))


def rows_between(track: AnyArray, first: int, end: int) -> slice:
    """Return the range of rows on the tracks from ``first`` to before ``end``; ``track`` (rows,) is ascending."""
    return slice(*searchsorted(track, [first, end]).tolist())


def _bounds(shown: ShownSamples, is_wait: Bools, length: I64) -> _Points:
    """Return when threads start and stop running, and when waits end."""
    pause = of_next(shown.start, 0) - shown.end
    is_short = pause <= _JITTER * length[of_next(shown.sample, -1)]
    runs_on = ~ends_run(shown.track) & ~is_wait & ~of_next(is_wait, False) & is_short
    begins = ~is_wait & ~of_previous(runs_on, False)
    ends = ~runs_on
    track = np.append(shown.track[begins], shown.track[ends])
    time = np.append(shown.start[begins], shown.end[ends])
    kept = time >= 0  # time before the first sample counts for the thread's first row
    return _Points(track[kept], time[kept], minus_ones(sum_of(kept)))


def _with_pauses(points: _Points, pauses: _Points) -> _Points:
    """Merge pauses (in any order) into points (by track, then time), at most one per time."""
    pauses = take_rows_of(pauses, argsort_rows([pauses.track, pauses.time]))
    place = rows_until((points.track, points.time), (pauses.track, pauses.time))
    before = np.maximum(place - 1, 0)
    is_met = (place > 0) & (points.track[before] == pauses.track) & (points.time[before] == pauses.time)
    kept = begins_run(pauses.track, pauses.time) & ~is_met
    names, place = _Points.__struct_fields__, place[kept]
    return _Points(*(np.insert(getattr(points, name), place, getattr(pauses, name)[kept]) for name in names))


def _ends_of_stacks(points: _Points, length: I64, is_wait: Bools) -> _Points:
    """Return where stacks end that are not soon followed by a sample: after their sample's duration."""
    is_sample = (points.sample >= 0) & ~is_wait[points.sample]
    shown = np.maximum(length[points.sample], _SHORTEST_NS)
    is_followed = ~ends_run(points.track) & (of_next(points.time, 0) - points.time <= (1 + _JITTER) * shown)
    rows = flatnonzero(is_sample & ~is_followed)
    return _Points(points.track[rows], points.time[rows] + shown[rows], minus_ones(len(rows)))


def _cpu_time(points: _Points, shown: ShownSamples, is_wait: Bools) -> I64:
    """Return (points,) nanoseconds that each row's thread ran since the row before."""
    ran = flatnonzero(~is_wait[shown.sample])
    track, start, length = shown.track[ran], shown.start[ran], (shown.end - shown.start)[ran]
    before = np.append(0, cumsum(length))  # may wrap around, but differences within a track do not
    row = rows_until((track, start), (points.track, points.time))  # spans that begin by then, or on earlier tracks
    last = np.maximum(row - 1, 0)
    inside = (row > 0) & (np.append(track, -1)[last] == points.track)
    left = np.where(inside, np.maximum(np.append(start + length, 0)[last] - points.time, 0), 0)
    covered = before[row] - left
    first = flatnonzero(begins_run(points.track))
    cpu_time: I64 = covered - of_previous(covered, 0)
    cpu_time[first] = covered[first] - before[searchsorted(track, points.track[first])]
    return cpu_time
