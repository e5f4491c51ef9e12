"""Waits that ``perf record --off-cpu`` measured: samples that say how long their thread had no CPU."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64, take_rows_of
from perf2x.model.profile.profile import ProfileSamples
from perf2x.model.profile.waits import Wait
from perf2x.model.value_limits import LAST_TIME
from perf2x.transforms.filters.time_ranges import Range
from perf2x.transforms.scheduling.wait_rows import Waits, within

_NO_TIME = np.uint64(LAST_TIME)
"""Time of sums of waits, as the reader has it (reader/records/off_cpu_samples.py)."""


def measured_waits(samples: ProfileSamples, held: I64, ranges: Sequence[Range]) -> Waits:
    """Return the waits that the rows ``held`` are, those that end within ``ranges``.

    The kernel writes a sample when the wait is over. Sums of shorter waits, and waits that are longer than the clock
    has run, have no place in time: sums stand at the recording's end.
    """
    time = np.zeros(len(samples), np.uint64) if samples.time is None else samples.time
    last = time[time < _NO_TIME].max(initial=np.uint64(0))
    until, duration = time[held], samples.value[held]
    placed = (until < _NO_TIME) & (duration.astype(np.uint64) <= until)
    since = np.where(placed, until - np.where(placed, duration, 0).astype(np.uint64), np.minimum(until, last))
    cpu = np.full(len(held), -1, np.int32) if samples.cpu is None else samples.cpu[held]
    kind = np.where(placed, Wait.UNTOLD, Wait.UNPLACED).astype(np.uint8)
    waits = Waits(held, samples.thread[held], samples.stack[held], cpu, since, duration, kind)
    return take_rows_of(waits, within(until, ranges))
