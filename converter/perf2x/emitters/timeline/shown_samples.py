"""The time spans in which each sample's stack is drawn on its track; all timelines share them.

perf records nothing while a thread sleeps. So a stack is drawn for the CPU time that its sample stands for, up to the
sample's time: the *box* of the sample.

- If a drawn event is a clock, its samples stand for their periods, and those of all other events have no duration.
  Otherwise each sample stands for the typical interval between two samples.
- With recorded context switches, the first stack of a *run* is drawn from the switch-in, the last one to the
  switch-out. A run without a sample is drawn with the next stack. No stack is drawn more than two periods of running
  time before its sample, nor a thread's last stack more than one period after its sample.
- Without recorded context switches, boxes end at their samples, and are moved to earlier times where they would overlap
  (box_layout.py, running_spans.py).
- A wait begins at its sample and lasts for its value. No box of its thread overlaps it.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    AnyArray,
    Bools,
    ColumnTable,
    Frozen,
    arange,
    argsort_small,
    as_int64,
    as_uint64,
    bincount,
    ends_run,
    falses,
    flatnonzero,
    narrow,
    no_rows,
    of_previous,
    searchsorted,
    take_rows_of,
    unique,
)
from perf2x.emitters.timeline.box_layout import order_unless_sorted
from perf2x.emitters.timeline.running_spans import Boxes, RunningSpans, place_without_switches, runs_of
from perf2x.emitters.timeline.running_time import (
    FAR,
    RunningTime,
    Spans,
    complement_of,
    ends_cut_at_next,
    last_row_until,
    since,
    union_of,
)
from perf2x.emitters.timeline.tracks import cpu_tracks_of, tracks_of
from perf2x.model.profile import Profile, Wait, are_placed_waits, are_samples

# limits of the typical interval
_MAX_TYPICAL_NS = 10_000_000
_MIN_TYPICAL_NS = 1000
_BUSY_RATIO = 1.5
"""A thread is taken to run from one sample to the next if they are at most this many times the median step apart."""


class Durations(Frozen):
    """Length of each sample's drawing, and whether it begins or ends at the sample's time."""

    length: I64
    """Nanoseconds; 0 for a sample that is drawn as an instant."""
    is_wait: Bools
    """Whether the sample is drawn from its time on, as a wait is, not up to it."""


def durations_of(profile: Profile, drawn_samples: I64, sample_tracks: I64 | None = None) -> Durations:
    """Return (drawn samples,) the time for which each of them stands.

    ``drawn_samples`` are rows of Profile.samples, ascending. ``sample_tracks`` (samples,) are found if None.
    """
    samples, rows = profile.samples, slice(None) if len(drawn_samples) == len(profile.samples) else drawn_samples
    event, value = samples.event[rows], np.maximum(samples.value[rows], 0)
    is_wait = are_placed_waits(samples)[rows]
    ran = (samples.waits[rows] == Wait.RAN) & are_samples(profile)[rows]
    clock = _clock(profile, flatnonzero(bincount(event[ran])).tolist())
    if clock is not None:
        return Durations(np.where(is_wait | (ran & (event == clock)), value, 0), is_wait)
    typical = typical_interval(
        profile, tracks_of(profile)[1] if sample_tracks is None else sample_tracks, drawn_samples[ran]
    )
    return Durations(np.where(is_wait, value, np.where(ran, typical, 0)), is_wait)


def _clock(profile: Profile, events: list[int]) -> int | None:
    clocks = [row for row in events if profile.events[row].unit == "nanoseconds"]
    return profile.default_event if profile.default_event in clocks else next(iter(clocks), None)


def typical_interval(profile: Profile, sample_tracks: I64, rows: I64) -> int:
    """Return the nanoseconds from one of these samples to the next while their thread runs.

    It is the mean step on a track, without steps much longer than the median. If the mean is far above the requested
    interval (``-F``), threads sleep between most samples, and it is the requested interval.
    """
    frequency = sum(profile.events[row].frequency for row in unique(profile.samples.event[rows]).tolist())
    steps = _steps(profile, sample_tracks, rows)
    busy_steps = steps[steps <= _BUSY_RATIO * np.median(steps)] if len(steps) else steps
    typical = busy_steps.mean() if len(busy_steps) else 0 if not frequency else _MAX_TYPICAL_NS
    if frequency and typical > _BUSY_RATIO * 10**9 / frequency:
        typical = 10**9 / frequency
    return int(np.clip(typical, _MIN_TYPICAL_NS, _MAX_TYPICAL_NS))


def _steps(profile: Profile, sample_tracks: I64, rows: I64) -> I64:
    order = rows[argsort_small(sample_tracks[rows])]
    track = sample_tracks[order]
    steps: I64 = as_int64(np.diff(profile.samples.times[order])[track[1:] == track[:-1]])
    return steps


_MAX_PERIODS = 2
"""At most this many periods of running time before a sample are drawn with its stack, if switches are recorded."""


class ShownSamples(ColumnTable):
    """The time spans in which samples are drawn, by track, then start; spans of a track never overlap.

    A sample has several rows if a wait or a time off CPU divides its box. Times are nanoseconds since
    ``origin_of(profile)``, or ticks (``in_ticks``).
    """

    track: AnyArray
    """Row of Tracks; int32 if that suffices, because there are millions of rows."""
    sample: AnyArray
    """Row in Profile.samples; int32 if that suffices."""
    start: I64
    end: I64
    meets_next: Bools
    """Whether row i ends where row i + 1 of the same track begins."""


def thread_runs(profile: Profile) -> RunningSpans:
    """Return when the threads of all tracks were on CPU; empty without context switches."""
    samples = profile.samples
    if not profile.switches:
        return no_rows(RunningSpans)
    all_samples, sample_tracks = arange(len(samples)), tracks_of(profile)[1]
    origin = origin_of(profile)
    durations = durations_of(profile, all_samples, sample_tracks)
    return runs_of(profile, origin, _boxes(sample_tracks, all_samples, since(samples.times, origin), durations))


def origin_of(profile: Profile, durations: Durations | None = None) -> int:
    """Return time 0 of every timeline (ns on the recording's clock): the start of the first box or run.

    It may be negative. ``durations`` are those of all samples, None to compute them.
    """
    time = profile.samples.time
    if time is None or not len(time):
        return 0
    durations = durations_of(profile, arange(len(time))) if durations is None else durations
    length = np.where(durations.is_wait, 0, durations.length)
    # boxes of later samples begin after the first sample
    latest = np.uint64(min(int(time[0]) + int(length.max()), (1 << 64) - 1))
    early = slice(int(searchsorted(time, latest, "right")))
    length, time = as_uint64(length[early]), time[early]
    # times are unsigned, so a start before the clock's zero is found as a distance from zero
    before_zero = int((length - np.minimum(length, time)).max())
    first = -before_zero if before_zero else int((time - np.minimum(length, time)).min())
    switches = profile.switches
    return min(first, int(switches.time[0])) if switches else first


def shown_samples(profile: Profile, sample_tracks: AnyArray, drawn_samples: AnyArray) -> ShownSamples:
    """Return the time spans in which ``drawn_samples`` (rows of Profile.samples, ascending) are drawn.

    ``sample_tracks`` (samples,) are those of all samples.
    """
    if profile.samples.time is None or not len(drawn_samples):
        return no_rows(ShownSamples)
    durations = durations_of(profile, drawn_samples, sample_tracks)
    origin = origin_of(profile, durations if len(drawn_samples) == len(profile.samples) else None)
    time, waits = since(profile.samples.time, origin), drawn_samples[durations.is_wait]
    boxes = _boxes(sample_tracks, drawn_samples, time, durations)
    wait_length = np.minimum(durations.length[durations.is_wait], FAR)
    waiting = Spans(sample_tracks[waits], time[waits], time[waits] + wait_length)
    del durations, time
    waiting, runs = _shortened_waits(waiting, boxes), runs_of(profile, origin, boxes)
    parts = []
    if len(runs):
        has_runs = np.isin(boxes.track, runs.track)
        holes = union_of(complement_of(runs.spans()), take_rows_of(waiting, np.isin(waiting.track, runs.track)))
        parts.append(_in_runs(take_rows_of(boxes, has_runs), holes))
        boxes = take_rows_of(boxes, ~has_runs)
    parts.append((waits, waiting))
    parts.append(place_without_switches(profile, boxes, waiting, runs))
    del boxes
    return _merged(parts)


def in_ticks(shown: ShownSamples, tick: int) -> ShownSamples:
    """Convert times to whole ticks of ``tick`` nanoseconds; rows that then last no tick are dropped."""
    start, end = ((time + tick // 2) // tick for time in (shown.start, shown.end))
    not_empty = end > start
    rows = slice(None) if not_empty.all() else not_empty
    return _shown(shown.track[rows], shown.sample[rows], start[rows], end[rows])


def on_cpus(profile: Profile, shown: ShownSamples) -> ShownSamples:
    """Return the samples on known CPUs, on the tracks of ``cpu_tracks_of``, without waits."""
    samples = profile.samples
    cpu = as_int64(samples.cpus[shown.sample])
    on_cpu = flatnonzero((cpu >= 0) & (samples.waits[shown.sample] == Wait.RAN))
    track = searchsorted(cpu_tracks_of(profile).cpu, cpu[on_cpu])
    return _merged([(shown.sample[on_cpu], Spans(track, shown.start[on_cpu], shown.end[on_cpu]))])


def _boxes(sample_tracks: AnyArray, drawn_samples: AnyArray, time: I64, durations: Durations) -> Boxes:
    """``sample_tracks`` and ``time`` are those of all samples, ``drawn_samples`` and ``durations`` those to draw."""
    has_box = (durations.length > 0) & ~durations.is_wait
    rows, length = (
        (drawn_samples, durations.length) if has_box.all() else (drawn_samples[has_box], durations.length[has_box])
    )
    order = argsort_small(sample_tracks if len(rows) == len(sample_tracks) else sample_tracks[rows])
    rows, length = rows[order], length[order]
    return Boxes(narrow(sample_tracks[rows]), narrow(rows), time[rows], np.minimum(length, FAR, out=length))


def _shortened_waits(waiting: Spans, boxes: Boxes) -> Spans:
    """Shorten waits that end exactly at a sample of their thread by the length of its box.

    No record shows when the thread resumed, and its own sample stands for the period before it.
    """
    if not len(waiting):
        return waiting
    row = last_row_until((boxes.track, boxes.time), (waiting.track, waiting.end))
    ends_at_sample = (row >= 0) & (np.append(boxes.time, -1)[row] == waiting.end)
    box_length = np.where(ends_at_sample, np.append(boxes.length, 0)[row], 0)
    return replace(waiting, end=np.maximum(waiting.end - box_length, waiting.start))


def _in_runs(boxes: Boxes, holes: Spans) -> tuple[AnyArray, Spans]:
    """Fill each run with the stacks of its thread's samples; threads ran between ``holes``, and only then. ::

        runs       |-----------|      |--|     |----------|
        samples       A    B                      C   D
        boxes       AAABBBBBBBB        CC       CCCDDDDDDD

    Returns the sample of each piece of a box, and the pieces.
    """
    # all times below are running time, in which a hole has no length
    clock = RunningTime.without(holes)
    track, time = boxes.track, clock.from_wall(boxes.track, boxes.time)
    run, run_end = clock.run_at(track, boxes.time)
    is_last = ends_run(track)
    # the last box of a run extends to the end of the run, a thread's last one beyond it
    max_end = np.where(is_last, clock.last_run_end(track), run_end)
    end = np.where(ends_run(track, run), np.minimum(max_end, time + boxes.length), time)
    end_before = of_previous(np.where(is_last, 0, end), 0)
    start = np.maximum(end_before, time - np.minimum(_MAX_PERIODS * boxes.length, time))
    box_of_piece, pieces = clock.to_wall(track, start, end)
    return boxes.sample[box_of_piece], pieces


def _merged(parts: list[tuple[AnyArray, Spans]]) -> ShownSamples:
    """Merge samples and their time spans by track and start; cut spans where the next one begins.

    The list is emptied, because a second copy of all rows takes too much memory.
    """
    filled = [part for part in parts if len(part[0])] or parts[:1]
    parts.clear()
    columns = [[samples for samples, _ in filled]]
    columns += [[getattr(spans, name) for _, spans in filled] for name in Spans.__struct_fields__]
    filled.clear()
    sample, track, start, end = (_concatenated(column) for column in columns)
    order = order_unless_sorted(track, start)
    if order is not None:
        track, sample, start, end = track[order], sample[order], start[order], end[order]
    has_length = end > start
    if not has_length.all():  # an empty row must not cut the one before
        track, sample, start, end = track[has_length], sample[has_length], start[has_length], end[has_length]
    end = ends_cut_at_next(track, start, end)
    has_length = end > start
    if has_length.all():
        return _shown(track, sample, start, end)
    return _shown(track[has_length], sample[has_length], start[has_length], end[has_length])


def _concatenated(column: list[AnyArray]) -> AnyArray:
    array = np.concatenate(column) if len(column) > 1 else column[0]
    column.clear()
    return array


def _shown(track: AnyArray, sample: AnyArray, start: I64, end: I64) -> ShownSamples:
    meets_next = falses(len(track))
    meets_next[:-1] = (track[1:] == track[:-1]) & (start[1:] == end[:-1])
    return ShownSamples(track, sample, start, end, meets_next)
