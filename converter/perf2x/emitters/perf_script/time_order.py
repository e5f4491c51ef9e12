"""Puts lines of samples in order of time while they are read, batch by batch.

A line waits until no later batch can have an earlier one. Lines of equal time stay in the order of the file, as perf's
ordered events do (tools/perf/util/ordered-events.c).
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, AnyArray

_NEVER = np.uint64(2**64 - 1)


class TimeOrder:
    """Holds back lines; ``batch_end`` and ``batch_first`` as RecordedRows has them."""

    def __init__(self, batch_end: I64, batch_first: U64) -> None:
        self._end = batch_end
        self._earliest = np.append(np.minimum.accumulate(batch_first[::-1])[::-1], _NEVER)
        """(batches + 1,) the earliest time in each batch and all behind it."""
        self._time: U64 = np.zeros(0, np.uint64)
        self._lines: AnyArray = np.zeros(0, np.object_)

    def add(self, time: U64, lines: AnyArray, end: int) -> Iterator[bytes]:
        """Add lines of the samples up to row ``end``; yield text that nothing can come before."""
        time, lines = np.concatenate([self._time, time]), np.concatenate([self._lines, lines])
        order = np.argsort(time, kind="stable")
        time, lines = time[order], lines[order]
        behind = self._earliest[np.searchsorted(self._end, end, "right")]
        ready = len(time) if behind == _NEVER else int(np.searchsorted(time, behind, "left"))
        self._time, self._lines = time[ready:], lines[ready:]
        yield b"".join(lines[:ready].tolist())
