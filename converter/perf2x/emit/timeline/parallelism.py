"""The number of threads that ran at once, as timelines draw it below or above their tracks."""

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I64
from perf2x.emit.timeline.running_time import since
from perf2x.tables.profile import Profile

TITLE = "threads running"
"""Name of the curve, in every viewer."""


class Steps(Struct, frozen=True):
    """A step curve: ``threads`` (n,) from ``time`` (n,), rising, to the next row's."""

    time: I64
    threads: I64

    def __len__(self) -> int:
        return len(self.time)


def running_steps(profile: Profile, origin: int, tick: int = 1) -> Steps:
    """Return Profile.running in ticks of so many nanoseconds since the origin; no rows where it is unknown.

    Of the steps before the origin, and of those within one tick, the last one counts.
    """
    curve = profile.running
    if curve is None:
        return Steps(np.zeros(0, np.int64), np.zeros(0, np.int64))
    time = (since(curve.time, origin) + tick // 2) // tick
    is_last = np.append(time[1:] != time[:-1], True)[: len(time)]
    return Steps(time[is_last], curve.threads[is_last].astype(np.int64))
