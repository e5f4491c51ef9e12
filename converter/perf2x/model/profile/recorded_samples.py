"""Thread and stack of every single sample, in file order, for formats that read the samples again."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, I64, U64, Frozen, as_int32
from perf2x.base.files.row_spool import RowSpool

NEVER = 2**64 - 1
"""A time later than all samples."""


DROPPED = -2
"""The stack of samples that a transformation of stacks dropped."""


class RecordedPart(Frozen):
    """A run of rows in one spool, and the mapping from their stored numbers to current ones."""

    spool: int
    """Index of the spool in RecordedRows."""
    start: int
    stop: int
    thread: I32 | None = None
    stack: I32 | None = None
    """Current number of each stored number, as in ``thread``; None: the stored numbers are current."""

    def renumber(self, thread: I32 | None, stack: I32) -> "RecordedPart":
        """Replace number i by ``thread[i]`` and ``stack[i]``."""
        threads = self.thread if thread is None else _renumbered(self.thread, thread)
        return replace(self, thread=threads, stack=_renumbered(self.stack, stack))


class RecordedRows(Frozen):
    """Thread and stack of each sample in file order, spooled to disk if there are many."""

    parts: list[RecordedPart]
    batch_end: I64
    """(batches,) one past the last row of each stitched batch."""
    batch_first: U64
    """(batches,) the earliest time of each batch, or the first position if samples have no times."""
    batch_position: I64
    """(batches,) position of each batch's first sample."""
    batch_check: I64
    """(batches,) ``check_of`` the positions of each batch's samples."""
    spools: Sequence[RowSpool] = ()

    def renumber(self, thread: I32 | None, stack: I32) -> "RecordedRows":
        """Replace number i by ``thread[i]`` and ``stack[i]``; −1 stays."""
        return replace(self, parts=[part.renumber(thread, stack) for part in self.parts])

    def rows(self, start: int, stop: int) -> tuple[I32, I32]:
        """Return (n,) thread and (n,) stack of the rows from ``start`` to ``stop``; dropped samples have thread −1."""
        found, end = [np.zeros((2, 0), np.int32)], 0
        for part in self.parts:
            begin, end = end, end + part.stop - part.start
            first, last = max(start, begin), min(stop, end)
            if first < last:
                rows = self.spools[part.spool].read(first - begin + part.start, last - begin + part.start)
                for row, number in zip(rows, (part.thread, part.stack), strict=True):
                    row[:] = row if number is None else np.append(number, np.int32(-1))[row]
                found.append(rows)
        thread, stack = np.concatenate(found, axis=1)
        return np.where(stack == DROPPED, np.int32(-1), thread), stack


def check_of(position: I64) -> int:
    """Return a checksum of positions: a second reading must see the same samples."""
    return crc32(position.tobytes())


def _renumbered(number: I32 | None, new: I32) -> I32:
    return new if number is None else np.append(new, as_int32([DROPPED, -1]))[number]
