"""Names and starts of threads over time.

A thread is named by its own PERF_RECORD_COMM, else like its parent at the fork (thread__fork in tools/perf), else
``:TID`` as perf prints unnamed threads; tid 0 is ``swapper``.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.interner import StringInterner
from perf2x.model.recording.sideband import Comms, Tasks
from perf2x.stitcher.history.keyed_values import KeyedValues


class ThreadNames:
    """Names by (tid, rank) as indices of ``texts``, and which thread it is that has the tid."""

    def __init__(self, comms: Comms, comm_rank: I64, forks: Tasks, fork_rank: I64) -> None:
        strings = StringInterner()
        tids, ranks, names = _changes(comms, comm_rank, forks, fork_rank, strings)
        self.texts = strings.table()
        self._names = KeyedValues(np.array(tids, np.int64), np.array(ranks, np.int64), np.array(names, np.int64))
        self._starts = KeyedValues(forks.tid.astype(np.int64), fork_rank, fork_rank)

    def at(self, tid: I64, rank: I64) -> I64:
        """(n,) int64: index in ``texts`` of each thread's name at each rank, −1 for unnamed threads."""
        return self._names.at(tid, rank)

    def start(self, tid: I64, rank: I64) -> I64:
        """(n,) int64: the rank of the fork of the thread that has each tid at each rank, −1: no fork was recorded."""
        return self._starts.at(tid, rank)


def _changes(
    comms: Comms, comm_rank: I64, forks: Tasks, fork_rank: I64, strings: StringInterner
) -> tuple[list[int], list[int], list[int]]:
    """Walk names and forks in order; a Python step per record of either, not per sample."""
    steps = [(rank, -1, row) for row, rank in enumerate(comm_rank.tolist())]
    steps += [(rank, 1, row) for row, rank in enumerate(fork_rank.tolist())]
    comm_ids = strings.add_all(comms.comm).tolist()
    comm_tids = comms.tid.tolist()
    children, parents = forks.tid.tolist(), forks.ptid.tolist()
    current: dict[int, int] = {}
    changes: tuple[list[int], list[int], list[int]] = ([], [], [])
    for rank, is_fork, row in sorted(steps):
        tid = children[row] if is_fork > 0 else comm_tids[row]
        if is_fork > 0:
            current.pop(tid, None)  # another thread had the id before (machine__process_fork_event)
        name = current.get(parents[row], -1) if is_fork > 0 else comm_ids[row]
        current[tid] = name
        for column, value in zip(changes, (tid, rank, name), strict=True):
            column.append(value)
    return changes
