"""Removes unused rows from a profile's tables, so that outputs disclose nothing beyond the selected samples."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import AnyArray, Bools, falses, flatnonzero, new_row_numbers, take_rows_of
from perf2x.model.profile import Profile, are_on_paths, take_locations

# Columns with string indices, apart from samples.cgroup.
STRING_COLUMNS = {
    "threads": ("comm", "process"),
    "mappings": ("filename", "build_id"),
    "functions": ("name", "system_name", "filename"),
}


def compact(profile: Profile) -> Profile:
    """Drop from all tables the rows that samples do not use, and the switches of dropped threads."""
    # each table is reduced before its references are followed
    is_used = are_on_paths(profile.stacks.parent, profile.samples.stack)
    profile = _renumbered(profile, is_used, {"stacks": ("parent",), "samples": ("stack",)})
    profile = replace(profile, stacks=take_rows_of(profile.stacks, is_used))
    is_used = _used_rows(len(profile.locations), profile.stacks.location)
    profile = _renumbered(profile, is_used, {"stacks": ("location",)})
    profile = replace(profile, locations=take_locations(profile.locations, flatnonzero(is_used)))
    for table, column in (("functions", "line_function"), ("mappings", "mapping")):
        is_used = _used_rows(len(getattr(profile, table)), getattr(profile.locations, column))
        profile = _renumbered(profile, is_used, {"locations": (column,)})
        profile = replace(profile, **{table: take_rows_of(getattr(profile, table), is_used)})
    return _compact_strings(_compact_threads(profile))


def without_placeholder_addresses(profile: Profile) -> Profile:
    """Set placeholders for addresses to 0, and remove unnamed mappings of placeholders.

    In profiles read from text, placeholders distinguish locations until names are known. Their mappings have the limit
    0. If a profile has such mappings, numbers outside all mappings are placeholders, too.
    """
    mappings, locations = profile.mappings, profile.locations
    has_placeholders = mappings.limit == 0
    if not has_placeholders.any():
        return profile
    is_kept = ~(has_placeholders & (mappings.filename == 0))
    is_placeholder = np.append(has_placeholders, True)[locations.mapping]
    addresses = locations.address, locations.lookup
    address, lookup = (np.where(is_placeholder, np.uint64(0), column) for column in addresses)
    locations = replace(locations, address=address, lookup=lookup, mapping=new_row_numbers(is_kept)[locations.mapping])
    return replace(profile, mappings=take_rows_of(mappings, is_kept), locations=locations)


def _compact_threads(profile: Profile) -> Profile:
    is_used = _used_rows(len(profile.threads), profile.samples.thread)
    parents = None if profile.parents is None else new_row_numbers(is_used)[profile.parents[is_used]]
    profile = _renumbered(profile, is_used, {"samples": ("thread",), "switches": ("thread",)})
    switches = profile.switches and take_rows_of(profile.switches, profile.switches.thread >= 0)
    return replace(profile, threads=take_rows_of(profile.threads, is_used), switches=switches, parents=parents)


def _compact_strings(profile: Profile) -> Profile:
    columns = STRING_COLUMNS | {"samples": ("cgroup",)}
    indices = [getattr(getattr(profile, table), name) for table, names in columns.items() for name in names]
    always_used = np.zeros(1, np.int32)  # string 0 is ""
    is_used = _used_rows(len(profile.strings), always_used, *(column for column in indices if column is not None))
    strings = [profile.strings[row] for row in flatnonzero(is_used).tolist()]
    return replace(_renumbered(profile, is_used, columns), strings=strings)


def _used_rows(count: int, *columns: AnyArray) -> Bools:
    """(``count``,) True for referenced rows."""
    is_used = falses(count + 1)
    for column in columns:
        is_used[column] = True
    return is_used[:-1]


def _renumbered(profile: Profile, is_used: Bools, columns: dict[str, tuple[str, ...]]) -> Profile:
    """Renumber references in ``columns`` to a table's used rows; other references become −1."""
    new_row, changed = new_row_numbers(is_used), {}
    for table, names in columns.items():
        table_columns = {name: getattr(getattr(profile, table), name, None) for name in names}
        renumbered = {name: new_row[column] for name, column in table_columns.items() if column is not None}
        if renumbered:
            changed[table] = replace(getattr(profile, table), **renumbered)
    return replace(profile, **changed)
