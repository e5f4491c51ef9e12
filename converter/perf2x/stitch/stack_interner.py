"""What samples come to: threads, stacks, and sums; all that is kept of them."""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.columnar.arrays import I32, I64, Bools
from perf2x.columnar.growable import GrowableColumns
from perf2x.columnar.interner import RaggedInterner, RowInterner
from perf2x.columnar.lookup_cache import LookupCache
from perf2x.columnar.ragged import Ragged, row_batches
from perf2x.stitch.frame_keys import Asides, Places, renumbered
from perf2x.stitch.history.thread_names import ThreadNames
from perf2x.stitch.raw_stack_cache import Recorded
from perf2x.stitch.sample_sums import SampleRows, Sums
from perf2x.stitch.stack_rows import Cuts, Framer

_NEVER = np.iinfo(np.int64).max
_WORDS_AT_ONCE = 1 << 18
"""Of another process's stacks."""


class Found(Struct, frozen=True):
    """What was gathered in one process, on its way to another."""

    asides: Asides
    hit: Bools
    stacks: Ragged
    threads: list[I64]
    moments: I64
    samples: SampleRows


class Renumbered(Struct, frozen=True):
    """(n,) the numbers here of another one's stacks and threads."""

    stack: I32
    thread: I32

    def renumber(self, rows: SampleRows) -> SampleRows:
        """The rows in numbers of here."""
        return replace(rows, thread=self.thread[rows.thread], stack=self.stack[rows.stack])


class Gathered:
    """Numbers threads and stacks, each distinct one once, and sums up samples."""

    def __init__(self, places: Places, framer: Framer, names: ThreadNames, sums: Sums) -> None:
        self.places, self.sums = places, sums
        self._framer, self._names = framer, names
        self._recorded = Recorded()
        self._stacks = RaggedInterner(np.uint64)
        self._threads = RowInterner(3)
        """pid, tid, index of the name."""
        self._known = LookupCache(columns=2, bits=14)
        self._seen = GrowableColumns(np.int64, 2)
        """Of each thread: moment of its first sample, the process's name then."""

    def threads(self) -> tuple[I64, I64, I64, I64]:
        """(threads,) pid, tid, index of the name, index of the name of its process when it was sampled first."""
        pid, tid, comm = self._threads.columns()
        return pid, tid, comm, self._seen[1]

    def stacks(self) -> Ragged:
        """The words of every stack, innermost first."""
        return self._stacks.table()

    def number_stacks(self, cuts: Cuts) -> I32:
        """(n,) the stack of each sample."""
        return self._recorded.stacks(cuts, self._number_new)

    def no_stacks(self, count: int) -> I32:
        """(count,) the stack that has no frames."""
        empty = Ragged(np.zeros(2, np.int64), np.zeros(0, np.uint64))
        return np.full(count, self._stacks.number_rows(empty)[0], np.int32)

    def _number_new(self, cuts: Cuts) -> I32:
        return self._stacks.number_rows(self._framer.rows(cuts)).astype(np.int32)

    def number_threads(self, pid: I64, tid: I64, comm: I64, moment: I64) -> I32:
        """(n,) the thread of each sample, which is noted to have been seen at its moment."""
        thread = self._known.answers(
            lambda rows: self._threads.number(pid[rows], tid[rows], comm[rows]), pid << 32 | tid & 0xFFFFFFFF, comm
        )
        self._see(thread, moment)
        return thread.astype(np.int32)

    def _see(self, thread: I64, moment: I64) -> None:
        """Note when threads were sampled; the order in which they are seen does not matter."""
        if more := len(self._threads) - len(self._seen):
            self._seen.extend(np.full(more, _NEVER), -1)
        first, name = self._seen.columns()
        before = first.copy()
        np.minimum.at(first, thread, moment)
        earlier = np.flatnonzero(first < before)
        pid = self._threads.columns()[0]
        name[earlier] = self._names.at(pid[earlier], first[earlier])

    def forget(self) -> None:
        """Let go of what only serves to take in more."""
        self._recorded = Recorded()

    def found(self) -> Found:
        """All of it, to be added to another one's."""
        self.sums.settle()
        self.forget()
        threads = [column.copy() for column in self._threads.columns()]
        return Found(
            self.places.asides(), self.places.hit, self.stacks(), threads, self._seen[0].copy(), self.sums.rows()
        )

    def absorb(self, found: Found) -> Renumbered:
        """Add what another one found in the same recording."""
        stack, number = np.empty(len(found.stacks), np.int32), self.places.absorb(found.asides, found.hit)
        for some in row_batches(found.stacks.lengths, _WORDS_AT_ONCE):
            rows = found.stacks.take(some)
            stack[some] = self._stacks.number_rows(Ragged(rows.offsets, renumbered(rows.values, number)))
        thread = self._threads.number(*found.threads)
        self._see(thread, found.moments)
        here = Renumbered(stack, thread.astype(np.int32))
        self.sums.add(here.renumber(found.samples))
        return here
