"""The number of threads: one definition for every command and format."""

import numpy as np

from perf2x.base.columnar.unique import unique_inverse
from perf2x.model.profile.profile import Threads


def count_threads(threads: Threads) -> int:
    """Number of distinct (pid, tid), and of starts where ids were used again; a thread that was renamed is one."""
    ids, row = unique_inverse(threads.pid.astype(np.int64) << 32 | threads.tid.astype(np.int64) & 0xFFFFFFFF)
    starts = np.zeros(len(ids), np.int64)
    np.add.at(starts, row, 0 if threads.starts is None else threads.starts)
    return int(np.maximum(starts, 1).sum())
