"""Puts lines of samples in order of time while they are read, batch by batch.

A line waits until no later batch can have an earlier one. Lines of equal time stay in the order of the file, as perf's
ordered events do (tools/perf/util/ordered-events.c).
"""

import numpy as np

from perf2x.base.columnar import I64, U64, AnyArray, lexsort, zeros
from perf2x.model.profile import NEVER


class TimeOrder:
    """Holds back lines that earlier ones may come before; a line is a row of chunks."""

    def __init__(self) -> None:
        self._time: U64 = np.zeros(0, np.uint64)
        self._position: I64 = zeros(0)
        self._lines: AnyArray = np.zeros((0, 1), np.object_)

    def add(self, time: U64, position: I64, lines: AnyArray, behind: int) -> bytes:
        """Add lines, (n, chunks); return text of those before ``behind``, the earliest time of lines still to come."""
        time, position = np.append(self._time, time), np.append(self._position, position)
        lines = np.concatenate(_equally_wide(self._lines, lines))
        order = lexsort((position, time))
        ready = len(time) if behind == NEVER else int(np.searchsorted(time[order], np.uint64(behind), "left"))
        late = order[ready:]
        self._time, self._position, self._lines = time[late], position[late], lines[late]
        return b"".join(lines[order[:ready]].ravel().tolist())


def _equally_wide(*tables: AnyArray) -> list[AnyArray]:
    """Fill rows up with nothing."""
    width = max(table.shape[1] for table in tables)
    rest = (np.full((len(table), width - table.shape[1]), b"", np.object_) for table in tables)
    return [np.concatenate(pair, axis=1) for pair in zip(tables, rest, strict=True)]
