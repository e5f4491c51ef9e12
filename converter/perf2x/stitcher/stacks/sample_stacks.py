"""Stores the thread and stack of each sample, for formats that make a second pass over the recording.

Each process writes to a spool of its own, a temporary file (`RowSpool`). The parent creates all spools before it forks,
and reads them at the end. A *part* is a run of rows in one spool; the parts are in the order of the file.
"""

import numpy as np

from perf2x.base.columnar import I32, I64, GrowableColumns
from perf2x.base.files.row_spool import RowSpool
from perf2x.model.profile import RecordedPart, RecordedRows, position_checksum
from perf2x.model.recording import Samples


class SampleSpools:
    """Collects the thread and stack of each sample, batch by batch."""

    def __init__(self) -> None:
        self._spools = [RowSpool(2)]
        self._spool_index, self._part_begin = 0, 0
        """This process's spool, and the first row in it that is not in a part yet."""
        self._parts: list[RecordedPart] = []
        self._count = 0
        """Number of all rows."""
        self._batches = GrowableColumns(np.int64, 4)
        """Columns, a row per batch: end among all rows, earliest time (or position), first position, checksum."""

    def create_worker_spools(self, process_count: int) -> None:
        """Create a spool for each worker; ``process_count`` includes the parent. Raises FormatError without space."""
        self._spools += [RowSpool(2) for _ in range(1, process_count)]
        for spool in self._spools[1:]:
            spool.open()

    def use_spool_of(self, process: int) -> None:
        """Let ``add`` write to the spool of this worker; workers are numbered from 1."""
        self._spool_index = process

    def add(self, samples: Samples, kept_rows: I64 | slice, thread: I32, stack: I32) -> None:
        """Add a batch. Raises FormatError if there is no space.

        ``thread`` and ``stack`` are those of the samples ``kept_rows``; the others get −1.
        """
        rows = np.full((2, len(samples)), -1, np.int32)
        rows[:, kept_rows] = thread, stack
        self._spools[self._spool_index].extend(*rows)
        self._count += len(samples)
        earliest = samples.position[:1] if samples.time is None else samples.time.min(keepdims=True).view(np.int64)
        self._batches.extend(self._count, earliest, samples.position[:1], position_checksum(samples.position))

    def absorb(self, rows: RecordedRows) -> None:
        """Add the rows of another process, renumbered for this one."""
        self._end_part()
        earliest = rows.batch_earliest.view(np.int64)
        self._batches.extend(rows.batch_end + self._count, earliest, rows.batch_position, rows.batch_checksum)
        self._parts += rows.parts
        self._count += sum(part.stop - part.start for part in rows.parts)

    def rows(self) -> RecordedRows:
        """Return all rows; those of a worker refer to spools by the parent's numbers."""
        self._end_part()
        if self._spool_index:
            self._spools[self._spool_index].flush()
        end, earliest, position, check = self._batches.columns()
        spools = [] if self._spool_index else self._spools
        return RecordedRows(self._parts, end, earliest.view(np.uint64), position, check, spools)

    def _end_part(self) -> None:
        begin, self._part_begin = self._part_begin, len(self._spools[self._spool_index])
        if begin < self._part_begin:
            self._parts.append(RecordedPart(self._spool_index, begin, self._part_begin))
