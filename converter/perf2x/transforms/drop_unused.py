"""Leaves out of a profile's tables what no sample uses any more, in place order, so that nothing else is disclosed."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I32, I64, AnyArray, arange, cumsum, flatnonzero, take_rows_of
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import unique
from perf2x.model.profile.profile import Locations, Profile, Stacks

TEXTS = {
    "threads": ("comm", "process"),
    "mappings": ("filename", "build_id"),
    "functions": ("name", "system_name", "filename"),
}
"""Columns that are rows of Profile.strings."""


def compact(profile: Profile) -> Profile:
    """Return the profile with tables cut down to what its samples need; rows keep their order.

    Switches of threads without samples are dropped, too.
    """
    profile = _compact_stacks(profile)
    profile = _compact_locations(profile)
    profile = _compact_threads(profile)
    return _compact_strings(profile)


def _compact_stacks(profile: Profile) -> Profile:
    """Rows on the way from a sample to the root stay: marked level by level, callees first."""
    parent = profile.stacks.parent.astype(np.int64)
    used = np.zeros(len(parent), np.bool_)
    rows = unique(profile.samples.stack[profile.samples.stack >= 0]).astype(np.int64)
    while len(rows):
        used[rows] = True
        above = parent[rows]
        above = unique(above[above >= 0])
        rows = above[~used[above]]
    number = _numbers(used)
    kept = flatnonzero(used)
    stacks = Stacks(number[parent[kept]].astype(np.int32), profile.stacks.location[kept])
    samples = replace(profile.samples, stack=number[profile.samples.stack].astype(np.int32))
    return replace(profile, stacks=stacks, samples=samples)


def _compact_locations(profile: Profile) -> Profile:
    """Locations, and through them functions and mappings."""
    old = profile.locations
    number, kept = _used(profile.stacks.location, len(old))
    lines = Ragged(old.line_offsets, arange(len(old.line_function))).take(kept)
    function, functions = _used(old.line_function[lines.values], len(profile.functions))
    mapping, mappings = _used(old.mapping[kept], len(profile.mappings))
    locations = Locations(
        address=old.address[kept],
        lookup=old.lookup[kept],
        mapping=mapping[old.mapping[kept]].astype(np.int32),
        mode=old.mode[kept],
        synthetic=old.synthetic[kept],
        line_offsets=lines.offsets,
        line_function=function[old.line_function[lines.values]].astype(np.int32),
        line_number=old.line_number[lines.values],
    )
    return replace(
        profile,
        stacks=Stacks(profile.stacks.parent, number[profile.stacks.location].astype(np.int32)),
        locations=locations,
        functions=take_rows_of(profile.functions, functions),
        mappings=take_rows_of(profile.mappings, mappings),
    )


def _compact_threads(profile: Profile) -> Profile:
    number, kept = _used(profile.samples.thread, len(profile.threads))
    switches = profile.switches
    if switches is not None:
        thread = number[switches.thread].astype(np.int32)
        switches = take_rows_of(replace(switches, thread=thread), thread >= 0)
    samples = replace(profile.samples, thread=number[profile.samples.thread].astype(np.int32))
    parents = None if profile.parents is None else number[profile.parents[kept]].astype(np.int32)
    threads = take_rows_of(profile.threads, kept)
    return replace(profile, threads=threads, samples=samples, switches=switches, parents=parents)


def _compact_strings(profile: Profile) -> Profile:
    columns = [getattr(getattr(profile, table), name) for table, names in TEXTS.items() for name in names]
    cgroup = profile.samples.cgroup
    columns += [np.zeros(1, np.int32)] + ([cgroup] if cgroup is not None else [])
    number, kept = _used(np.concatenate(columns), len(profile.strings))
    tables = {
        table: replace(
            getattr(profile, table),
            **{name: number[getattr(getattr(profile, table), name)].astype(np.int32) for name in names},
        )
        for table, names in TEXTS.items()
    }
    samples = profile.samples
    if cgroup is not None:
        samples = replace(samples, cgroup=number[cgroup].astype(np.int32))
    strings = [profile.strings[row] for row in kept.tolist()]
    return replace(profile, strings=strings, samples=samples, **tables)


def _used(column: I32, count: int) -> tuple[I64, I64]:
    """New number of each of ``count`` rows (−1: unused; and −1 for the row −1), and the rows that stay."""
    used = np.zeros(count, np.bool_)
    used[column[column >= 0]] = True
    return _numbers(used), flatnonzero(used)


def _numbers(used: AnyArray) -> I64:
    """Return the new number of each kept row; the additional last entry maps −1 to −1."""
    return np.append(np.where(used, cumsum(used) - 1, -1), -1).astype(np.int64)
