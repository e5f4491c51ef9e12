"""The time spans in which each sample's stack is drawn on its track; all timelines share them.

perf records nothing while a thread sleeps. Showing each stack until the next sample would draw hours of work that never
happened. So a stack is drawn for the CPU time that its sample stands for, up to the sample's time:

- If the thread's context switches were recorded, it ran from each switch in to the next switch out, and only then. The
  first stack of a run is drawn from the switch in, the last one to the switch out. A run without a sample is drawn with
  the next stack if the period of its sample reaches back to the run.
- Otherwise boxes of known lengths are placed before their samples (box_layout.py). If samples have CPUs, boxes of one
  CPU do not overlap either: another thread's sample ends a box, and at most as many threads run at the same time as
  there are CPUs (running_spans.py).
- A wait begins at its sample and lasts for its value. No box of its thread overlaps it.

So per track the boxes sum to the periods of the clock event, or to samples × typical interval for other events. With
context switches they sum to the time between the switches, which is the same to within a period.

A sample of a clock event stands for its period: the CPU time since the sample before. All other events together stand
for the typical interval between two samples. If a clock is drawn, it alone determines how long a thread ran, and
samples of other events have no duration.
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
from perf2x.emitters.timeline.box_layout import order_of
from perf2x.emitters.timeline.running_spans import Boxes, RunningSpans, pieces_without_switches, runs_of
from perf2x.emitters.timeline.running_time import (
    FAR,
    RunningTime,
    Spans,
    gaps_between,
    last_until,
    since,
    union_of,
    until_next,
)
from perf2x.emitters.timeline.tracks import cpu_tracks_of, tracks_of
from perf2x.model.profile import Profile, Wait, placed_waits, sampled

_LONGEST_GUESS_NS = 10_000_000
_SHORTEST_GUESS_NS = 1000
_BUSY = 1.5
"""A thread keeps running between two samples if they are at most this many times the median step apart."""


class Durations(Frozen):
    """The length of each sample to draw, in nanoseconds; 0 for a sample that is drawn as an instant.

    ``is_wait``: the time begins at the sample; otherwise it ends there.
    """

    time: I64
    is_wait: Bools


def durations_of(profile: Profile, shown: I64, track: I64 | None = None) -> Durations:
    """Return the time that each of the ``shown`` samples (rows, ascending) stands for.

    ``track`` (samples,) are the tracks of all samples, if already known; they matter only if no shown event is a clock.
    """
    samples, rows = profile.samples, slice(None) if len(shown) == len(profile.samples) else shown
    event, value = samples.event[rows], np.maximum(samples.value[rows], 0)
    is_wait = placed_waits(samples)[rows]
    ran = (samples.waits[rows] == Wait.RAN) & sampled(profile)[rows]
    clock = _clock(profile, flatnonzero(bincount(event[ran])).tolist())
    if clock is not None:
        return Durations(np.where(is_wait | (ran & (event == clock)), value, 0), is_wait)
    typical = typical_interval(profile, tracks_of(profile)[1] if track is None else track, shown[ran])
    return Durations(np.where(is_wait, value, np.where(ran, typical, 0)), is_wait)


def _clock(profile: Profile, events: list[int]) -> int | None:
    """Return the clock among some events: the default event if it is one, or else the first whose unit is time.

    Returns None without one.
    """
    clocks = [row for row in events if profile.events[row].unit == "nanoseconds"]
    return profile.default_event if profile.default_event in clocks else next(iter(clocks), None)


def typical_interval(profile: Profile, track: I64, rows: I64) -> int:
    """Return the nanoseconds between two of these samples while their thread runs.

    It is the mean of all steps between a thread's samples that are not much longer than the median, so that sleeps do
    not count. If it is far longer than the requested interval (``-F``), threads sleep between most samples, and the
    requested interval is returned.
    """
    frequency = sum(profile.events[row].frequency for row in unique(profile.samples.event[rows]).tolist())
    steps = _steps(profile, track, rows)
    busy = steps[steps <= _BUSY * np.median(steps)] if len(steps) else steps
    typical = busy.mean() if len(busy) else 0 if not frequency else _LONGEST_GUESS_NS
    if frequency and typical > _BUSY * 10**9 / frequency:
        typical = 10**9 / frequency
    return int(np.clip(typical, _SHORTEST_GUESS_NS, _LONGEST_GUESS_NS))


def _steps(profile: Profile, track: I64, rows: I64) -> I64:
    """Return the nanoseconds from each sample to the next one of its track."""
    order = rows[argsort_small(track[rows])]
    lane = track[order]
    steps: I64 = as_int64(np.diff(profile.samples.times[order])[lane[1:] == lane[:-1]])
    return steps


_REACH = 2
"""Number of periods before a sample that are drawn with its stack if switches show that its thread ran."""


class ShownSamples(ColumnTable):
    """One row per time span, by track, then start. Times are nanoseconds since ``origin_of(profile)``.

    Rows of a track never overlap; ``joined``: row i ends where row i + 1 of the same track begins. A sample has several
    rows if its period began before a wait, and none if it has no duration.
    """

    track: AnyArray
    """Whole numbers, of 32 bits if that suffices, because there are millions of rows."""
    sample: AnyArray
    """Row in Profile.samples, also of 32 bits if that suffices."""
    start: I64
    end: I64
    joined: Bools


def thread_runs(profile: Profile) -> RunningSpans:
    """Return when the threads of all tracks (``tracks_of``) were on CPU, by context switches; empty without them."""
    samples = profile.samples
    if not profile.switches:
        return no_rows(RunningSpans)
    everything, track = arange(len(samples)), tracks_of(profile)[1]
    origin = origin_of(profile)
    boxes = _boxes(track, everything, since(samples.times, origin), durations_of(profile, everything, track))
    return runs_of(profile, origin, boxes)


def origin_of(profile: Profile, standing: Durations | None = None) -> int:
    """Return time 0 of every timeline (ns on the recording's clock): the start of the first box or run.

    ``standing`` are the durations of all samples, if already known.
    """
    time = profile.samples.time
    if time is None or not len(time):
        return 0
    standing = durations_of(profile, arange(len(time))) if standing is None else standing
    length = np.where(standing.is_wait, 0, standing.time)
    latest = np.uint64(min(int(time[0]) + int(length.max()), (1 << 64) - 1))
    early = slice(int(searchsorted(time, latest, "right")))  # no later box begins before the first
    length, time = as_uint64(length[early]), time[early]
    earlier = int((length - np.minimum(length, time)).max())  # the first box begins this long before the clock's zero
    first = -earlier if earlier else int((time - np.minimum(length, time)).min())
    switches = profile.switches
    return min(first, int(switches.time[0])) if switches else first


def shown_samples(profile: Profile, track: AnyArray, sample: AnyArray) -> ShownSamples:
    """Return the time spans in which the samples of the rows ``sample`` (ascending) are drawn.

    ``track`` is the track of every sample of the profile.
    """
    if profile.samples.time is None or not len(sample):
        return no_rows(ShownSamples)
    standing = durations_of(profile, sample, track)
    origin = origin_of(profile, standing if len(sample) == len(profile.samples) else None)
    time, waits = since(profile.samples.time, origin), sample[standing.is_wait]
    boxes = _boxes(track, sample, time, standing)
    waiting = Spans(track[waits], time[waits], time[waits] + np.minimum(standing.time[standing.is_wait], FAR))
    del standing, time
    waiting, runs = _giving_way(waiting, boxes), runs_of(profile, origin, boxes)
    parts = []
    if len(runs):
        watched = np.isin(boxes.track, runs.track)
        idle = union_of(gaps_between(runs.spans()), take_rows_of(waiting, np.isin(waiting.track, runs.track)))
        parts.append(_in_runs(take_rows_of(boxes, watched), idle))
        boxes = take_rows_of(boxes, ~watched)
    parts.append((waits, waiting))
    parts.append(pieces_without_switches(profile, boxes, waiting, runs))
    del boxes
    return _in_order(parts)


def in_ticks(shown: ShownSamples, tick: int) -> ShownSamples:
    """Round the rows to whole ticks of ``tick`` nanoseconds; rows that then last no tick are dropped."""
    start, end = ((time + tick // 2) // tick for time in (shown.start, shown.end))
    kept = end > start
    rows = slice(None) if kept.all() else kept
    return _joined(shown.track[rows], shown.sample[rows], start[rows], end[rows])


def on_cpus(profile: Profile, shown: ShownSamples) -> ShownSamples:
    """Return what ran on each known CPU, on the tracks of ``cpu_tracks_of``; waits are left out."""
    samples = profile.samples
    cpu = as_int64(samples.cpus[shown.sample])
    known = flatnonzero((cpu >= 0) & (samples.waits[shown.sample] == Wait.RAN))
    track = searchsorted(cpu_tracks_of(profile).cpu, cpu[known])
    return _in_order([(shown.sample[known], Spans(track, shown.start[known], shown.end[known]))])


def _boxes(track: AnyArray, sample: AnyArray, time: I64, standing: Durations) -> Boxes:
    is_held = (standing.time > 0) & ~standing.is_wait
    rows, length = (sample, standing.time) if is_held.all() else (sample[is_held], standing.time[is_held])
    order = argsort_small(track if len(rows) == len(track) else track[rows])
    rows, length = rows[order], length[order]
    return Boxes(narrow(track[rows]), narrow(rows), time[rows], np.minimum(length, FAR, out=length))


def _giving_way(waiting: Spans, boxes: Boxes) -> Spans:
    """Shorten by a period those waits that end exactly at a sample of their thread.

    No record shows when the thread resumed: its own sample is the first sign, and stands for the period before it.
    """
    if not len(waiting):
        return waiting
    row = last_until((boxes.track, boxes.moment), (waiting.track, waiting.end))
    guessed = (row >= 0) & (np.append(boxes.moment, -1)[row] == waiting.end)
    period = np.where(guessed, np.append(boxes.length, 0)[row], 0)
    return replace(waiting, end=np.maximum(waiting.end - period, waiting.start))


def _in_runs(boxes: Boxes, idle: Spans) -> tuple[AnyArray, Spans]:
    """Fill each run with the stacks of its thread's samples, for threads whose runs are known: all time not ``idle``.

    ::

        runs       |-----------|      |--|     |----------|
        samples       A    B                      C   D
        boxes       AAABBBBBBBBB       CC       CCCCDDDDDDD

    Runs after a thread's last sample show its stack for at most a period.
    """
    clock = RunningTime.without(idle)
    lane, ran = boxes.track, clock.of(boxes.track, boxes.moment)
    run, run_end = clock.stretch(lane, boxes.moment)
    is_last = ends_run(lane)
    limit = np.where(is_last, clock.last(lane), run_end)
    end = np.where(ends_run(lane, run), np.minimum(limit, ran + boxes.length), ran)
    before = of_previous(np.where(is_last, 0, end), 0)
    start = np.maximum(before, ran - np.minimum(_REACH * boxes.length, ran))
    owner, pieces = clock.pieces(lane, start, end)
    return boxes.sample[owner], pieces


def _in_order(parts: list[tuple[AnyArray, Spans]]) -> ShownSamples:
    """Merge the rows of all parts by track and start; a row that reaches into the next one is cut where that begins.

    Empties the list of parts, because a second copy of all rows takes too much memory.
    """
    filled = [part for part in parts if len(part[0])] or parts[:1]
    parts.clear()
    columns = [[rows for rows, _ in filled]]
    columns += [[getattr(spans, name) for _, spans in filled] for name in Spans.__struct_fields__]
    filled.clear()
    sample, track, start, end = (_put_together(column) for column in columns)
    order = order_of(track, start)
    if order is not None:
        track, sample, start, end = track[order], sample[order], start[order], end[order]
    some = end > start
    if not some.all():  # an empty row must not cut the one before
        track, sample, start, end = track[some], sample[some], start[some], end[some]
    end = until_next(track, start, end)
    some = end > start
    if some.all():
        return _joined(track, sample, start, end)
    return _joined(track[some], sample[some], start[some], end[some])


def _put_together(column: list[AnyArray]) -> AnyArray:
    """Concatenate the arrays of a list, which is emptied."""
    whole = np.concatenate(column) if len(column) > 1 else column[0]
    column.clear()
    return whole


def _joined(track: AnyArray, sample: AnyArray, start: I64, end: I64) -> ShownSamples:
    joined = falses(len(track))
    joined[:-1] = (track[1:] == track[:-1]) & (start[1:] == end[:-1])
    return ShownSamples(track, sample, start, end, joined)
