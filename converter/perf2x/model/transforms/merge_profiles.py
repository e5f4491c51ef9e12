"""Merges independent profiles: tables are joined by content and sorted as the stitcher sorts them, samples are summed.

For each profile, a column from old to new row numbers renumbers references to a table. Except for events, the last
entry of these columns is −1, so that −1 (none) stays −1.

The result does not depend on the order of the profiles, apart from lists of sources, comments and tracepoint fields.
"""

from collections.abc import Mapping, Sequence, Sized
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    AnyArray,
    ListArray,
    StringTableBuilder,
    as_int32,
    as_int64,
    cumsum,
    group_rows,
    lexsort,
    offsets_of,
    prefix_tree,
    take_rows_of,
    unique_inverse,
)
from perf2x.base.mapping_names import is_object
from perf2x.model.profile import (
    Locations,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    Stacks,
    Threads,
    are_on_paths,
    depths,
    join_locations,
    merged_tree,
    sum_samples,
    take_locations,
)
from perf2x.model.transforms.drop_unused import STRING_COLUMNS
from perf2x.model.value_limits import LAST_TIME

# Columns by which tables are sorted, most significant first.
_SORTED_BY = {
    "threads": ("pid", "tid", "comm", "process"),
    "mappings": (
        "is_kernel", "filename", "start", "limit", "offset", "build_id", "pid", "has_functions", "has_filenames",
        "has_line_numbers", "has_inline_frames",
    ),
    "functions": ("name", "system_name", "filename", "start_line"),
}  # fmt: skip


def merge_profiles(profiles: Sequence[Profile], tags: Sequence[Mapping[str, str]] | None = None) -> Profile:
    """Merge all samples of all profiles.

    ``tags`` has a mapping for each profile, which replaces the tags of its samples. Events with equal names and units
    are merged. Merging some of the profiles first gives the same result. The times in a merged timeline are comparable
    only if all profiles have the same clock.
    """
    if tags is not None:
        profiles = [with_tags(profile, tag) for profile, tag in zip(profiles, tags, strict=True)]
    # tables are sorted by the indices of sorted strings
    sorted_strings, strings = _distinct_rows([list(profile.strings) for profile in profiles]), StringTableBuilder()
    # event_of, thread_of …: columns from old to new row numbers
    events, event_of = _merged_events(profiles)
    threads, thread_of = _merged_threads(profiles, sorted_strings, strings)
    mappings, mapping_of = _merged_table(profiles, "mappings", sorted_strings, strings)
    functions, function_of = _merged_table(profiles, "functions", sorted_strings, strings)
    locations, location_of = _merged_locations(profiles, mapping_of, function_of)
    stacks, leaves = _merged_stacks(profiles, location_of)
    samples = _merged_samples(profiles, event_of, thread_of, leaves, strings)
    tag_sets, tag_rows = _merged_tags(profiles)
    samples = replace(samples, tags=tag_rows)
    merged = Profile(
        strings=strings.table(), events=events, threads=threads, mappings=mappings, functions=functions,
        locations=locations, stacks=stacks, samples=samples, meta=merged_meta([profile.meta for profile in profiles]),
        default_event=min(_default_events(profiles, event_of), default=0),
        labels=_common_labels(profiles), tag_sets=tag_sets,
        has_final_roots=any(profile.has_final_roots for profile in profiles),
        fields=tuple(table for profile in profiles for table in profile.fields),
        full_names={name: full for each in profiles for name, full in each.full_names.items()},
    )  # fmt: skip
    return sum_samples(_in_time_order(merged))


def with_tags(profile: Profile, tags: Mapping[str, str]) -> Profile:
    """Replace the tags of every sample by ``tags``."""
    rows = np.zeros(len(profile.samples), np.int32) if tags else None
    return replace(profile, samples=replace(profile.samples, tags=rows), tag_sets=(dict(tags),) if tags else ())


def _merged_tags(profiles: Sequence[Profile]) -> tuple[tuple[Mapping[str, str], ...], I32 | None]:
    """Distinct sets of tags, and (samples of all profiles,) their indices; () and None without tags."""
    sets_of_profiles = [({},) if profile.samples.tags is None else profile.tag_sets for profile in profiles]
    tables = [[tuple(sorted(tags.items())) for tags in sets] for sets in sets_of_profiles]
    distinct, new_rows = _distinct_rows(tables)
    if not any(distinct):
        return (), None
    old_rows = [
        np.zeros(len(each.samples), np.int32) if each.samples.tags is None else each.samples.tags for each in profiles
    ]
    column = np.concatenate([new_row[old] for new_row, old in zip(new_rows, old_rows, strict=True)])
    return tuple(dict(items) for items in distinct), as_int32(column)


