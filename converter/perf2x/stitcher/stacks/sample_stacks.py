"""Stores the thread and stack of each sample, for formats that make a second pass over the recording.

Each process writes its own spool; the parent creates all spools before forking and reads them at the end. A part is a
run of rows of one spool.

::

    parent            |part of spool 0|                         |part of spool 0|   redoes the shard of a dead worker
    workers                            |spool 1|      |spool 2|
    rows              |in the order of the file: shards concatenated    |
"""

import numpy as np

from perf2x.base.columnar import I32, I64, GrowableColumns
from perf2x.base.files.row_spool import RowSpool
from perf2x.model.profile import RecordedPart, RecordedRows, check_of
from perf2x.model.recording import Samples


class RecordedSpools:
    """Collects the thread and stack of each sample, batch by batch, possibly in several processes."""

    def __init__(self) -> None:
        self._spools = [RowSpool(2)]
        self._own, self._begin = 0, 0
        """This process's spool, and its first row that is not in a part yet."""
        self._parts: list[RecordedPart] = []
        self._count = 0
        """Total number of rows."""
        self._batches = GrowableColumns(np.int64, 4)
        """Of each batch: end, earliest time (without times, first position), first position, checksum of positions."""

    def create_worker_spools(self, processes: int) -> None:
        """Create the spools of further processes. Raises FormatError if there is no space."""
        self._spools += [RowSpool(2) for _ in range(1, processes)]
        for spool in self._spools[1:]:
            spool.open()

    def use_spool_of(self, process: int) -> None:
        """Switch to the spool of a forked process; 0 is the parent."""
        self._own = process

    def add(self, samples: Samples, kept: I64 | slice, thread: I32, stack: I32) -> None:
        """Add a batch; only samples in ``kept`` have a thread and a stack. Raises FormatError if there is no space."""
        rows = np.full((2, len(samples)), -1, np.int32)
        rows[:, kept] = thread, stack
        self._spools[self._own].extend(*rows)
        self._count += len(samples)
        first = samples.position[:1] if samples.time is None else samples.time.min(keepdims=True).view(np.int64)
        self._batches.extend(self._count, first, samples.position[:1], check_of(samples.position))

    def absorb(self, rows: RecordedRows) -> None:
        """Add the rows of another process, renumbered for this one."""
        self._end_part()
        first = rows.batch_first.view(np.int64)
        self._batches.extend(rows.batch_end + self._count, first, rows.batch_position, rows.batch_check)
        self._parts += rows.parts
        self._count += sum(part.stop - part.start for part in rows.parts)

    def rows(self) -> RecordedRows:
        """Return all rows; those of another process refer to the parent's spools."""
        self._end_part()
        if self._own:
            self._spools[self._own].flush()
        end, first, position, check = self._batches.columns()
        spools = [] if self._own else self._spools
        return RecordedRows(self._parts, end, first.view(np.uint64), position, check, spools)

    def _end_part(self) -> None:
        begin, self._begin = self._begin, len(self._spools[self._own])
        if begin < self._begin:
            self._parts.append(RecordedPart(self._own, begin, self._begin))
