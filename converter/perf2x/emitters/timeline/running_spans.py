"""Context switches → the stretches of time in which threads ran.

A recording begins and ends while threads run, and records are lost: a switch out without a switch in ends a run that
began a period before the thread's first sample in it, a switch in without a switch out begins one that ends at the
thread's last sample.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I64, Bools, ColumnTable, begins_run, ends_run, of_next, take_rows_of
from perf2x.base.columnar.unique import argsort_rows
from perf2x.emitters.timeline.placement import Chains, earlier_ends
from perf2x.emitters.timeline.running_time import FAR, Spans, last_until, rows_until, since
from perf2x.emitters.timeline.tracks import switch_tracks
from perf2x.model.profile.profile import Profile


class Runs(ColumnTable, frozen=True):
    """Stretches of time in which threads had a CPU, by track, then start, in nanoseconds since the origin."""

    track: I64
    start: I64
    end: I64
    cpu: I64
    """The CPU of the switch that tells of the run, −1 where it is unknown."""
    is_preempted: Bools
    """The thread could have run on when it left."""

    def spans(self) -> Spans:
        """When, without where."""
        return Spans(self.track, self.start, self.end)


def no_runs() -> Runs:
    """Return the empty table."""
    none = np.zeros(0, np.int64)
    return Runs(none, none, none, none, np.zeros(0, np.bool_))


def runs_of(profile: Profile, origin: int, samples: Spans) -> Runs:
    """Return the runs of all tracks (``tracks_of``) whose switches were recorded.

    ``samples`` are moments (``start``) by track, then time, with the time that each stands for as ``end``.
    """
    switches = profile.switches
    if switches is None or not len(switches.time):
        return no_runs()
    track, time = switch_tracks(profile, switches), since(switches.time, origin)
    known = np.flatnonzero(track >= 0)
    order = known[argsort_rows([track[known], time[known], known])]
    track, time, is_out = track[order], time[order], switches.is_out[order]
    is_run, start, end = _bounds(track, time, is_out, samples)
    leaving = switches.is_preempted[order]
    is_told = end == of_next(time, FAR)
    leaving = np.where(is_out, leaving, of_next(leaving, False) & is_told)
    runs = Runs(track, start, end, switches.cpu[order].astype(np.int64), leaving)
    is_guess = is_out | ~is_told
    return _in_order(_on_free_cpus(take_rows_of(runs, is_run), is_guess[is_run], is_out[is_run]))


def _on_free_cpus(runs: Runs, is_guess: Bools, is_out: Bools) -> Runs:
    """Let guessed starts (``is_out``: those of switches out) and guessed ends give way to other runs of the CPU."""
    order = argsort_rows([runs.cpu, runs.end, runs.start])
    before = earlier_ends(runs.end, Chains.in_order(order, runs.cpu))
    begins, ends = is_guess & is_out & (runs.cpu >= 0), is_guess & ~is_out & (runs.cpu >= 0)
    start = np.where(begins, np.minimum(np.maximum(runs.start, before), runs.end), runs.start)
    order = argsort_rows([runs.cpu, start])
    after = np.full(len(order), FAR)
    after[order] = np.where(ends_run(runs.cpu[order]), FAR, of_next(start[order], FAR))
    return replace(runs, start=start, end=np.where(ends, np.minimum(runs.end, after), runs.end))


def _in_order(runs: Runs) -> Runs:
    runs = take_rows_of(runs, argsort_rows([runs.track, runs.start, runs.end]))
    end = np.where(ends_run(runs.track), runs.end, np.minimum(runs.end, of_next(runs.start, 0)))
    return take_rows_of(replace(runs, end=end), end > runs.start)


def _bounds(track: I64, time: I64, is_out: Bools, samples: Spans) -> tuple[Bools, I64, I64]:
    """Return which switches tell of a run of their own, and its start and end: all in, and those out without an in."""
    is_first, is_last = begins_run(track), ends_run(track)
    before, after = np.roll(time, 1), np.roll(time, -1)
    is_orphan = is_out & (is_first | np.roll(is_out, 1))
    is_open = ~is_out & (is_last | ~np.roll(is_out, -1))
    start, end = time.copy(), after
    end[is_open] = _last_sample(samples, track[is_open], np.where(is_last, FAR, after)[is_open], time[is_open])
    end[is_orphan] = time[is_orphan]
    start[is_orphan] = _first_sample(
        samples, track[is_orphan], np.where(is_first, 0, before)[is_orphan], time[is_orphan]
    )
    return ~is_out | is_orphan, start, end


def _last_sample(samples: Spans, track: I64, until: I64, otherwise: I64) -> I64:
    """The moment of the last sample of a track until a time; ``otherwise`` where none is later than that."""
    row = last_until((samples.track, samples.start), (track, until))
    return np.where(row >= 0, np.maximum(np.append(samples.start, 0)[row], otherwise), otherwise)


def _first_sample(samples: Spans, track: I64, behind: I64, otherwise: I64) -> I64:
    """A period before the first sample of a track behind a time, but not before that; ``otherwise`` without one."""
    row = rows_until((samples.track, samples.start), (track, behind))
    moment = np.append(samples.start, FAR)[row]
    found = (np.append(samples.track, -1)[row] == track) & (moment <= otherwise)
    begin = np.maximum(moment - np.append(samples.end, 0)[row], behind)
    return np.where(found, begin, otherwise)
