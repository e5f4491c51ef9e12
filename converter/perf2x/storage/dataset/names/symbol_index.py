"""Finds names of places by what tells places apart, whichever recording has them."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, begins_run, lexsort, searchsorted
from perf2x.base.columnar.hashing import hash_columns
from perf2x.storage.dataset.arrow_columns import numbers, texts
from perf2x.storage.dataset.write.table_rows import modes_of

if TYPE_CHECKING:
    import pyarrow


class PlaceIndex:
    """Rows of a table with the columns of ``KEY``, ordered once by a hash of them; of equal ones the first counts."""

    def __init__(self, rows: "pyarrow.Table", rank: AnyArray) -> None:
        """``rank`` tells which of equal ones goes first."""
        code, known = texts(rows, "object_id")
        self._object = {one: number for number, one in enumerate(known)}
        offset = numbers(rows, "file_offset").astype(np.int64)
        flags = _flags(modes_of(rows), numbers(rows, "is_return"), numbers(rows, "variant"))
        self._columns = (code, offset, flags)
        hashes = hash_columns(*self._columns)
        order = lexsort((rank, hashes))
        self._row: I64 = order[begins_run(hashes[order])]
        self._hashes = hashes[self._row]

    def rows_of(
        self, objects: list[str], object_row: I64, offset: AnyArray, mode: AnyArray, is_return: AnyArray, variant: I64
    ) -> I64:
        """(n,) the row of names of each place, whose object is one of ``objects``; −1 for none."""
        known = np.array([*(self._object.get(one, -1) for one in objects), -1], np.int64)
        columns = (known[object_row], offset.view(np.int64), _flags(mode, is_return, variant))
        if not len(self._hashes):
            return np.full(len(object_row), -1, np.int64)
        hashes = hash_columns(*columns)
        row = self._row[np.minimum(searchsorted(self._hashes, hashes), len(self._hashes) - 1)]
        same = columns[0] >= 0
        for mine, theirs in zip(columns, self._columns, strict=True):
            same &= mine == theirs[row]
        return np.where(same, row, -1)


def _flags(mode: AnyArray, is_return: AnyArray, variant: AnyArray) -> I64:
    flags: I64 = variant.astype(np.int64) << 8 | mode.astype(np.int64) << 1 | is_return.astype(np.int64)
    return flags
