"""Thread and stack of every single sample, in file order, for formats that read the samples a second time.

Later steps renumber threads and stacks, but the stored numbers stay: each `RecordedPart` has tables from the stored to
the current numbers.
"""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, I64, U64, Frozen, as_int32
from perf2x.base.files.row_spool import RowSpool

# A time later than all samples.
NEVER = 2**64 - 1
# The stack number of samples that a filter dropped with their stacks; −1 is an empty stack.
DROPPED = -2


class RecordedPart(Frozen):
    """A run of samples in one spool, with tables from stored to current numbers."""

    spool: int
    """Index of the spool in ``RecordedRows.spools``."""
    start: int
    """The run's first row in the spool."""
    stop: int
    """One past the run's last row."""
    thread: I32 | None = None
    """Table from stored to current number of threads; None: the stored numbers are current."""
    stack: I32 | None = None
    """The same for stacks."""

    def renumber(self, thread: I32 | None, stack: I32) -> "RecordedPart":
        """Change thread i to ``thread[i]`` (unless it is None) and stack i to ``stack[i]``; −1 stays."""
        new_thread = self.thread if thread is None else _renumbered(self.thread, thread)
        return replace(self, thread=new_thread, stack=_renumbered(self.stack, stack))


class RecordedRows(Frozen):
    """Thread and stack of each sample, spooled to disk if there are many.

    A second pass finds its samples by the position and checksum of each batch of the stitcher.
    """

    parts: list[RecordedPart]
    batch_end: I64
    """(batches,) one past the last row of each stitched batch."""
    batch_earliest: U64
    """(batches,) the earliest time of each batch, or the first position if samples have no times."""
    batch_position: I64
    """(batches,) position of each batch's first sample."""
    batch_checksum: I64
    """(batches,) checksum (``position_checksum``) of the positions of each batch's samples."""
    spools: Sequence[RowSpool] = ()
    """Each stores two rows of int32, thread and stack."""

    def renumber(self, thread: I32 | None, stack: I32) -> "RecordedRows":
        """Change numbers, as `RecordedPart.renumber` does."""
        return replace(self, parts=[part.renumber(thread, stack) for part in self.parts])

    def rows(self, start: int, stop: int) -> tuple[I32, I32]:
        """Return (n,) thread and (n,) stack of rows ``start`` to ``stop`` − 1; dropped samples have thread −1."""
        found, end = [np.zeros((2, 0), np.int32)], 0
        for part in self.parts:
            begin, end = end, end + part.stop - part.start
            # the part's requested rows
            first, first_after = max(start, begin), min(stop, end)
            if first < first_after:
                columns = self.spools[part.spool].read(first - begin + part.start, first_after - begin + part.start)
                for column, current in zip(columns, (part.thread, part.stack), strict=True):
                    column[:] = column if current is None else np.append(current, np.int32(-1))[column]  # −1 stays −1
                found.append(columns)
        thread, stack = np.concatenate(found, axis=1)
        return np.where(stack == DROPPED, np.int32(-1), thread), stack


def position_checksum(position: I64) -> int:
    """Checksum of positions, by which a second pass recognizes the samples."""
    return crc32(position.tobytes())


def _renumbered(current: I32 | None, new: I32) -> I32:
    """``current`` is from stored to current numbers (None: they are equal), ``new`` from current to new ones."""
    return new if current is None else np.append(new, as_int32([DROPPED, -1]))[current]  # −2 and −1 stay
