"""Figures about the waits of a recording, for the summary."""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import Bools
from perf2x.model.profile.waits import Wait
from perf2x.transforms.scheduling.wait_rows import Waits


class WaitReport(Struct, frozen=True):
    """Waits that ``--off-cpu`` found, before filters by name; times in nanoseconds."""

    waits: int
    waited_ns: int
    preempted_ns: int
    nameless_ns: int
    """Time of waits without a stack."""
    near_ns: int = 0
    """Most time between a sample and a departure that has its stack; 0 where departures have stacks themselves."""
    open_ns: int = 0
    """Time of waits that the recording ends in."""


def report_of(waits: Waits, near_ns: int = 0, open_ns: int = 0) -> WaitReport:
    """Sum up waits whose unknown stacks are −1."""
    return WaitReport(
        waits=len(waits),
        waited_ns=int(waits.duration.sum()),
        preempted_ns=_time_of(waits, waits.kind == Wait.PREEMPTED),
        nameless_ns=_time_of(waits, waits.stack < 0),
        near_ns=near_ns,
        open_ns=open_ns,
    )


def _time_of(waits: Waits, rows: Bools) -> int:
    return int(np.sum(waits.duration[rows]))
