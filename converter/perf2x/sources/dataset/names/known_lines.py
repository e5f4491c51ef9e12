"""Names that a dataset has of a profile's places, as the symbolizer takes them."""

from typing import Any

import numpy as np

from perf2x.base.columnar import I64, as_int64, flatnonzero, group_rows, ranges
from perf2x.model.profile import FunctionRow, PlaceNames, Profile
from perf2x.sources.dataset.arrow_columns import coded, flat, is_known, numbers
from perf2x.sources.dataset.dataset_schema import KEY, LINE, arrow
from perf2x.sources.dataset.names.symbol_index import PlaceIndex
from perf2x.sources.dataset.read.dataset_part import DatasetPart
from perf2x.sources.dataset.read.restore_profile import Restored
from perf2x.sources.dataset.write.profile_places import UNMAPPED, profile_places
from perf2x.symbolizer.known.place_names import LocationNames
from perf2x.symbolizer.object_resolver import function_row
from perf2x.symbolizer.sources.symbol_source import Function
from perf2x.symbolizer.symbol_options import NameStyle

_COLUMNS = [*KEY, "lines", "is_exact", "has_inlines"]


def known_names(
    profile: Profile, restored: Restored, part: DatasetPart, ident: str, style: NameStyle, *, inline: bool = True
) -> LocationNames:
    """Find the names of a profile's locations, and of their exact twins: those of its recordings, else of its objects.

    ``restored`` is what the profile was made of, ``ident`` the recording with kernel code outside of all mappings.
    Without ``inline`` of each place only the function that it really belongs to.
    """
    own = restored.places.select(_COLUMNS).take(flatnonzero(is_known(restored.places, "lines")))
    symbols = part.symbols({*restored.objects.ids, UNMAPPED})
    both = arrow().concat_tables([own, symbols.select(_COLUMNS)], promote_options="default")  # either may lack lines
    table = both.unify_dictionaries().combine_chunks()
    lists = flat(table, "lines")
    offsets = as_int64(lists.offsets.to_numpy())
    of_objects = np.where(np.diff(offsets) > 0, 1, 2)  # a recording's own names count, then those of any object
    of_objects[: len(own)] = 0
    index = PlaceIndex(table, of_objects)
    found = index.rows_of(profile_places(profile.locations, restored.objects, bytes.fromhex(ident)))
    place = flatnonzero(found >= 0)
    row = found[place]
    first, count = offsets[row], offsets[row + 1] - offsets[row]
    if not inline:
        first, count = first + np.maximum(count - 1, 0), np.minimum(count, 1)
    functions, function, line = _functions(lists.values, ranges(first, count), style)
    names = PlaceNames(
        place=place,
        count=count,
        is_exact=numbers(table, "is_exact").astype(np.bool_)[row],
        has_inlines=numbers(table, "has_inlines").astype(np.bool_)[row] & inline,
        function=function,
        line=line,
        functions=functions,
    )
    return LocationNames(names, restored.looked_up, kernel_looked_up=False)


def _functions(lines: Any, rows: I64, style: NameStyle) -> tuple[list[FunctionRow], I64, I64]:
    """The distinct functions of some lines as the profile has them, (rows,) the function of each, and its line."""
    columns = [(code, [*known, ""]) for code, known in (coded(lines.field(number)) for number in range(3))]  # no null
    line, start_line = (as_int64(lines.field(LINE.index(name)).to_numpy(zero_copy_only=False)[rows])
                        for name in ("line", "start_line"))  # fmt: skip
    first, group = group_rows([*(code[rows] for code, _ in columns), start_line])
    named = [[known[row] for row in code[rows][first].tolist()] for code, known in columns]
    functions = [
        function_row(Function(system_name, name, file, start), style)
        for name, system_name, file, start in zip(*named, start_line[first].tolist(), strict=True)
    ]
    return functions, group, line
