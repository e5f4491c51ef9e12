"""Counters of a timeline: what an event counted in one process, and where perf stat tells, on one CPU."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, AnyArray
from perf2x.base.columnar.unique import group_rows
from perf2x.model.profile.profile import Profile, sampled


class Counter(Struct, frozen=True):
    """One curve."""

    event: int
    pid: int
    name: str


def counters_of(profile: Profile, rows: I64, pid: AnyArray, names: Sequence[str]) -> tuple[list[Counter], I64]:
    """Return the counters of these samples by event, process and CPU, and (rows,) the counter of each.

    ``pid`` (rows,) is each sample's process, ``names`` are those of the events.
    """
    cpu = np.where(sampled(profile)[rows], -1, profile.samples.cpus[rows])
    keys = (profile.samples.event[rows], pid, cpu)
    first, counter = group_rows(keys)
    found = zip(*(key[first].tolist() for key in keys), strict=True)
    return [Counter(row, of, f"{names[row]} CPU {at}" if at >= 0 else names[row]) for row, of, at in found], counter