def _merged_events(profiles: Sequence[Profile]) -> tuple[tuple[ProfileEvent, ...], list[I32]]:
    """The merged events are sorted by name and unit."""
    names = sorted({(event.name, event.unit) for profile in profiles for event in profile.events})
    row_of_name = {name: row for row, name in enumerate(names)}
    new_rows = [as_int32([row_of_name[event.name, event.unit] for event in each.events]) for each in profiles]
    merged: list[ProfileEvent | None] = [None] * len(names)
    for profile, new_row in zip(profiles, new_rows, strict=True):
        for recorded, row in zip(profile.events, new_row.tolist(), strict=True):
            event = replace(recorded, leader=int(new_row[recorded.leader]) if recorded.leader >= 0 else -1)
            merged[row] = _merged_event(merged[row] or event, event)
    return tuple(event for event in merged if event is not None), new_rows


def _default_events(profiles: Sequence[Profile], event_of: list[I32]) -> list[int]:
    """Profiles without samples count only if no profile has any."""
    with_events = [pair for pair in zip(profiles, event_of, strict=True) if len(pair[1])]
    with_samples = [pair for pair in with_events if len(pair[0].samples)]
    return [int(new_row[profile.default_event]) for profile, new_row in with_samples or with_events]


def _merged_event(event: ProfileEvent, other: ProfileEvent) -> ProfileEvent:
    if (event.period, event.frequency) != (other.period, other.frequency):
        event = replace(event, period=0, frequency=0)
    return event if event.leader == other.leader else replace(event, leader=-1)


def _distinct_rows(tables: Sequence[list[Any]]) -> tuple[list[Any], list[I64]]:
    """Sort the distinct rows, and find each table's rows among them."""
    distinct = sorted({row for table in tables for row in table})
    index_of_row = {row: index for index, row in enumerate(distinct)}
    return distinct, [as_int64([*(index_of_row[row] for row in table), -1]) for table in tables]


def _merged_table(
    profiles: Sequence[Profile], name: str, sorted_strings: tuple[list[str], list[I64]], strings: StringTableBuilder
) -> tuple[Any, list[I32]]:
    """Merge the tables called ``name``, and add strings to ``strings``; also return the new row of each old row."""
    tables, (all_strings, index_of_string) = [getattr(profile, name) for profile in profiles], sorted_strings
    columns = {
        column: np.concatenate(
            [index[getattr(table, column)] for table, index in zip(tables, index_of_string, strict=True)]
            if column in STRING_COLUMNS[name]
            else [getattr(table, column) for table in tables]
        )
        for column in _SORTED_BY[name]
    }
    if name == "mappings":
        columns["pid"] = _least_pids(columns, all_strings)
    first, group = group_rows(list(columns.values()))
    merged: dict[str, AnyArray] = {
        column: strings.add_all(all_strings[index] for index in values[first].tolist())
        if column in STRING_COLUMNS[name]
        else values[first]
        for column, values in columns.items()
    }
    return replace(tables[0], **merged), _split_by_table(group, tables)


