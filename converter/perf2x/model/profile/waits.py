"""Kinds of waits, and when a row of samples waited: what ``--off-cpu`` leaves in ``Profile.samples.wait``.

A wait is a row of samples with ``count`` 1 and its length in nanoseconds as ``value``; in a timeline ``time`` is the
moment its thread left the CPU, so that it lasts from ``time`` to ``time + value``. Waits of one thread never overlap,
except ``UNPLACED`` ones, which have no place in time, and ``TRACED`` ones on different lanes. Its thread, stack and CPU
(the one that it left, −1: unknown) are in the other columns.
"""

from enum import IntEnum

import numpy as np

from perf2x.base.columnar.arrays import U64, Bools
from perf2x.model.profile.profile import ProfileSamples


class Wait(IntEnum):
    """Values of ``Profile.samples.wait``."""

    RAN = 0
    """No wait: the thread was sampled on a CPU."""
    BLOCKED = 1
    """It slept until something happened."""
    PREEMPTED = 2
    """It could have run; the CPU was given to another thread."""
    UNTOLD = 3
    """The recording does not tell which of the two."""
    UNPLACED = 4
    """A sum of waits, or a wait whose beginning is unknown: nothing to draw a slice of. ``time`` means nothing."""
    TRACED = 5
    """The time between two tracepoints (``--pair``), in which the thread may have run."""


def placed_waits(samples: ProfileSamples) -> Bools:
    """(samples,) where a row is a wait with a beginning and an end, and so a slice of a timeline."""
    if samples.wait is None or samples.time is None:
        return np.zeros(len(samples), np.bool_)
    placed: Bools = (samples.wait != Wait.RAN) & (samples.wait != Wait.UNPLACED)
    return placed


def wait_ends(samples: ProfileSamples) -> U64:
    """(samples,) the moment a wait ends; of rows that are no placed waits, and of aggregated profiles, their time."""
    time = np.zeros(len(samples), np.uint64) if samples.time is None else samples.time
    return time + np.where(placed_waits(samples), samples.value, 0).astype(np.uint64)
