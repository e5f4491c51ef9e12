"""A dataset's names of a profile's places, for the symbolizer."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    as_int64,
    begins_run,
    flatnonzero,
    group_rows,
    lexsort,
    minus_ones,
    ranges,
    searchsorted,
)
from perf2x.base.columnar.hashing import hash_columns
from perf2x.model.profile import FunctionRow, PlaceNames, Profile
from perf2x.sources.dataset.arrow_columns import coded, flat, is_known, numbers, rows_of_table, texts
from perf2x.sources.dataset.dataset_schema import LINE
from perf2x.sources.dataset.place_keys import PlaceKeys, keys_of_rows
from perf2x.sources.dataset.read.dataset_part import DatasetPart
from perf2x.sources.dataset.read.restore_profile import Restored
from perf2x.sources.dataset.write.profile_places import ProfilePlaces, profile_places
from perf2x.symbolizer.known.known_names import NameTable
from perf2x.symbolizer.known.location_names import LocationNames
from perf2x.symbolizer.object_resolver import function_row
from perf2x.symbolizer.sources.symbol_source import Function
from perf2x.symbolizer.symbol_options import NameStyle

if TYPE_CHECKING:
    import pyarrow


class PlaceIndex:
    """Finds the row of a place in a table that has the columns of ``KEY``, by a hash of these columns."""

    def __init__(self, rows: "pyarrow.Table", rank: AnyArray) -> None:
        """``rank``: of several rows of the same place, the one with the lowest rank is found."""
        code, known = texts(rows, "object_id")
        self._object = {one: number for number, one in enumerate(known)}
        self._columns = _columns(code, keys_of_rows(rows))
        hashes = hash_columns(*self._columns)
        order = lexsort((rank, hashes))
        self._row: I64 = order[begins_run(hashes[order])]
        self._hashes = hashes[self._row]

    def rows_of(self, places: ProfilePlaces) -> I64:
        """Return the row of each place; −1 for a place without a row."""
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


def known_names(
    profile: Profile, restored: Restored, part: DatasetPart, ident: str, style: NameStyle, *, inline: bool
) -> LocationNames:
    """Return the names of a profile's locations and of their exact twins.

    Names stored with a recording come before those stored for the object. ``restored`` is what the profile was made
    from, ``ident`` the id of the recording to which kernel code outside all mappings belongs. Without ``inline``, only
    the outermost function of each place is returned.
    """
    own = PlaceLines(rows_of_table(restored.places, flatnonzero(is_known(restored.places, "lines"))))
    of_objects = part.of_symbols(PlaceLines)
    places, table = profile_places(profile.locations, restored.objects, bytes.fromhex(ident)), NameTable()
    found = own.rows_of(places)
    table.add(own.names(found, style, inline=inline))
    table.add(of_objects.names(np.where(found < 0, of_objects.rows_of(places), -1), style, inline=inline))
    return LocationNames(table.names(), restored.looked_up, kernel_looked_up=False)


class PlaceLines(PlaceIndex):
    """Rows with the lines of places, found by place."""

    def __init__(self, rows: "pyarrow.Table") -> None:
        lists = flat(rows, "lines")
        self._offsets = as_int64(lists.offsets.to_numpy())
        super().__init__(rows, np.diff(self._offsets) == 0)  # rows with lines come first
        self._flags = [numbers(rows, name).astype(np.bool_) for name in ("is_exact", "has_inlines")]
        *words, self._line, self._start_line = (lists.values.field(number) for number in range(len(LINE)))
        self._words = [(code, [*known, ""]) for code, known in map(coded, words)]  # the appended text is for null

    def names(self, found: I64, style: NameStyle, *, inline: bool) -> PlaceNames:
        """Return the names of places in the rows ``found`` (places,), −1 for none."""
        place = flatnonzero(found >= 0)
        row = found[place]
        first, count = self._offsets[row], np.diff(self._offsets)[row]
        if not inline:
            first, count = first + np.maximum(count - 1, 0), np.minimum(count, 1)
        functions, function, line = self._functions(ranges(first, count), style)
        is_exact, has_inlines = (flags[row] for flags in self._flags)
        return PlaceNames(place, count, is_exact, has_inlines & inline, function, line, functions)

    def _functions(self, rows: I64, style: NameStyle) -> tuple[list[FunctionRow], I64, I64]:
        """Return the distinct functions of some lines, the function of each line, and its line number."""
        line, start_line = (
            as_int64(column.to_numpy(zero_copy_only=False)[rows]) for column in (self._line, self._start_line)
        )
        first, group = group_rows([*(code[rows] for code, _ in self._words), start_line])
        named = [[known[row] for row in code[rows][first].tolist()] for code, known in self._words]
        functions = [
            function_row(Function(system_name, name, file, start), style)
            for name, system_name, file, start in zip(*named, start_line[first].tolist(), strict=True)
        ]
        return functions, group, line
