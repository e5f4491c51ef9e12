"""Stores rows of 32-bit numbers in a temporary file: there may be a row for each sample, too many for memory."""

import numpy as np

from perf2x.base.columnar import I32
from perf2x.base.files.unpack_limit import Spool

_BYTES_AT_ONCE = 1 << 20
"""Bytes of rows to collect in memory before writing them to the file."""


class RowSpool:
    """Rows of int32 numbers; rows are appended, and can be read at any time, in any order."""

    def __init__(self, columns: int) -> None:
        """``columns`` is the number of numbers in a row."""
        self._columns, self._row_size = columns, 4 * columns
        self._unwritten: list[I32] = []
        self._rows = self._written = 0
        """The number of all rows, and the number of rows that are in the file already."""
        self._spool: Spool | None = None

    def __len__(self) -> int:
        return self._rows

    def open(self) -> None:
        """Create the file now, not only when it is first written. Raises FormatError if the disk is full.

        Open a spool before forking a process that writes to it, so that this process can read the file.
        """
        self._spool = self._spool or Spool("samples")

    def extend(self, *columns: I32) -> None:
        """Append n rows, given as columns (n,). Raises FormatError if the disk is full."""
        self._unwritten.append(np.column_stack(columns))
        self._rows += len(columns[0])
        if self._row_size * (self._rows - self._written) > _BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are still in memory to the file."""
        self.open()
        assert self._spool is not None
        self._spool.file.seek(self._written * self._row_size)
        for rows in self._unwritten:
            self._spool.write(rows.tobytes())
        self._spool.file.flush()
        self._unwritten, self._written = [], self._rows

    def read(self, start: int, stop: int) -> I32:
        """Return rows ``start`` to ``stop`` - 1 as a new array of shape (columns, rows)."""
        if self._spool is None:
            rows = np.concatenate([np.zeros((0, self._columns), np.int32), *self._unwritten])[start:stop].copy()
        else:
            if self._unwritten:
                self.flush()
            self._spool.file.seek(start * self._row_size)
            rows = np.frombuffer(bytearray(self._spool.file.read((stop - start) * self._row_size)), np.int32)
        return rows.reshape(-1, self._columns).T
