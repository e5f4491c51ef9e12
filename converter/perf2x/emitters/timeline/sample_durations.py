"""The time that each sample stands for, in nanoseconds of its thread's CPU time.

A sample of a clock event stands for its period: so much CPU time went by since the sample before. Other events happen
when they happen; all of them together stand for the typical interval between two. Where a clock is drawn, it alone
says how long a thread ran, and samples of other events are moments, which stand for no time. A wait is no CPU time: it
begins at its sample and lasts as long as its value says.
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, Bools, bincount, flatnonzero
from perf2x.base.columnar.ragged import argsort_small
from perf2x.base.columnar.unique import unique
from perf2x.emitters.timeline.tracks import tracks_of
from perf2x.model.profile.profile import Profile, ProfileSamples, Wait, placed_waits, sampled

_LONGEST_GUESS_NS = 10_000_000
_SHORTEST_GUESS_NS = 1000
_BUSY = 1.5
"""Steps of at most so many medians are those of a thread that runs on."""


class Durations(Struct, frozen=True):
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
    ran = ran_then(samples, wanted) & sampled(profile)[rows]
    clock = _clock(profile, flatnonzero(bincount(event[ran])).tolist())
    if clock is not None:
        return Durations(np.where(is_wait | (ran & (event == clock)), value, 0), is_wait)
    typical = typical_interval(profile, tracks_of(profile)[1] if track is None else track, wanted[ran])
    return Durations(np.where(is_wait, value, np.where(ran, typical, 0)), is_wait)


def ran_then(samples: ProfileSamples, rows: I64) -> Bools:
    """(rows,) whether the thread of a sample ran; it waited in others."""
    return np.ones(len(rows), np.bool_) if samples.wait is None else samples.wait[rows] == Wait.RAN


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
    steps: I64 = np.diff(profile.samples.times[order])[lane[1:] == lane[:-1]].astype(np.int64)
    return steps
