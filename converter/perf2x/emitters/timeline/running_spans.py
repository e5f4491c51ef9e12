"""Computes when threads ran, from context switches and, without them, from samples.

The *box* of a sample is the time span before it for which the sample stands (box_layout.py). A *run* is the time from a
thread's switch-in to its next switch-out. If one is missing, the run begins with the box of its first sample, or ends
at its last sample. A wait divides a box into *pieces*.
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
    argsort_rows,
    as_int64,
    begins_run,
    ends_run,
    flatnonzero,
    narrow,
    no_rows,
    of_next,
    searchsorted,
    take_rows_of,
)
from perf2x.emitters.timeline.box_layout import BoxLanes, earlier_ends, place_boxes
from perf2x.emitters.timeline.running_time import (
    FAR,
    RunningTime,
    Spans,
    count_rows_until,
    disjoint_spans,
    ends_cut_at_next,
    last_row_until,
    since,
)
from perf2x.emitters.timeline.tracks import switch_tracks
from perf2x.model.profile import Profile


class RunningSpans(ColumnTable):
    """Runs of threads, by track, then start, in nanoseconds since the timeline's origin."""

    track: I64
    start: I64
    end: I64
    cpu: I64
    """The CPU recorded with the switch, −1 if unknown."""
    is_preempted: Bools
    """True if the thread was still runnable when it left the CPU."""

    def spans(self) -> Spans:
        """Return the columns track, start and end only."""
        return Spans(self.track, self.start, self.end)


class Boxes(Frozen):
    """The boxes of samples before they are placed, by track, then time."""

    track: AnyArray
    """int32 if that suffices, like the next column."""
    sample: AnyArray
    """Row of Profile.samples."""
    time: I64
    """Time of the sample, in nanoseconds since the timeline's origin; the box must not end later."""
    length: I64
    """Nanoseconds for which the sample stands."""


def runs_of(profile: Profile, origin: int, boxes: Boxes) -> RunningSpans:
    """Return the runs of all tracks that have recorded switches.

    ``boxes`` bound the runs whose start or end was not recorded. ``origin`` is time 0 of the timeline.
    """
    switches = profile.switches
    if not switches:
        return no_rows(RunningSpans)
    track, time = switch_tracks(profile, switches), since(switches.time, origin)
    on_track = flatnonzero(track >= 0)
    order = on_track[argsort_rows([track[on_track], time[on_track], on_track])]
    track, time, is_out = track[order], time[order], switches.is_out[order]
    makes_run, start, end = _run_bounds(track, time, is_out, boxes)
    is_preempted = switches.is_preempted[order]
    ends_at_next = of_next(is_out, False) & ~ends_run(track)
    is_preempted = np.where(is_out, is_preempted, of_next(is_preempted, False) & ends_at_next)
    runs = RunningSpans(track, start, end, as_int64(switches.cpu[order]), is_preempted)
    is_guess = is_out | ~ends_at_next
    return _sorted_runs(_cut_guesses(take_rows_of(runs, makes_run), is_guess[makes_run], is_out[makes_run]))


def _cut_guesses(runs: RunningSpans, is_guess: Bools, is_out: Bools) -> RunningSpans:
    """Cut runs with a guessed start or end where other runs on the CPU overlap.

    ``is_guess`` (runs,): the start is a guess where ``is_out`` (a switch-out made the run), otherwise the end.
    """
    order = argsort_rows([runs.cpu, runs.end, runs.start])
    end_before = earlier_ends(runs.end, BoxLanes.in_order(order, runs.cpu))
    cut_start, cut_end = is_guess & is_out & (runs.cpu >= 0), is_guess & ~is_out & (runs.cpu >= 0)
    start = np.where(cut_start, np.minimum(np.maximum(runs.start, end_before), runs.end), runs.start)
    order = argsort_rows([runs.cpu, start])
    next_start = np.full(len(order), FAR, np.int64)
    next_start[order] = np.where(ends_run(runs.cpu[order]), FAR, of_next(start[order], FAR))
    return replace(runs, start=start, end=np.where(cut_end, np.minimum(runs.end, next_start), runs.end))


