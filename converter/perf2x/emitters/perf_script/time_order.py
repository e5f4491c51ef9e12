"""Sorts lines of samples by time while they are read, batch by batch.

A line is held back until no later batch can have an earlier one. Lines of equal time stay in file order, as in perf's
ordered events (tools/perf/util/ordered-events.c).
"""

import numpy as np

from perf2x.base.columnar import I64, U64, AnyArray, lexsort, zeros
from perf2x.model.profile import NEVER


class TimeOrder:
    """Holds back lines until all earlier ones are written; a line is a row of chunks."""

    def __init__(self) -> None:
        self._time: U64 = np.zeros(0, np.uint64)
        self._position: I64 = zeros(0)
        self._lines: AnyArray = np.zeros((0, 1), np.object_)

    def add(self, time: U64, position: I64, lines: AnyArray, behind: int) -> bytes:
        """Add lines (n, chunks); return the text of those before ``behind``, the earliest time still to come."""
        time, position = np.append(self._time, time), np.append(self._position, position)
        lines = np.concatenate(_equally_wide(self._lines, lines))
        order = lexsort((position, time))
        ready = len(time) if behind == NEVER else int(np.searchsorted(time[order], np.uint64(behind), "left"))
        late = order[ready:]
        self._time, self._position, self._lines = time[late], position[late], lines[late]
        return b"".join(lines[order[:ready]].ravel().tolist())


def _equally_wide(*tables: AnyArray) -> list[AnyArray]:
    """Pad rows with empty chunks to equal width."""
    width = max(table.shape[1] for table in tables)
    rest = (np.full((len(table), width - table.shape[1]), b"", np.object_) for table in tables)
    return [np.concatenate(pair, axis=1) for pair in zip(tables, rest, strict=True)]
