"""Puts lines of samples in order of time while they are read, batch by batch.

A line waits until no later batch can have an earlier one. Lines of equal time stay in the order of the file, as perf's
ordered events do (tools/perf/util/ordered-events.c).
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, AnyArray

NEVER = 2**64 - 1


class TimeOrder:
    """Holds back lines that earlier ones may come before."""

    def __init__(self) -> None:
        self._time: U64 = np.zeros(0, np.uint64)
        self._position: I64 = np.zeros(0, np.int64)
        self._lines: AnyArray = np.zeros(0, np.object_)

    def add(self, time: U64, position: I64, lines: AnyArray, behind: int) -> bytes:
        """Add lines; return text of those before ``behind``, the earliest time of what is not added yet."""
        columns = (self._time, time), (self._position, position), (self._lines, lines)
        time, position, lines = (np.concatenate(pair) for pair in columns)
        order = np.lexsort((position, time))
        time, position, lines = time[order], position[order], lines[order]
        ready = len(time) if behind == NEVER else int(np.searchsorted(time, np.uint64(behind), "left"))
        self._time, self._position, self._lines = time[ready:], position[ready:], lines[ready:]
        return b"".join(lines[:ready].tolist())
