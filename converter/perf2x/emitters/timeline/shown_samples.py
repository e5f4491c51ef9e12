"""The stretches of time in which each sample's stack is drawn on its track: what all timelines have in common.

perf writes nothing while a thread sleeps. Showing each stack until the next sample would draw hours of work that never
happened. So a stack is drawn for the CPU time that its sample stands for, up to its moment:

- Where the thread's context switches were recorded, it ran from each switch in to the next switch out, and only then.
  The first stack of a run is drawn from the switch in, the last one to the switch out. A run that no sample fell into
  is drawn with the next stack, if its period reaches back so far.
- Elsewhere boxes of known lengths are placed before their moments (box_times.py). Where samples tell their CPUs, boxes
  of one CPU do not overlap either: another thread's sample ends a box, and no more threads run at once than CPUs
  (running_spans.py).
- A wait begins at its sample and lasts as long as it says. No box of its thread lies in it.

So per track the boxes sum to the periods of the clock event, or to samples × typical interval for other events. With
context switches they sum to the time between the switches, which is that to a period.

A sample of a clock event stands for its period: so much CPU time went by since the sample before. Other events happen
when they happen; all of them together stand for the typical interval between two. Where a clock is drawn, it alone
says how long a thread ran, and samples of other events are moments, which stand for no time. A wait is no CPU time: it
begins at its sample and lasts as long as its value says.
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
from perf2x.emitters.timeline.box_times import order_of
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
"""Steps of at most so many medians are those of a thread that runs on."""


class Durations(Frozen):
    """One row per wanted sample: ``time`` is 0 for moments; ``is_wait``: it lies ahead of the sample, not behind it."""

    time: I64
    is_wait: Bools


def durations_of(profile: Profile, wanted: I64, track: I64 | None = None) -> Durations:
    """Return the time that each wanted sample (rows, ascending) stands for.

    ``track`` (samples,) is each sample's, if it is known already: only what has no clock needs it.
    """
    samples, rows = profile.samples, slice(None) if len(wanted) == len(profile.samples) else wanted
    event, value = samples.event[rows], np.maximum(samples.value[rows], 0)
    is_wait = placed_waits(samples)[rows]
    ran = (samples.waits[rows] == Wait.RAN) & sampled(profile)[rows]
    clock = _clock(profile, flatnonzero(bincount(event[ran])).tolist())
    if clock is not None:
        return Durations(np.where(is_wait | (ran & (event == clock)), value, 0), is_wait)
    typical = typical_interval(profile, tracks_of(profile)[1] if track is None else track, wanted[ran])
    return Durations(np.where(is_wait, value, np.where(ran, typical, 0)), is_wait)


def _clock(profile: Profile, events: list[int]) -> int | None:
    """The event among some that keeps time: the default one, else the first one whose unit is time."""
    clocks = [row for row in events if profile.events[row].unit == "nanoseconds"]
    return profile.default_event if profile.default_event in clocks else next(iter(clocks), None)


def typical_interval(profile: Profile, track: I64, rows: I64) -> int:
    """Return the nanoseconds between two of these samples while their thread runs.

    The mean of all steps of a thread that are not much longer than the median: those that a sleep made longer do not
    count. Where it is far more than was asked for (``-F``), threads sleep between most samples: then it is that.
    """
    asked = sum(profile.events[row].frequency for row in unique(profile.samples.event[rows]).tolist())
    steps = _steps(profile, track, rows)
    busy = steps[steps <= _BUSY * np.median(steps)] if len(steps) else steps
    typical = busy.mean() if len(busy) else 0 if not asked else _LONGEST_GUESS_NS
    if asked and typical > _BUSY * 10**9 / asked:
        typical = 10**9 / asked
    return int(np.clip(typical, _SHORTEST_GUESS_NS, _LONGEST_GUESS_NS))


def _steps(profile: Profile, track: I64, rows: I64) -> I64:
    """Nanoseconds from each sample to the next one of its track."""
    order = rows[argsort_small(track[rows])]
    lane = track[order]
    steps: I64 = as_int64(np.diff(profile.samples.times[order])[lane[1:] == lane[:-1]])
    return steps


_REACH = 2
"""Periods before a sample that are drawn with its stack where switches say that its thread ran."""


class ShownSamples(ColumnTable):
    """One row per stretch of time, by track, then start. Times are nanoseconds since ``origin_of(profile)``.

    Rows of a track never overlap; ``joined`` says that row i ends where row i + 1 of the same track begins. A sample
    has several rows where its period began before a wait, and none where it is a moment.
    """

    track: AnyArray
    """Whole numbers, of 32 bits where that is enough, as there are millions of rows."""
    sample: AnyArray
    """Row in Profile.samples, likewise."""
    start: I64
    end: I64
    joined: Bools


def thread_runs(profile: Profile) -> RunningSpans:
    """When the threads of all tracks (``tracks_of``) had a CPU, as context switches say; empty without them."""
    samples = profile.samples
    if not profile.switches:
        return no_rows(RunningSpans)
    everything, track = arange(len(samples)), tracks_of(profile)[1]
    origin = origin_of(profile)
    boxes = _boxes(track, everything, since(samples.times, origin), durations_of(profile, everything, track))
    return runs_of(profile, origin, boxes)


def origin_of(profile: Profile, standing: Durations | None = None) -> int:
    """The time (ns on the recording's clock) that is 0 on every timeline: where the first box or run may begin.

    ``standing`` are the durations of all samples, if they are known.
    """
    time = profile.samples.time
    if time is None or not len(time):
        return 0
    standing = durations_of(profile, arange(len(time))) if standing is None else standing
    length = np.where(standing.is_wait, 0, standing.time)
    latest = np.uint64(min(int(time[0]) + int(length.max()), (1 << 64) - 1))
    early = slice(int(searchsorted(time, latest, "right")))  # no later one begins before the first
    length, time = as_uint64(length[early]), time[early]
    earlier = int((length - np.minimum(length, time)).max())  # by so much the first box begins before the clock's zero
    first = -earlier if earlier else int((time - np.minimum(length, time)).min())
    switches = profile.switches
    return min(first, int(switches.time[0])) if switches else first


def shown_samples(profile: Profile, track: AnyArray, wanted: AnyArray) -> ShownSamples:
    """Return when each wanted sample (rows, ascending) is drawn; ``track`` (samples,) is the one of its thread."""
    if profile.samples.time is None or not len(wanted):
        return no_rows(ShownSamples)
    standing = durations_of(profile, wanted, track)
    origin = origin_of(profile, standing if len(wanted) == len(profile.samples) else None)
    time, waits = since(profile.samples.time, origin), wanted[standing.is_wait]
    boxes = _boxes(track, wanted, time, standing)
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
    """Return the rows in whole ticks of so many nanoseconds; those that are shorter vanish."""
    start, end = ((time + tick // 2) // tick for time in (shown.start, shown.end))
    kept = end > start
    rows = slice(None) if kept.all() else kept
    return _joined(shown.track[rows], shown.sample[rows], start[rows], end[rows])


def on_cpus(profile: Profile, shown: ShownSamples) -> ShownSamples:
    """Return what ran on each CPU that is known, on the tracks of ``cpu_tracks_of``; waits lie on none."""
    samples = profile.samples
    cpu = as_int64(samples.cpus[shown.sample])
    known = flatnonzero((cpu >= 0) & (samples.waits[shown.sample] == Wait.RAN))
    track = searchsorted(cpu_tracks_of(profile).cpu, cpu[known])
    return _in_order([(shown.sample[known], Spans(track, shown.start[known], shown.end[known]))])


def _boxes(track: AnyArray, wanted: AnyArray, time: I64, standing: Durations) -> Boxes:
    is_held = (standing.time > 0) & ~standing.is_wait
    rows, length = (wanted, standing.time) if is_held.all() else (wanted[is_held], standing.time[is_held])
    order = argsort_small(track if len(rows) == len(track) else track[rows])
    rows, length = rows[order], length[order]
    return Boxes(narrow(track[rows]), narrow(rows), time[rows], np.minimum(length, FAR, out=length))


def _giving_way(waiting: Spans, boxes: Boxes) -> Spans:
    """Let waits that end at the very moment of a sample of their thread end a period earlier.

    Nobody saw such a thread come back: its own sample is the first sign of it, and says that it ran until then.
    """
    if not len(waiting):
        return waiting
    row = last_until((boxes.track, boxes.moment), (waiting.track, waiting.end))
    guessed = (row >= 0) & (np.append(boxes.moment, -1)[row] == waiting.end)
    period = np.where(guessed, np.append(boxes.length, 0)[row], 0)
    return replace(waiting, end=np.maximum(waiting.end - period, waiting.start))


def _in_runs(boxes: Boxes, idle: Spans) -> tuple[AnyArray, Spans]:
    """Return the pieces of boxes whose threads' runs are known: each run, all that is not idle, is drawn whole.

    ::

        runs       |-----------|      |--|     |----------|
        samples       A    B                      C   D
        boxes       AAABBBBBBBBB       CC       CCCCDDDDDDD

    Runs behind a thread's last sample have its stack for at most a period.
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
    """Return rows of all parts by track and start; one ends where the next begins.

    Takes the parts out of the list: there is not room for all rows twice.
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
    if not some.all():  # nothing ends where an empty one begins
        track, sample, start, end = track[some], sample[some], start[some], end[some]
    end = until_next(track, start, end)
    some = end > start
    if some.all():
        return _joined(track, sample, start, end)
    return _joined(track[some], sample[some], start[some], end[some])


def _put_together(column: list[AnyArray]) -> AnyArray:
    """Return the arrays of a list, which is empty afterwards, one behind the other."""
    whole = np.concatenate(column) if len(column) > 1 else column[0]
    column.clear()
    return whole


def _joined(track: AnyArray, sample: AnyArray, start: I64, end: I64) -> ShownSamples:
    joined = falses(len(track))
    joined[:-1] = (track[1:] == track[:-1]) & (start[1:] == end[:-1])
    return ShownSamples(track, sample, start, end, joined)