def _least_pids(columns: Mapping[str, AnyArray], all_strings: Sequence[str]) -> AnyArray:
    """(mappings,) pids: as in the stitcher, mappings of a file that differ only in their pids get the lowest one.

    Anonymous memory keeps its pid.
    """
    _, group = group_rows([column for name, column in columns.items() if name != "pid"])
    least = np.full(len(group), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(least, group, columns["pid"])
    filenames, filename = unique_inverse(columns["filename"])
    is_file = np.array([is_object(all_strings[index], has_build_id=False) for index in filenames.tolist()], np.bool_)
    return np.where(is_file[filename], least[group], columns["pid"])


def _split_by_table(new_row: I64, tables: Sequence[Sized]) -> list[I32]:
    """Split ``new_row`` by table, and append −1 to each part."""
    parts = np.split(as_int32(new_row), cumsum([len(table) for table in tables])[:-1])
    return [np.append(part, np.int32(-1)) for part in parts]


def _merged_threads(
    profiles: Sequence[Profile], sorted_strings: tuple[list[str], list[I64]], strings: StringTableBuilder
) -> tuple[Threads, list[I32]]:
    threads, new_rows = _merged_table(profiles, "threads", sorted_strings, strings)
    starts = np.zeros(len(threads), np.int32)
    for profile, new_row in zip(profiles, new_rows, strict=True):
        if profile.threads.starts is not None:  # not the sum: a thread may be in several recordings
            np.maximum.at(starts, new_row[:-1], profile.threads.starts)
    return replace(threads, starts=starts), new_rows


def _merged_locations(
    profiles: Sequence[Profile], mapping_of: list[I32], function_of: list[I32]
) -> tuple[Locations, list[I32]]:
    tables = [profile.locations for profile in profiles]
    parts = [
        replace(table, mapping=mapping[table.mapping], line_function=function[table.line_function])
        for table, mapping, function in zip(tables, mapping_of, function_of, strict=True)
    ]
    joined = join_locations(parts)
    # equal lists of lines end at the same node of a prefix tree
    _, line = group_rows([joined.line_function, joined.line_number])
    list_number = prefix_tree(ListArray(joined.line_offsets, line))[2]
    first, group = group_rows(
        [joined.mapping, joined.address, joined.lookup, joined.mode, joined.synthetic, list_number]
    )
    return take_locations(joined, first), _split_by_table(group, tables)


def _merged_stacks(profiles: Sequence[Profile], location_of: list[I32]) -> tuple[Stacks, list[I32]]:
    trees = [profile.stacks for profile in profiles]
    # rows of each tree are counted from where it begins
    begins = offsets_of(as_int64([len(tree) for tree in trees])).tolist()
    parents, leaves = (
        [np.where(rows < 0, -1, rows + begin) for rows, begin in zip(columns, begins, strict=False)]
        for columns in ([tree.parent for tree in trees], [profile.samples.stack for profile in profiles])
    )
    parent = np.concatenate(parents)
    location = np.concatenate([new_row[tree.location] for new_row, tree in zip(location_of, trees, strict=True)])
    is_used = are_on_paths(parent, np.concatenate(leaves))
    stacks, new_row = merged_tree(parent, location, np.concatenate([depths(tree.parent) for tree in trees]), is_used)
    return stacks, [new_row[leaf] for leaf in leaves]


def _merged_samples(
    profiles: Sequence[Profile],
    event_of: list[I32],
    thread_of: list[I32],
    leaves: list[I32],
    strings: StringTableBuilder,
) -> ProfileSamples:
    """An optional column is left out unless all profiles have it; only ``fields`` is filled with −1 instead."""
    columns: dict[str, list[AnyArray | None]] = {name: [] for name in ProfileSamples.__struct_fields__}
    has_fields = any(profile.samples.fields is not None for profile in profiles)
    field_rows = 0  # rows of tracepoint fields in all earlier profiles
    for profile, new_event, new_thread, new_leaf in zip(profiles, event_of, thread_of, leaves, strict=True):
        old = profile.samples
        fields = np.full(len(old), -1, np.int32) if old.fields is None and has_fields else old.fields
        samples = replace(
            old,
            event=new_event[old.event],
            thread=new_thread[old.thread],
            stack=new_leaf,
            cgroup=None if old.cgroup is None else _cgroups(profile, old.cgroup, strings),
            fields=None if fields is None else np.where(fields >= 0, fields + np.int32(field_rows), fields),
        )
        field_rows += sum(table.count for table in profile.fields)
        for name, column in columns.items():
            column.append(getattr(samples, name))
    present = {name: [part for part in parts if part is not None] for name, parts in columns.items()}
    return ProfileSamples(
        **{name: np.concatenate(present[name]) for name in present if len(present[name]) == len(profiles)}
    )


def _cgroups(profile: Profile, column: I32, strings: StringTableBuilder) -> I32:
    used, index = unique_inverse(column)
    return strings.add_all(profile.strings[row] for row in used.tolist())[index]


def _in_time_order(profile: Profile) -> Profile:
    """Sort samples by time, and those of equal times by content."""
    samples = profile.samples
    if samples.time is None:
        return profile
    others: list[AnyArray] = [column for column in (samples.tags, samples.cgroup, samples.cpu) if column is not None]
    order = lexsort([*others, samples.value, samples.stack, samples.event, samples.thread, samples.time])
    return replace(profile, samples=take_rows_of(samples, order))


def merged_meta(metas: Sequence[Meta]) -> Meta:
    """Merge the properties of recordings: the earliest start and, as in google/pprof's merge.go, the sum of durations.

    Other properties, such as the host name, are dropped unless they are equal in all recordings. The number of CPUs is
    the largest one; it is dropped if the host name is.
    """
    common: dict[str, Any] = {
        name: values.pop() if len(values := {getattr(meta, name) for meta in metas}) == 1 else ""
        for name in ("hostname", "os_release", "arch", "perf_version")
    }
    commands = {meta.command_line for meta in metas}
    clocks = {meta.clock_id for meta in metas}
    return Meta(
        source=", ".join(meta.source for meta in metas),
        start_ns=min(meta.start_ns for meta in metas),
        duration_ns=min(sum(meta.duration_ns for meta in metas), LAST_TIME),
        wall_start_ns=min(meta.wall_start_ns for meta in metas),
        clock_id=clocks.pop() if len(clocks) == 1 else -1,
        cpus=max(meta.cpus for meta in metas) if common["hostname"] else 0,
        command_line=commands.pop() if len(commands) == 1 else (),
        comments=tuple(line for meta in metas for line in meta.comments),
        **common,
    )


def _common_labels(profiles: Sequence[Profile]) -> dict[str, str]:
    first = profiles[0].labels
    return {key: value for key, value in first.items() if all(p.labels.get(key) == value for p in profiles)}