def _sorted_runs(runs: RunningSpans) -> RunningSpans:
    runs = take_rows_of(runs, argsort_rows([runs.track, runs.start, runs.end]))
    # each run is cut where the track's next one begins
    end = ends_cut_at_next(runs.track, runs.start, runs.end)
    return take_rows_of(replace(runs, end=end), end > runs.start)


def _run_bounds(track: I64, time: I64, is_out: Bools, boxes: Boxes) -> tuple[Bools, I64, I64]:
    """Return (switches,) whether each switch makes a run, and the run's start and end.

    Every switch-in makes a run; so does a switch-out that no switch-in precedes.
    """
    is_first, is_last = begins_run(track), ends_run(track)
    # at the first and last switch of a track, these are times of other tracks
    time_before, time_after = np.roll(time, 1), np.roll(time, -1)
    lacks_in = is_out & (is_first | np.roll(is_out, 1))
    lacks_out = ~is_out & (is_last | ~np.roll(is_out, -1))
    start, end = time.copy(), time_after
    end[lacks_out] = _last_sample_times(
        boxes, track[lacks_out], np.where(is_last, FAR, time_after)[lacks_out], time[lacks_out]
    )
    end[lacks_in] = time[lacks_in]
    start[lacks_in] = _first_box_starts(
        boxes, track[lacks_in], np.where(is_first, 0, time_before)[lacks_in], time[lacks_in]
    )
    return ~is_out | lacks_in, start, end


def _last_sample_times(boxes: Boxes, track: I64, until: I64, switch_in: I64) -> I64:
    row = last_row_until((boxes.track, boxes.time), (track, until))
    return np.where(row >= 0, np.maximum(np.append(boxes.time, 0)[row], switch_in), switch_in)


def _first_box_starts(boxes: Boxes, track: I64, after: I64, switch_out: I64) -> I64:
    """Without a sample until ``switch_out``, the start is ``switch_out``."""
    row = count_rows_until((boxes.track, boxes.time), (track, after))
    time = np.append(boxes.time, FAR)[row]
    is_in_run = (np.append(boxes.track, -1)[row] == track) & (time <= switch_out)
    start = np.maximum(time - np.append(boxes.length, 0)[row], after)
    return np.where(is_in_run, start, switch_out)


_MAX_LENGTH_RATIO = 1.05
"""Ratio of the longest box to the shortest up to which boxes may be distributed over CPUs."""


def place_without_switches(
    profile: Profile, boxes: Boxes, waiting: Spans, runs: RunningSpans
) -> tuple[AnyArray, Spans]:
    """Place boxes of threads without recorded switches around their waits (``waiting``) and other threads' runs.

    Returns the sample of each piece of a box, and the pieces. Boxes of similar lengths without CPUs are distributed
    over all CPUs if more threads than CPUs would run.
    """
    holes = disjoint_spans(waiting.track, waiting.start, waiting.end)
    cpu = _box_cpus(profile, boxes, runs)
    box_of_piece, pieces = _place_around_holes(boxes, holes, cpu, runs)
    lengths_are_similar = not len(boxes.length) or boxes.length.max() <= _MAX_LENGTH_RATIO * boxes.length.min()
    if cpu is None and lengths_are_similar and 0 < profile.meta.cpus < max_overlap(pieces):
        del box_of_piece, pieces  # here and below: a second copy of all boxes takes too much memory
        box_of_piece, pieces = _place_around_holes(boxes, holes, _cpus_in_turn(boxes, profile.meta.cpus), runs)
    return boxes.sample[box_of_piece], pieces


def _cpus_in_turn(boxes: Boxes, cpus: int) -> AnyArray:
    cpu = np.empty(len(boxes.track), np.int32)
    cpu[argsort_rows([boxes.time, boxes.track])] = np.arange(len(cpu), dtype=np.int32) % np.int32(cpus)
    return cpu


