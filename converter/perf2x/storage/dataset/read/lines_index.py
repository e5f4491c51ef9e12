"""Finds the lines of some places among those of a whole dataset."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.columnar.arrays import I64, U8
from perf2x.base.columnar.ragged import ranges
from perf2x.storage.dataset.content_ids import distinct_ids, id_order
from perf2x.storage.dataset.id_index import IdIndex
from perf2x.storage.dataset.parquet_files import id_rows

if TYPE_CHECKING:
    import pyarrow


class LinesIndex:
    """The table of lines, ordered once: each recording asks for its own places."""

    def __init__(self, lines: "pyarrow.Table") -> None:
        self._lines = lines
        ids = id_rows(lines, "place_id")
        self._order, starts = id_order(ids)
        self._first = np.flatnonzero(starts)
        self._count = np.diff(np.append(self._first, len(self._order)))
        self._places = IdIndex(ids[self._order[self._first]])

    def of(self, places: U8) -> tuple["pyarrow.Table", I64]:
        """Lines of places (n, 16) in the table's order, and (lines,) the place of each; of equal ones the first."""
        distinct = distinct_ids(places)
        run = self._places.find(places[distinct])
        place, run = distinct[run >= 0], run[run >= 0]
        rows = self._order[ranges(self._first[run], self._count[run])]
        order = np.argsort(rows)
        return self._lines.take(rows[order]), np.repeat(place, self._count[run])[order]
