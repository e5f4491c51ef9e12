"""Threads and epochs of samples: one lookup for both, as both change only with the records of the side-band.

::

    samples   pid 7  tid 8  rank 3        asked once: the name of 8 and the epoch of 7 at rank 3
              pid 7  tid 8  rank 3        the same thread and epoch
              pid 7  tid 8  rank 4        asked again: something was mapped or named in between
"""

import numpy as np

from perf2x.base.columnar.arrays import I32, I64
from perf2x.base.columnar.lookup_cache import LookupCache
from perf2x.stitcher.process_history import ProcessHistory
from perf2x.stitcher.stacks.stack_interner import StackInterner

_HALF = np.int64(32)
_LOW = np.int64(0xFFFFFFFF)


class ThreadEpochs:
    """Numbers of threads in an interner, and epochs of their processes."""

    def __init__(self, history: ProcessHistory, interner: StackInterner, *, by_thread: bool = True) -> None:
        """Without ``by_thread``, a thread is the first one of its name (``StackInterner.namesakes``)."""
        self._history, self._interner, self._by_thread = history, interner, by_thread
        self._recent = LookupCache(columns=2, bits=14)
        """By rank, and pid and tid; the thread in the upper half of the answer, the epoch in the lower one."""

    def of(self, pid: I64, tid: I64, rank: I64) -> tuple[I32, I64]:
        """(n,) the thread of each sample and the epoch of its process, −1 for unknown processes."""
        ids = pid << _HALF | tid & _LOW
        answers = self._recent.answers(lambda rows: self._find(pid[rows], tid[rows], rank[rows]), rank, ids)
        return (answers >> _HALF).astype(np.int32), answers.astype(np.int32).astype(np.int64)

    def _find(self, pid: I64, tid: I64, rank: I64) -> I64:
        names = self._history.names.at(tid, rank)
        thread = self._interner.intern_threads(pid, tid, names, self._history.names.start(tid, rank), rank)
        if not self._by_thread:
            thread = self._interner.namesakes(thread)
        return thread.astype(np.int64) << _HALF | self._history.spaces.epoch(pid, rank) & _LOW
