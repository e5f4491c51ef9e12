"""Counters of a timeline: an event's counts in one process or on one CPU, and the number of running threads."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar import I64, AnyArray, ColumnTable, Frozen, as_int64, group_rows, no_rows, rows_by
from perf2x.emitters.timeline.running_time import since
from perf2x.model.profile import Profile, sampled


class Counter(Frozen):
    """One curve."""

    event: int
    pid: int
    name: str


def counters_of(profile: Profile, rows: I64, pid: AnyArray, names: Sequence[str]) -> list[tuple[Counter, I64]]:
    """Return the counters of these samples by event, process and CPU, each with its rows.

    ``pid`` (rows,) is each sample's process, ``names`` are the names of the events.
    """
    cpu = np.where(sampled(profile)[rows], -1, profile.samples.cpus[rows])
    keys = (profile.samples.event[rows], pid, cpu)
    first, counter = group_rows(keys)
    found = zip(*(key[first].tolist() for key in keys), strict=True)
    counters = [Counter(row, of, f"{names[row]} CPU {at}" if at >= 0 else names[row]) for row, of, at in found]
    return [(counters[number], rows[among]) for number, among in rows_by(counter)]


TITLE = "threads running"
"""Name of the counter of running threads, in every viewer."""


class Steps(ColumnTable):
    """A step function: the number of ``threads`` from ``time`` (ascending) until the time of the next row."""

    time: I64
    threads: I64


def running_steps(profile: Profile, origin: int, tick: int = 1) -> Steps:
    """Return Profile.running in ticks of ``tick`` nanoseconds since the origin; no rows if it is unknown.

    If there are several steps before the origin, or within one tick, the last one counts. When one thread replaces
    another, both are counted for a nanosecond, which is ignored.
    """
    curve = profile.running
    if curve is None:
        return no_rows(Steps)
    time = since(curve.time, origin)
    kept = np.append(np.diff(time) > 1, True)[: len(time)]
    time, threads = (time[kept] + tick // 2) // tick, as_int64(curve.threads[kept])
    is_last = np.append(np.diff(time) > 0, True)[: len(time)]
    time, threads = time[is_last], threads[is_last]
    changes = np.diff(threads, prepend=-1) != 0
    return Steps(time[changes], threads[changes])
