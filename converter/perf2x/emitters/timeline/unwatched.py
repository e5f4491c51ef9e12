"""Boxes of threads whose context switches were not recorded: placed before their samples, around waits and others.

No CPU runs two of them at once, nor one beside a thread that switches show there. Where samples tell no CPUs, no more
run at once than the recording's machine has CPUs, if all stand for as long.
"""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, AnyArray, narrow, take_rows_of
from perf2x.base.columnar.unique import argsort_rows
from perf2x.emitters.timeline.placement import Chains, earlier_ends, place
from perf2x.emitters.timeline.running_spans import Runs
from perf2x.emitters.timeline.running_time import RunningTime, Spans, last_until, spans_of
from perf2x.model.profile.profile import Profile

_EVEN = 1.05
"""Boxes of lengths that differ by no more than this take turns on CPUs."""


class Boxes(Struct, frozen=True):
    """One row per sample that is drawn, by track, then time: what is known of it before it is placed."""

    track: AnyArray
    """Here and below: 32 bits where that is enough."""
    sample: AnyArray
    moment: I64
    length: I64


def pieces_without_switches(profile: Profile, boxes: Boxes, waiting: Spans, runs: Runs) -> tuple[AnyArray, Spans]:
    """Return the pieces of boxes whose threads' switches were not recorded, placed around waits and runs of others.

    Where samples tell no CPUs, they are given to all CPUs in turn if more threads than CPUs would run at once: boxes
    then give way only where there is no room for all, if they all have one length.
    """
    holes = spans_of(waiting.track, waiting.start, waiting.end)
    cpu = _cpu_of(profile, boxes, runs)
    owner, pieces = _placed(boxes, holes, cpu, runs)
    is_even = not len(boxes.length) or boxes.length.max() <= _EVEN * boxes.length.min()
    if cpu is None and is_even and 0 < profile.meta.cpus < most_at_once(pieces):
        del owner, pieces  # here and below: there is not room for all boxes twice
        owner, pieces = _placed(boxes, holes, _in_turn(boxes, profile.meta.cpus), runs)
    return boxes.sample[owner], pieces


def _in_turn(boxes: Boxes, cpus: int) -> AnyArray:
    """(boxes,) all CPUs in turn, by moment."""
    turn = np.empty(len(boxes.track), np.int32)
    turn[argsort_rows([boxes.moment, boxes.track])] = np.arange(len(turn), dtype=np.int32) % np.int32(cpus)
    return turn


def _placed(boxes: Boxes, holes: Spans, cpu: AnyArray | None, runs: Runs) -> tuple[I64 | slice, Spans]:
    """Return the pieces of all boxes, and each piece's box; ``cpu`` (boxes,) runs one at a time."""
    clock = RunningTime.without(holes)
    moment = clock.of(boxes.track, boxes.moment)
    chains = [Chains.of(boxes.track, moment)]
    if cpu is not None:
        chains.append(Chains.of(_apart(cpu, boxes.track, holes), moment))
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
    """(boxes,) the CPU of each box, or a number of their own for tracks that have holes."""
    if not len(holes):
        return cpu
    return np.where(np.isin(track, holes.track), int(cpu.max(initial=0)) + 1 + track.astype(np.int64), cpu)


def most_at_once(spans: Spans) -> int:
    """Return the largest number of stretches that cover one moment."""
    starts, ends = np.sort(spans.start), np.sort(spans.end)
    at_once = np.arange(1, len(starts) + 1)
    at_once -= np.searchsorted(ends, starts, "right")
    return int(at_once.max(initial=0))


def _beside_runs(cpu: AnyArray, pieces: Spans, runs: Runs) -> Spans:
    """Return what is left of pieces where no run is on their CPU.

    A thread that has ended has no number any more, but still takes samples in its last run.
    """
    others = take_rows_of(runs, argsort_rows([runs.cpu, runs.start]))
    row = last_until((others.cpu, others.start), (cpu, pieces.end))
    within = (row >= 0) & (np.append(others.end, 0)[row] > pieces.end)
    end = np.where(within, np.append(others.start, 0)[row], pieces.end)
    before = last_until((others.cpu, others.end), (cpu, end))
    start = np.maximum(pieces.start, np.append(others.end, 0)[before])
    return replace(pieces, start=np.minimum(start, end), end=end)


def _behind_others(cpu: AnyArray, pieces: Spans) -> I64:
    """(pieces,) starts that are not before the end of an earlier piece on the CPU.

    Threads with waits each have a running time of their own, in which CPUs cannot be compared: what still overlaps is
    cut.
    """
    start = np.maximum(pieces.start, earlier_ends(pieces.end, Chains.of(cpu, pieces.start)))
    return np.minimum(start, pieces.end)


def _cpu_of(profile: Profile, boxes: Boxes, runs: Runs) -> AnyArray | None:
    """(boxes,) a number for each CPU, and for the unknown ones of each track; None where no CPU is known."""
    cpu = profile.samples.cpu
    if cpu is None or int(cpu[boxes.sample].max(initial=-1)) < 0:
        return None
    own = cpu[boxes.sample]
    unknown = np.flatnonzero(own < 0)
    if not len(unknown):
        return own
    known = max(int(own.max()), int(runs.cpu.max(initial=-1)))
    own = own.astype(np.int64)
    own[unknown] = known + 1 + boxes.track[unknown].astype(np.int64)
    return narrow(own)
