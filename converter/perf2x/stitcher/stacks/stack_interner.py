"""Numbers distinct threads and stacks, so that samples refer to them by small integers."""

from typing import TypeVar

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Frozen,
    GrowableColumns,
    ListArray,
    ListInterner,
    RowInterner,
    as_int32,
    row_batches,
    take,
)
from perf2x.stitcher.stacks.frame_keys import renumber_keys
from perf2x.stitcher.stacks.sample_sums import SampleRows, TimedRows

_NEVER = np.iinfo(np.int64).max
_KEYS_AT_ONCE = 1 << 18


class ThreadRows(Frozen):
    """Distinct threads, (threads,) columns."""

    pid: I64
    tid: I64
    comm: I64
    """Index of the name in ThreadNames, −1 for none."""
    fork_sequence: I64
    """Sequence number of the thread's fork, because ids are reused; −1 if unknown."""
    first_sequence: I64
    """Sequence number of the thread's first sample."""


Rows = TypeVar("Rows", SampleRows, TimedRows)


class Renumbering(Frozen):
    """New numbers of the stacks and threads of an absorbed interner: ``stack[i]`` replaces stack i."""

    stack: I32
    thread: I32

    def renumber(self, rows: Rows) -> Rows:
        """Return rows with the numbers of the absorbing interner."""
        return replace(rows, thread=self.thread[rows.thread], stack=self.stack[rows.stack])


class StackInterner:
    """Numbers distinct threads and stacks from 0 on."""

    def __init__(self) -> None:
        self._stacks = ListInterner(np.uint64)
        self._threads = RowInterner(4)
        """Columns: pid, tid, index of the name, fork_sequence (as in `ThreadRows`)."""
        self._first_sequence = GrowableColumns(np.int64)
        self._namesake = GrowableColumns(np.int32)
        """First thread with the same name."""
        self._first_of_name: dict[int, int] = {}

    def intern_stacks(self, keys: ListArray) -> I32:
        """Return (n,) the number of each row of frame keys."""
        return as_int32(self._stacks.number_rows(keys))

    def intern_threads(self, pid: I64, tid: I64, comm: I64, fork_sequence: I64) -> I32:
        """Return (n,) the number of each row's thread (see `ThreadRows`)."""
        return as_int32(self._threads.number(pid, tid, comm, fork_sequence))

    def note_first_samples(self, thread: I32 | I64, sequence: I64) -> None:
        """Keep the lowest sequence number of each thread's samples."""
        if new_count := len(self._threads) - len(self._first_sequence):
            self._first_sequence.extend(np.full(new_count, _NEVER, np.int64))
        np.minimum.at(self._first_sequence[0], thread, sequence)

    def namesakes(self, thread: I32 | I64) -> I32:
        """Return (n,) the first thread with the same name; a thread without a name maps to itself.

        It may differ from run to run, which does no harm, because its pid and tid are not used.
        """
        count = len(self._namesake)
        new_names = enumerate(self._threads.columns()[2][count:].tolist(), count)
        namesake = [number if name < 0 else self._first_of_name.setdefault(name, number) for number, name in new_names]
        self._namesake.extend(as_int32(namesake))
        return take(self._namesake[0], thread)

    def stacks(self) -> ListArray:
        """Return the frame keys of every stack, innermost first; a view until the next stack is added."""
        return self._stacks.table()

    def threads(self) -> ThreadRows:
        """Return copies of all threads so far."""
        pid, tid, comm, fork_sequence = (column.copy() for column in self._threads.columns())
        return ThreadRows(pid, tid, comm, fork_sequence, self._first_sequence[0].copy())

    def absorb(
        self, stacks: ListArray, threads: ThreadRows, side_numbers: U64, *, by_thread: bool = True
    ) -> Renumbering:
        """Add another interner's tables; ``side_numbers`` come from `FrameKeys.absorb`.

        Without ``by_thread``, all threads of one name get one number.
        """
        stack = np.empty(len(stacks), np.int32)
        for rows in row_batches(stacks.lengths, _KEYS_AT_ONCE):
            keys = stacks[rows]
            stack[rows] = self.intern_stacks(ListArray(keys.offsets, renumber_keys(keys.values, side_numbers)))
        thread = self.intern_threads(threads.pid, threads.tid, threads.comm, threads.fork_sequence)
        self.note_first_samples(thread, threads.first_sequence)
        return Renumbering(stack, thread if by_thread else self.namesakes(thread))
