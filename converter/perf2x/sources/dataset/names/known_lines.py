"""Looks up the names that a dataset stores for the places of a profile.

Names in the table of places belong to one recording; those in the table of symbols to an object, in all recordings.
"""

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
from perf2x.sources.dataset.arrow_columns import (
    as_one_array,
    encode_strings,
    has_value,
    numbers,
    rows_of_table,
    string_codes,
)
from perf2x.sources.dataset.dataset_schema import LINE_FIELDS
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
    """Finds the rows of places by a hash of their key columns (``KEY`` in dataset_schema.py)."""

    def __init__(self, rows: "pyarrow.Table", rank: AnyArray) -> None:
        """Of several rows for one place, the one with the lowest ``rank`` (n,) counts."""
        codes, object_ids = string_codes(rows, "object_id")
        self._code_of_object = {ident: code for code, ident in enumerate(object_ids)}
        self._columns = _key_columns(codes, keys_of_rows(rows))
        hashes = hash_columns(*self._columns)
        order = lexsort((rank, hashes))
        self._rows: I64 = order[begins_run(hashes[order])]
        self._hashes = hashes[self._rows]

    def rows_of(self, places: ProfilePlaces) -> I64:
        """Return (places,) the row of each place; −1 for none."""
        # the last code is for places without an object (−1)
        codes = as_int64([*(self._code_of_object.get(ident, -1) for ident in places.object_ids), -1])
        columns = _key_columns(codes[places.object], places.keys)
        if not len(self._hashes):
            return minus_ones(len(places.object))
        row = self._rows[np.minimum(searchsorted(self._hashes, hash_columns(*columns)), len(self._hashes) - 1)]
        is_equal = columns[0] >= 0
        for searched, stored in zip(columns, self._columns, strict=True):
            is_equal &= searched == stored[row]
        return np.where(is_equal, row, -1)


def _key_columns(code: I64, keys: PlaceKeys) -> tuple[I64, I64, I64]:
    return code, keys.offset.view(np.int64), keys.packed()


def known_names(
    profile: Profile, restored: Restored, part: DatasetPart, ident: str, style: NameStyle, *, inline: bool
) -> LocationNames:
    """Return the names of a profile's locations and of their twins; those of the recording count first.

    ``ident`` is the id of the recording to which kernel code outside all mappings belongs. Without ``inline``, only
    outermost functions are returned.
    """
    of_recordings = PlaceLines(rows_of_table(restored.places, flatnonzero(has_value(restored.places, "lines"))))
    of_objects = part.made_of_symbols(PlaceLines)
    places, table = profile_places(profile.locations, restored.objects, bytes.fromhex(ident)), NameTable()
    row = of_recordings.rows_of(places)
    table.add(of_recordings.names(row, style, inline=inline))
    table.add(of_objects.names(np.where(row < 0, of_objects.rows_of(places), -1), style, inline=inline))
    return LocationNames(table.names(), restored.looked_up, kernel_looked_up=False)


class PlaceLines(PlaceIndex):
    """Names of places, in the table of places or of symbols."""

    def __init__(self, rows: "pyarrow.Table") -> None:
        """Of several rows for one place, one with lines counts."""
        lists = as_one_array(rows, "lines")
        self._offsets = as_int64(lists.offsets.to_numpy())
        super().__init__(rows, np.diff(self._offsets) == 0)
        self._flags = [numbers(rows, name).astype(np.bool_) for name in ("is_exact", "has_inlines")]
        *string_columns, self._line, self._start_line = (lists.values.field(index) for index in range(len(LINE_FIELDS)))
        # for function, system name and file: codes of the lines, and distinct strings ("" for code −1)
        self._strings = [(codes, [*distinct, ""]) for codes, distinct in map(encode_strings, string_columns)]

    def names(self, row_of_place: I64, style: NameStyle, *, inline: bool) -> PlaceNames:
        """Return the names of places by row (places,); −1 for none."""
        place = flatnonzero(row_of_place >= 0)
        row = row_of_place[place]
        first, count = self._offsets[row], np.diff(self._offsets)[row]
        if not inline:  # the last line is that of the outermost function
            first, count = first + np.maximum(count - 1, 0), np.minimum(count, 1)
        functions, function, line = self._functions(ranges(first, count), style)
        is_exact, has_inlines = (flags[row] for flags in self._flags)
        return PlaceNames(place, count, is_exact, has_inlines & inline, function, line, functions)

    def _functions(self, rows: I64, style: NameStyle) -> tuple[list[FunctionRow], I64, I64]:
        """Return distinct functions, and for n lines the index (n,) of the function, and the line number (n,).

        ``rows`` (n,) are indices of the lines among the lines of all places.
        """
        line, start_line = (
            as_int64(column.to_numpy(zero_copy_only=False)[rows]) for column in (self._line, self._start_line)
        )
        first, function = group_rows([*(codes[rows] for codes, _ in self._strings), start_line])
        columns = [[distinct[code] for code in codes[rows][first].tolist()] for codes, distinct in self._strings]
        functions = [
            function_row(Function(system_name, name, file, start), style)
            for name, system_name, file, start in zip(*columns, start_line[first].tolist(), strict=True)
        ]
        return functions, function, line
