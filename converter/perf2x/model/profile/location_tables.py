"""Selects and concatenates rows of Profile.locations with their lines."""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I64, ListArray, arange, join_tables, offsets_of
from perf2x.model.profile.profile import Locations

_OF_LINES = ("line_function", "line_number")


def take_locations(locations: Locations, rows: I64) -> Locations:
    """Return these locations, in this order."""
    lines = ListArray(locations.line_offsets, arange(len(locations.line_function)))[rows]
    names = (name for name in Locations.__struct_fields__ if name != "line_offsets")
    columns = {name: getattr(locations, name)[lines.values if name in _OF_LINES else rows] for name in names}
    return Locations(**columns, line_offsets=lines.offsets)


def join_locations(parts: Sequence[Locations]) -> Locations:
    """Concatenate the locations of every part."""
    lengths = np.concatenate([np.diff(part.line_offsets) for part in parts])
    return replace(join_tables(parts), line_offsets=offsets_of(lengths))
