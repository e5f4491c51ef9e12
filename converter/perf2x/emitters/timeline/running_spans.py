"""Computes when threads ran, from context switches and, without them, from samples.

A recording starts and ends while threads run, and records are lost. A switch out without a switch in ends a run that
began a period before the thread's first sample in it; a switch in without a switch out begins a run that ends at the
thread's last sample.

Boxes of threads without recorded switches are placed before their samples, around waits and other threads' runs.

Two such boxes on one CPU never overlap, nor does a box overlap another thread's recorded run there. If samples have no
CPU, at most as many boxes overlap as the machine has CPUs, provided that all samples stand for about the same time.
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
from perf2x.emitters.timeline.box_layout import BoxChains, earlier_ends, place
from perf2x.emitters.timeline.running_time import (
    FAR,
    RunningTime,
    Spans,
    last_until,
    rows_until,
    since,
    spans_of,
    until_next,
)
from perf2x.emitters.timeline.tracks import switch_tracks
from perf2x.model.profile import Profile


class RunningSpans(ColumnTable):
    """Times at which threads were on CPU, by track, then start, in nanoseconds since the origin."""

    track: I64
    start: I64
    end: I64
    cpu: I64
    """The CPU recorded with the switch, −1 if unknown."""
    is_preempted: Bools
    """True if the thread was still runnable when it left the CPU."""

    def spans(self) -> Spans:
        """Track, start and end only."""
        return Spans(self.track, self.start, self.end)


class Boxes(Frozen):
    """One row per drawn sample, by track, then time, before it is placed."""

    track: AnyArray
    """This and the following columns have 32 bits if that suffices."""
    sample: AnyArray
    moment: I64
    length: I64


def runs_of(profile: Profile, origin: int, boxes: Boxes) -> RunningSpans:
    """Return the runs of all tracks (``tracks_of``) with recorded switches; ``boxes`` are those of samples."""
    switches = profile.switches
    if not switches:
        return no_rows(RunningSpans)
    track, time = switch_tracks(profile, switches), since(switches.time, origin)
    on_track = flatnonzero(track >= 0)
    order = on_track[argsort_rows([track[on_track], time[on_track], on_track])]
    track, time, is_out = track[order], time[order], switches.is_out[order]
    is_run, start, end = _bounds(track, time, is_out, boxes)
    leaving = switches.is_preempted[order]
    is_recorded = end == of_next(time, FAR)
    leaving = np.where(is_out, leaving, of_next(leaving, False) & is_recorded)
    runs = RunningSpans(track, start, end, as_int64(switches.cpu[order]), leaving)
    is_guess = is_out | ~is_recorded
    return _in_order(_on_free_cpus(take_rows_of(runs, is_run), is_guess[is_run], is_out[is_run]))


def _on_free_cpus(runs: RunningSpans, is_guess: Bools, is_out: Bools) -> RunningSpans:
    """Cut guessed starts (at ``is_out`` switches) and guessed ends where other runs of the CPU overlap."""
    order = argsort_rows([runs.cpu, runs.end, runs.start])
    before = earlier_ends(runs.end, BoxChains.in_order(order, runs.cpu))
    begins, ends = is_guess & is_out & (runs.cpu >= 0), is_guess & ~is_out & (runs.cpu >= 0)
    start = np.where(begins, np.minimum(np.maximum(runs.start, before), runs.end), runs.start)
    order = argsort_rows([runs.cpu, start])
    after = np.full(len(order), FAR, np.int64)
    after[order] = np.where(ends_run(runs.cpu[order]), FAR, of_next(start[order], FAR))
    return replace(runs, start=start, end=np.where(ends, np.minimum(runs.end, after), runs.end))


def _in_order(runs: RunningSpans) -> RunningSpans:
    runs = take_rows_of(runs, argsort_rows([runs.track, runs.start, runs.end]))
    end = until_next(runs.track, runs.start, runs.end)
    return take_rows_of(replace(runs, end=end), end > runs.start)


def _bounds(track: I64, time: I64, is_out: Bools, boxes: Boxes) -> tuple[Bools, I64, I64]:
    """Return the switches that make a run (all in, and out without an in), and the run's start and end."""
    is_first, is_last = begins_run(track), ends_run(track)
    before, after = np.roll(time, 1), np.roll(time, -1)
    is_orphan = is_out & (is_first | np.roll(is_out, 1))
    is_open = ~is_out & (is_last | ~np.roll(is_out, -1))
    start, end = time.copy(), after
    end[is_open] = _last_sample(boxes, track[is_open], np.where(is_last, FAR, after)[is_open], time[is_open])
    end[is_orphan] = time[is_orphan]
    start[is_orphan] = _first_sample(boxes, track[is_orphan], np.where(is_first, 0, before)[is_orphan], time[is_orphan])
    return ~is_out | is_orphan, start, end


def _last_sample(boxes: Boxes, track: I64, until: I64, otherwise: I64) -> I64:
    """Return the time of a track's last sample until a time; ``otherwise`` if none is later than that."""
    row = last_until((boxes.track, boxes.moment), (track, until))
    return np.where(row >= 0, np.maximum(np.append(boxes.moment, 0)[row], otherwise), otherwise)


