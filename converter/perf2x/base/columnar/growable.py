"""Columns that grow at their end, batch by batch, at a cost that does not depend on how long they already are."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar.arrays import AnyArray


class GrowableColumns:
    """Equally long columns of one dtype in one buffer, replaced by one four times as long when it is full."""

    def __init__(self, dtype: npt.DTypeLike, columns: int = 1) -> None:
        self._buffer = np.zeros((columns, 1024), dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def extend(self, *columns: AnyArray | int) -> None:
        """Append to every column; a number stands for as many of it as the longest column has rows."""
        count = max(len(column) for column in columns if not isinstance(column, int))
        end = self._used + count
        if end > self._buffer.shape[1]:
            self._grow(end)
        for row, column in zip(self._buffer, columns, strict=True):
            row[self._used : end] = column
        self._used = end

    def shorten(self, rows: int) -> None:
        """Drop all rows but the first ``rows``."""
        self._used = min(self._used, rows)

    def columns(self) -> Sequence[AnyArray]:
        """Return each column, (rows,): writable views that are valid until the table grows."""
        return list(self._buffer[:, : self._used])

    def whole(self) -> AnyArray:
        """Return all columns, (columns, rows), as one view."""
        view: AnyArray = self._buffer[:, : self._used]
        return view

    def __getitem__(self, column: int) -> AnyArray:
        view: AnyArray = self._buffer[column, : self._used]
        return view

    def _grow(self, needed: int) -> None:
        capacity = max(needed, 4 * self._buffer.shape[1])
        # Pages that nothing is written to take no memory, so a large step costs less copying and nothing else.
        grown = np.empty((len(self._buffer), capacity), self._buffer.dtype)
        grown[:, : self._used] = self._buffer[:, : self._used]
        self._buffer = grown
