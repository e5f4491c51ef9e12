"""What a thread was called at a moment.

A thread is named by its own PERF_RECORD_COMM, else as its parent was when it was forked (thread__fork in tools/perf),
else ``:TID`` as perf prints threads that nobody named; tid 0 is ``swapper``.
"""

import numpy as np

from perf2x.columnar.arrays import I64
from perf2x.columnar.interner import StringInterner
from perf2x.stitch.history.keyed_values import KeyedValues
from perf2x.tables.sideband import Comms, Tasks


class ThreadNames:
    """Names by (tid, moment) as indices of ``texts``."""

    def __init__(self, comms: Comms, comm_moment: I64, forks: Tasks, fork_moment: I64) -> None:
        strings = StringInterner()
        tids, moments, names = _changes(comms, comm_moment, forks, fork_moment, strings)
        self.texts = strings.table()
        self._names = KeyedValues(np.array(tids, np.int64), np.array(moments, np.int64), np.array(names, np.int64))

    def at(self, tid: I64, moment: I64) -> I64:
        """(n,) int64: string index of each thread's name, −1 for threads without any."""
        return self._names.at(tid, moment)


def _changes(
    comms: Comms, comm_moment: I64, forks: Tasks, fork_moment: I64, strings: StringInterner
) -> tuple[list[int], list[int], list[int]]:
    """Walk names and forks in order; a Python step per record of either, not per sample."""
    steps = [(moment, -1, row) for row, moment in enumerate(comm_moment.tolist())]
    steps += [(moment, 1, row) for row, moment in enumerate(fork_moment.tolist())]
    comm_ids = strings.add_all(comms.comm).tolist()
    comm_tids = comms.tid.tolist()
    children, parents = forks.tid.tolist(), forks.ptid.tolist()
    current: dict[int, int] = {}
    changes: tuple[list[int], list[int], list[int]] = ([], [], [])
    for moment, is_fork, row in sorted(steps):
        tid = children[row] if is_fork > 0 else comm_tids[row]
        if is_fork > 0:
            current.pop(tid, None)  # the number was somebody else's before (machine__process_fork_event)
        name = current.get(parents[row], -1) if is_fork > 0 else comm_ids[row]
        current[tid] = name
        for column, value in zip(changes, (tid, moment, name), strict=True):
            column.append(value)
    return changes
