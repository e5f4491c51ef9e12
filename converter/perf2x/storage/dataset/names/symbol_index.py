"""Finds names of places among those of all objects of a dataset, or of one recording."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, begins_run, flatnonzero, lexsort, repeat, searchsorted
from perf2x.base.columnar.hashing import hash_columns
from perf2x.base.columnar.ragged import ranges
from perf2x.storage.dataset.parquet_files import numbers, texts
from perf2x.storage.dataset.write.profile_places import ProfilePlaces
from perf2x.storage.dataset.write.table_rows import modes_of

if TYPE_CHECKING:
    import pyarrow

NAMES = ["function", "system_name", "file", "line", "start_line", "is_exact", "has_inlines"]
"""Columns that lines and symbols have."""


class SymbolIndex:
    """Rows of names, ordered once by a hash of what tells places apart: each recording asks for its own."""

    def __init__(self, names: "pyarrow.Table", keys: "pyarrow.Table") -> None:
        """``keys``: the row of each name that says the place, in columns of ``places``."""
        code, known = texts(keys, "object_id")
        self._object = {one: number for number, one in enumerate(known)}
        offset = numbers(keys, "file_offset").astype(np.int64)
        flags = _flags(modes_of(keys), numbers(keys, "is_return"), numbers(keys, "variant"))
        self._columns = (code.astype(np.int64), offset, flags)
        depth, hashes = numbers(names, "depth"), hash_columns(*self._columns)
        is_named = np.array([*texts(names, "function")[1], ""], np.bool_)[texts(names, "function")[0]]
        order = lexsort((~is_named, depth, hashes))
        self._order: I64 = order[begins_run(hashes[order], depth[order])]  # rows that stand twice are one
        ordered = hashes[self._order]
        self._first = flatnonzero(begins_run(ordered))
        self._count = np.diff(np.append(self._first, len(ordered)))
        self._hashes = ordered[self._first]
        self._names = names

    def of(self, places: ProfilePlaces, without: I64 | None = None) -> tuple["pyarrow.Table", I64]:
        """Names of places, innermost first, and (names,) the place of each, rising; not of those ``without``."""
        everything = slice(0, len(places.location))
        objects = np.array([self._object.get(one, -1) for one in places.object_ids], np.int64)
        mode = places.locations.mode[places.location]
        columns = (
            objects[places.object(everything)],
            places.offset(everything).view(np.int64),
            _flags(mode, places.is_return, places.variant(everything)),
        )
        wanted = columns[0] >= 0
        wanted[[] if without is None else without] = False
        place = flatnonzero(wanted)
        run = self._runs_of(*(column[place] for column in columns))
        place, run = place[run >= 0], run[run >= 0]
        rows = self._order[ranges(self._first[run], self._count[run])]
        return self._names.take(rows), repeat(place, self._count[run])

    def _runs_of(self, *columns: I64) -> I64:
        """(n,) the run of names of each place, −1 for none."""
        if not len(self._hashes):
            return np.full(len(columns[0]), -1, np.int64)
        hashes = hash_columns(*columns)
        run = np.minimum(searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        row = self._order[self._first[run]]
        same = self._hashes[run] == hashes
        for mine, theirs in zip(columns, self._columns, strict=True):
            same &= mine == theirs[row]
        return np.where(same, run, -1)


def _flags(mode: AnyArray, is_return: AnyArray, variant: AnyArray) -> I64:
    flags: I64 = variant.astype(np.int64) << 8 | mode.astype(np.int64) << 1 | is_return.astype(np.int64)
    return flags
