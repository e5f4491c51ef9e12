"""Finds names of places by what tells places apart, whichever recording has them."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.columnar import I64, AnyArray, as_int64, begins_run, lexsort, minus_ones, searchsorted
from perf2x.base.columnar.hashing import hash_columns
from perf2x.sources.dataset.arrow_columns import texts
from perf2x.sources.dataset.place_keys import PlaceKeys, keys_of_rows
from perf2x.sources.dataset.write.profile_places import ProfilePlaces

if TYPE_CHECKING:
    import pyarrow


class PlaceIndex:
    """Rows of a table with the columns of ``KEY``, ordered once by a hash of them; of equal ones the first counts."""

    def __init__(self, rows: "pyarrow.Table", rank: AnyArray) -> None:
        """``rank`` tells which of equal ones goes first."""
        code, known = texts(rows, "object_id")
        self._object = {one: number for number, one in enumerate(known)}
        self._columns = _columns(code, keys_of_rows(rows))
        hashes = hash_columns(*self._columns)
        order = lexsort((rank, hashes))
        self._row: I64 = order[begins_run(hashes[order])]
        self._hashes = hashes[self._row]

    def rows_of(self, places: ProfilePlaces) -> I64:
        """Return (places,) the row of names of each place; −1 for none."""
        known = as_int64([*(self._object.get(one, -1) for one in places.object_ids), -1])
        columns = _columns(known[places.object], places.keys)
        if not len(self._hashes):
            return minus_ones(len(places.object))
        row = self._row[np.minimum(searchsorted(self._hashes, hash_columns(*columns)), len(self._hashes) - 1)]
        same = columns[0] >= 0
        for mine, theirs in zip(columns, self._columns, strict=True):
            same &= mine == theirs[row]
        return np.where(same, row, -1)


def _columns(code: I64, keys: PlaceKeys) -> tuple[I64, I64, I64]:
    return code, keys.offset.view(np.int64), keys.flags()