def _first_sample(boxes: Boxes, track: I64, after: I64, otherwise: I64) -> I64:
    """Return a period before a track's first sample after a time, but not before that; ``otherwise`` without one."""
    row = rows_until((boxes.track, boxes.moment), (track, after))
    moment = np.append(boxes.moment, FAR)[row]
    found = (np.append(boxes.track, -1)[row] == track) & (moment <= otherwise)
    begin = np.maximum(moment - np.append(boxes.length, 0)[row], after)
    return np.where(found, begin, otherwise)


_EVEN = 1.05
"""Ratio of lengths up to which boxes may be distributed over CPUs."""


def pieces_without_switches(
    profile: Profile, boxes: Boxes, waiting: Spans, runs: RunningSpans
) -> tuple[AnyArray, Spans]:
    """Return the parts of boxes of threads without recorded switches, placed around waits and other runs.

    If samples have no CPU and more threads than CPUs would run at the same time, boxes are assigned to all CPUs in
    turn, provided that they all have the same length; then they are pushed back only where CPUs are full.
    """
    holes = spans_of(waiting.track, waiting.start, waiting.end)
    cpu = _cpu_of(profile, boxes, runs)
    owner, pieces = _placed(boxes, holes, cpu, runs)
    is_even = not len(boxes.length) or boxes.length.max() <= _EVEN * boxes.length.min()
    if cpu is None and is_even and 0 < profile.meta.cpus < most_at_once(pieces):
        del owner, pieces  # here and below: a second copy of all boxes takes too much memory
        owner, pieces = _placed(boxes, holes, _in_turn(boxes, profile.meta.cpus), runs)
    return boxes.sample[owner], pieces


def _in_turn(boxes: Boxes, cpus: int) -> AnyArray:
    """Return (boxes,) the CPUs in turn, by time."""
    turn = np.empty(len(boxes.track), np.int32)
    turn[argsort_rows([boxes.moment, boxes.track])] = np.arange(len(turn), dtype=np.int32) % np.int32(cpus)
    return turn


def _placed(boxes: Boxes, holes: Spans, cpu: AnyArray | None, runs: RunningSpans) -> tuple[I64 | slice, Spans]:
    """Return the parts of all boxes, and each part's box; each ``cpu`` (boxes,) runs one at a time."""
    clock = RunningTime.without(holes)
    moment = clock.of(boxes.track, boxes.moment)
    chains = [BoxChains.of(boxes.track, moment)]
    if cpu is not None:
        chains.append(BoxChains.of(_apart(cpu, boxes.track, holes), moment))
    start, end = place(moment, boxes.length, chains)
    del moment
    chains.clear()
    owner, pieces = clock.pieces(boxes.track, start, end)
    if cpu is not None and len(runs):
        pieces = _beside_runs(cpu[owner], pieces, runs)
    if cpu is not None and len(holes):
        pieces = replace(pieces, start=_behind_others(cpu[owner], pieces))
    return owner, pieces


def _apart(cpu: AnyArray, track: AnyArray, holes: Spans) -> AnyArray:
    """Return (boxes,) the CPU of each box, or a number per track for tracks with holes."""
    if not len(holes):
        return cpu
    return np.where(np.isin(track, holes.track), int(cpu.max(initial=0)) + 1 + as_int64(track), cpu)


def most_at_once(spans: Spans) -> int:
    """Return the largest number of spans that overlap at any time."""
    starts, ends = np.sort(spans.start), np.sort(spans.end)
    at_once = arange(1, len(starts) + 1)
    at_once -= searchsorted(ends, starts, "right")
    return int(at_once.max(initial=0))


def _beside_runs(cpu: AnyArray, pieces: Spans, runs: RunningSpans) -> Spans:
    """Return the parts of spans during which no recorded run is on their CPU.

    An exiting thread has no tid any more, but is still sampled in its last run.
    """
    others = take_rows_of(runs, argsort_rows([runs.cpu, runs.start]))
    row = last_until((others.cpu, others.start), (cpu, pieces.end))
    within = (row >= 0) & (np.append(others.end, 0)[row] > pieces.end)
    end = np.where(within, np.append(others.start, 0)[row], pieces.end)
    before = last_until((others.cpu, others.end), (cpu, end))
    start = np.maximum(pieces.start, np.append(others.end, 0)[before])
    return replace(pieces, start=np.minimum(start, end), end=end)


def _behind_others(cpu: AnyArray, pieces: Spans) -> I64:
    """Return (pieces,) starts that are not before the end of an earlier piece on the CPU.

    Threads with waits each have a running time of their own, which is not comparable between CPUs: any remaining
    overlap is cut.
    """
    start = np.maximum(pieces.start, earlier_ends(pieces.end, BoxChains.of(cpu, pieces.start)))
    return np.minimum(start, pieces.end)


def _cpu_of(profile: Profile, boxes: Boxes, runs: RunningSpans) -> AnyArray | None:
    """Return (boxes,) a number for each CPU, and one per track where it is unknown; None if no CPU is known."""
    own: AnyArray = profile.samples.cpus[boxes.sample]
    if int(own.max(initial=-1)) < 0:
        return None
    unknown = flatnonzero(own < 0)
    if not len(unknown):
        return own
    highest = max(int(own.max()), int(runs.cpu.max(initial=-1)))
    own = as_int64(own)
    own[unknown] = highest + 1 + as_int64(boxes.track[unknown])
    return narrow(own)
