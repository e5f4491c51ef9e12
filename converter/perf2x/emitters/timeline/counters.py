"""Counters of a timeline: an event's counts in one process or on one CPU, and the number of running threads."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar import I64, AnyArray, ColumnTable, Frozen, as_int64, group_rows, no_rows, rows_by
from perf2x.emitters.timeline.running_time import since
from perf2x.model.profile import Profile, are_samples


class Counter(Frozen):
    """The counts of one event in a process or, for counts of perf stat, on one CPU."""

    event: int
    """Row of Profile.events."""
    pid: int
    name: str
    """Name of the event; for counts of perf stat on one CPU, also the CPU: ``cycles CPU 3``."""


def counters_of(profile: Profile, rows: I64, pid: AnyArray, names: Sequence[str]) -> list[tuple[Counter, I64]]:
    """Return the counters of some samples, each with its rows of Profile.samples.

    ``pid`` (rows,) are the samples' processes, ``names`` (events,) those of events.
    """
    cpu = np.where(are_samples(profile)[rows], -1, profile.samples.cpus[rows])
    columns = (profile.samples.event[rows], pid, cpu)
    first, group = group_rows(columns)
    keys = zip(*(column[first].tolist() for column in columns), strict=True)
    counters = [
        Counter(event, process, f"{names[event]} CPU {number}" if number >= 0 else names[event])
        for event, process, number in keys
    ]
    return [(counters[row], rows[members]) for row, members in rows_by(group)]


RUNNING_TITLE = "threads running"
"""Name of the counter of running threads, in every viewer."""


class Steps(ColumnTable):
    """A step function: the number of ``threads`` from ``time`` (ascending) until the time of the next row."""

    time: I64
    threads: I64


def running_steps(profile: Profile, origin: int, tick: int = 1) -> Steps:
    """Return how many threads ran at the same time (Profile.running); no rows if that is unknown.

    Times are in ticks of ``tick`` nanoseconds since ``origin``. Of several steps in a tick, the last one counts.
    """
    running = profile.running
    if running is None:
        return no_rows(Steps)
    time = since(running.time, origin)
    # when one thread replaces another on a CPU, both are counted for a nanosecond; such steps are left out
    is_long = np.append(np.diff(time) > 1, True)[: len(time)]
    time, threads = (time[is_long] + tick // 2) // tick, as_int64(running.threads[is_long])
    is_last_in_tick = np.append(np.diff(time) > 0, True)[: len(time)]
    time, threads = time[is_last_in_tick], threads[is_last_in_tick]
    is_change = np.diff(threads, prepend=-1) != 0
    return Steps(time[is_change], threads[is_change])
