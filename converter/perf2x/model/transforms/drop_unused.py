"""Removes unused rows from a profile's tables, so that outputs disclose nothing beyond the selected samples.

Also removes the placeholder addresses of profiles that were read from text.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import AnyArray, Bools, falses, flatnonzero, new_rows, take_rows_of
from perf2x.model.profile import Profile, take_locations, with_callers

TEXTS = {
    "threads": ("comm", "process"),
    "mappings": ("filename", "build_id"),
    "functions": ("name", "system_name", "filename"),
}
"""Columns whose values are rows of Profile.strings."""


def compact(profile: Profile) -> Profile:
    """Return the profile with only those rows in its tables that samples use, in the same order.

    Switches of threads without samples are dropped, too.
    """
    used = with_callers(profile.stacks.parent, profile.samples.stack)
    profile = _renumbered(profile, used, {"stacks": ("parent",), "samples": ("stack",)})
    profile = replace(profile, stacks=take_rows_of(profile.stacks, used))
    used = _used(len(profile.locations), profile.stacks.location)
    profile = _renumbered(profile, used, {"stacks": ("location",)})
    profile = replace(profile, locations=take_locations(profile.locations, flatnonzero(used)))
    for table, column in (("functions", "line_function"), ("mappings", "mapping")):
        used = _used(len(getattr(profile, table)), getattr(profile.locations, column))
        profile = _renumbered(profile, used, {"locations": (column,)})
        profile = replace(profile, **{table: take_rows_of(getattr(profile, table), used)})
    return _compact_strings(_compact_threads(profile))


def without_places(profile: Profile) -> Profile:
    """Set the numbers that stand in for addresses in a profile read from text to 0; remove objects without a name."""
    mappings, locations = profile.mappings, profile.locations
    nowhere = mappings.limit == 0
    if not nowhere.any():
        return profile
    kept = ~(nowhere & (mappings.filename == 0))
    is_place = np.append(nowhere, True)[locations.mapping]
    address, lookup = (np.where(is_place, np.uint64(0), one) for one in (locations.address, locations.lookup))
    locations = replace(locations, address=address, lookup=lookup, mapping=new_rows(kept)[locations.mapping])
    return replace(profile, mappings=take_rows_of(mappings, kept), locations=locations)


def _compact_threads(profile: Profile) -> Profile:
    used = _used(len(profile.threads), profile.samples.thread)
    parents = None if profile.parents is None else new_rows(used)[profile.parents[used]]
    profile = _renumbered(profile, used, {"samples": ("thread",), "switches": ("thread",)})
    switches = profile.switches and take_rows_of(profile.switches, profile.switches.thread >= 0)
    return replace(profile, threads=take_rows_of(profile.threads, used), switches=switches, parents=parents)


def _compact_strings(profile: Profile) -> Profile:
    columns = TEXTS | {"samples": ("cgroup",)}
    texts = [getattr(getattr(profile, table), name) for table, names in columns.items() for name in names]
    used = _used(len(profile.strings), np.zeros(1, np.int32), *(column for column in texts if column is not None))
    strings = [profile.strings[row] for row in flatnonzero(used).tolist()]
    return replace(_renumbered(profile, used, columns), strings=strings)


def _used(count: int, *columns: AnyArray) -> Bools:
    """Return (``count``,) True for the rows of a table that the columns refer to; −1 refers to none."""
    used = falses(count + 1)
    for column in columns:
        used[column] = True
    return used[:-1]


def _renumbered(profile: Profile, used: Bools, columns: dict[str, tuple[str, ...]]) -> Profile:
    """Renumber columns for a table reduced to its used rows; references to removed rows become −1."""
    place, changed = new_rows(used), {}
    for table, names in columns.items():
        table_columns = {name: getattr(getattr(profile, table), name, None) for name in names}
        moved = {name: place[column] for name, column in table_columns.items() if column is not None}
        if moved:
            changed[table] = replace(getattr(profile, table), **moved)
    return replace(profile, **changed)