def _place_around_holes(
    boxes: Boxes, holes: Spans, cpu: AnyArray | None, runs: RunningSpans
) -> tuple[I64 | slice, Spans]:
    """Return the box of each piece, and the pieces.

    Boxes of one ``cpu`` (boxes,) do not overlap; None if there are no CPUs.
    """
    clock = RunningTime.without(holes)
    time = clock.from_wall(boxes.track, boxes.time)
    lanes = [BoxLanes.of(boxes.track, time)]
    if cpu is not None:
        lanes.append(BoxLanes.of(_cpu_lanes(cpu, boxes.track, holes), time))
    start, end = place_boxes(time, boxes.length, lanes)
    del time
    lanes.clear()
    box_of_piece, pieces = clock.to_wall(boxes.track, start, end)
    if cpu is not None and len(runs):
        pieces = _cut_at_runs(cpu[box_of_piece], pieces, runs)
    if cpu is not None and len(holes):
        pieces = replace(pieces, start=_starts_after_others(cpu[box_of_piece], pieces))
    return box_of_piece, pieces


def _cpu_lanes(cpu: AnyArray, track: AnyArray, holes: Spans) -> AnyArray:
    """A track with holes has a clock of its own, so its boxes cannot be in a lane with those of other tracks."""
    if not len(holes):
        return cpu
    return np.where(np.isin(track, holes.track), int(cpu.max(initial=0)) + 1 + as_int64(track), cpu)


def max_overlap(spans: Spans) -> int:
    """Return the largest number of spans that overlap at any time."""
    starts, ends = np.sort(spans.start), np.sort(spans.end)
    overlap = arange(1, len(starts) + 1)  # at each start: spans begun minus spans ended
    overlap -= searchsorted(ends, starts, "right")
    return int(overlap.max(initial=0))


def _cut_at_runs(cpu: AnyArray, pieces: Spans, runs: RunningSpans) -> Spans:
    """Cut pieces of boxes so that no recorded run on their CPU overlaps them.

    They may overlap even if all switches were recorded: an exiting thread has no tid any more, but is still sampled in
    its last run.
    """
    runs = take_rows_of(runs, argsort_rows([runs.cpu, runs.start]))
    row = last_row_until((runs.cpu, runs.start), (cpu, pieces.end))
    ends_in_run = (row >= 0) & (np.append(runs.end, 0)[row] > pieces.end)
    end = np.where(ends_in_run, np.append(runs.start, 0)[row], pieces.end)
    run_before = last_row_until((runs.cpu, runs.end), (cpu, end))
    start = np.maximum(pieces.start, np.append(runs.end, 0)[run_before])
    return replace(pieces, start=np.minimum(start, end), end=end)


def _starts_after_others(cpu: AnyArray, pieces: Spans) -> I64:
    """Return (pieces,) starts that are not before the end of an earlier piece on the CPU.

    Boxes of tracks with holes were placed without regard to other tracks (`_cpu_lanes`), and so may overlap others.
    """
    start = np.maximum(pieces.start, earlier_ends(pieces.end, BoxLanes.of(cpu, pieces.start)))
    return np.minimum(start, pieces.end)


def _box_cpus(profile: Profile, boxes: Boxes, runs: RunningSpans) -> AnyArray | None:
    """Return (boxes,) the CPU of each box; boxes of unknown CPU get a number per track, above those of all CPUs.

    Returns None if all CPUs are unknown.
    """
    cpu: AnyArray = profile.samples.cpus[boxes.sample]
    if int(cpu.max(initial=-1)) < 0:
        return None
    unknown = flatnonzero(cpu < 0)
    if not len(unknown):
        return cpu
    highest = max(int(cpu.max()), int(runs.cpu.max(initial=-1)))
    cpu = as_int64(cpu)
    cpu[unknown] = highest + 1 + as_int64(boxes.track[unknown])
    return narrow(cpu)
