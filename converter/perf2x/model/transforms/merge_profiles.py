"""Merges independent profiles: tables are joined by content and sorted as by the stitcher, samples are summed.

Merging is pure, and independent of the order of profiles. Recordings of one session are stitched together instead
(reader/joined_session.py); here each is already a finished profile.
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
    StringInterner,
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
    depths,
    join_locations,
    merged_tree,
    sum_samples,
    take_locations,
    with_callers,
)
from perf2x.model.transforms.drop_unused import TEXTS
from perf2x.model.value_limits import LAST_TIME

Tags = Mapping[str, str]

_SORTED_BY = {
    "threads": ("pid", "tid", "comm", "process"),
    "mappings": (
        "is_kernel", "filename", "start", "limit", "offset", "build_id", "pid", "has_functions", "has_filenames",
        "has_line_numbers", "has_inline_frames",
    ),
    "functions": ("name", "system_name", "filename", "start_line"),
}  # fmt: skip
"""Sort keys of tables, most significant first."""


def merge_profiles(profiles: Sequence[Profile], tags: Sequence[Tags] | None = None) -> Profile:
    """Merge all samples of all profiles; ``tags`` (one mapping per profile) label their origin.

    Without ``tags``, samples keep the tags that they have. Two events are the same if their names and units are equal.
    Merging some of the profiles first gives the same result. Timelines can only be compared if their samples share a
    clock.
    """
    if tags is not None:
        profiles = [with_tags(profile, tag) for profile, tag in zip(profiles, tags, strict=True)]
    strings, texts = StringInterner(), _ordered([list(profile.strings) for profile in profiles])
    events, event_of = _merged_events(profiles)
    threads, thread_of = _merged_threads(profiles, texts, strings)
    mappings, mapping_of = _merged_table(profiles, "mappings", texts, strings)
    functions, function_of = _merged_table(profiles, "functions", texts, strings)
    locations, location_of = _locations(profiles, mapping_of, function_of)
    stacks, leaves = _merged_stacks(profiles, location_of)
    samples = _merged_samples(profiles, event_of, thread_of, leaves, strings)
    tag_sets, tag_rows = _merged_tags(profiles)
    samples = replace(samples, tags=tag_rows)
    whole = Profile(
        strings=strings.table(), events=events, threads=threads, mappings=mappings, functions=functions,
        locations=locations, stacks=stacks, samples=samples, meta=merged_meta([profile.meta for profile in profiles]),
        default_event=min(_default_events(profiles, event_of), default=0),
        labels=_common_labels(profiles), tag_sets=tag_sets, own_roots=any(profile.own_roots for profile in profiles),
        fields=tuple(entry for profile in profiles for entry in profile.fields),
        full_names={name: full for each in profiles for name, full in each.full_names.items()},
    )  # fmt: skip
    return sum_samples(_in_time_order(whole))


def with_tags(profile: Profile, tags: Tags) -> Profile:
    """Return the profile with ``tags``, and no others, on every sample."""
    rows = np.zeros(len(profile.samples), np.int32) if tags else None
    return replace(profile, samples=replace(profile.samples, tags=rows), tag_sets=(dict(tags),) if tags else ())


def _merged_tags(profiles: Sequence[Profile]) -> tuple[tuple[Tags, ...], I32 | None]:
    """Return the distinct sets of tags, sorted, and each sample's row; nothing if there are no tags."""
    owns = [({},) if each.samples.tags is None else each.tag_sets for each in profiles]
    tables = [[tuple(sorted(tag.items())) for tag in own] for own in owns]
    sets, numbers = _ordered(tables)
    if not any(sets):
        return (), None
    rows = [
        np.zeros(len(each.samples), np.int32) if each.samples.tags is None else each.samples.tags for each in profiles
    ]
    column = np.concatenate([number[row] for number, row in zip(numbers, rows, strict=True)])
    return tuple(dict(entry) for entry in sets), as_int32(column)


def _merged_events(profiles: Sequence[Profile]) -> tuple[tuple[ProfileEvent, ...], list[I32]]:
    """Return the merged events, sorted by name and unit, and the merged row of each event of each profile."""
    names = sorted({(event.name, event.unit) for profile in profiles for event in profile.events})
    place = {name: row for row, name in enumerate(names)}
    numbers = [as_int32([place[event.name, event.unit] for event in each.events]) for each in profiles]
    found: list[ProfileEvent | None] = [None] * len(names)
    for profile, number in zip(profiles, numbers, strict=True):
        for recorded, row in zip(profile.events, number.tolist(), strict=True):
            event = replace(recorded, leader=int(number[recorded.leader]) if recorded.leader >= 0 else -1)
            found[row] = _agreed(found[row] or event, event)
    return tuple(event for event in found if event is not None), numbers


def _default_events(profiles: Sequence[Profile], event_of: list[I32]) -> list[int]:
    """Return the merged row of the event that each profile shows first.

    Profiles without samples are left out, unless no profile has any.
    """
    shown = [each for each in zip(profiles, event_of, strict=True) if len(each[1])]
    sampled = [each for each in shown if len(each[0].samples)]
    return [int(rows[profile.default_event]) for profile, rows in sampled or shown]


def _agreed(one: ProfileEvent, other: ProfileEvent) -> ProfileEvent:
    """Merge two events of one name, keeping the values that are equal."""
    if (one.period, one.frequency) != (other.period, other.frequency):
        one = replace(one, period=0, frequency=0)
    return one if one.leader == other.leader else replace(one, leader=-1)


def _ordered(tables: Sequence[list[Any]]) -> tuple[list[Any], list[I64]]:
    """Return distinct rows of several tables, sorted, and the new number of each table's rows (−1 stays −1)."""
    unique = sorted({row for table in tables for row in table})
    place = {row: number for number, row in enumerate(unique)}
    return unique, [as_int64([*(place[row] for row in table), -1]) for table in tables]


def _merged_table(
    profiles: Sequence[Profile], name: str, texts: tuple[list[str], list[I64]], strings: StringInterner
) -> tuple[Any, list[I32]]:
    """Return distinct rows of one table of all profiles, compared by text, and the new number of each profile's rows.

    ``texts``: the sorted strings of all profiles; and, for each profile, where each of its strings is among them.
    """
    tables, (words, places) = [getattr(profile, name) for profile in profiles], texts
    columns = {
        column: np.concatenate(
            [place[getattr(table, column)] for table, place in zip(tables, places, strict=True)]
            if column in TEXTS[name]
            else [getattr(table, column) for table in tables]
        )
        for column in _SORTED_BY[name]
    }
    if name == "mappings":
        columns["pid"] = _least_pids(columns, words)
    first, group = group_rows(list(columns.values()))
    merged: dict[str, AnyArray] = {
        column: strings.add_all(words[row] for row in values[first].tolist())
        if column in TEXTS[name]
        else values[first]
        for column, values in columns.items()
    }
    return replace(tables[0], **merged), _of_each(group, tables)


def _least_pids(columns: Mapping[str, AnyArray], words: Sequence[str]) -> AnyArray:
    """Give mappings of a file that differ only in their pid the lowest pid among them, as in one recording.

    Mappings of anonymous memory keep their pid. Returns (mappings,).
    """
    _, group = group_rows([column for name, column in columns.items() if name != "pid"])
    least = np.full(len(group), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(least, group, columns["pid"])
    used, name = unique_inverse(columns["filename"])
    is_file = np.array([is_object(words[row], has_build_id=False) for row in used.tolist()], np.bool_)
    return np.where(is_file[name], least[group], columns["pid"])


def _of_each(group: I64, tables: Sequence[Sized]) -> list[I32]:
    """Split the group numbers by table (−1 stays −1)."""
    parts = np.split(as_int32(group), cumsum([len(table) for table in tables])[:-1])
    return [np.append(part, np.int32(-1)) for part in parts]


def _merged_threads(
    profiles: Sequence[Profile], texts: tuple[list[str], list[I64]], strings: StringInterner
) -> tuple[Threads, list[I32]]:
    threads, numbers = _merged_table(profiles, "threads", texts, strings)
    starts = np.zeros(len(threads), np.int32)
    for profile, number in zip(profiles, numbers, strict=True):
        if profile.threads.starts is not None:  # a thread may be in several recordings
            np.maximum.at(starts, number[:-1], profile.threads.starts)
    return replace(threads, starts=starts), numbers


def _locations(
    profiles: Sequence[Profile], mapping_of: list[I32], function_of: list[I32]
) -> tuple[Locations, list[I32]]:
    """Return distinct locations of all profiles, those with fewer lines first, and each profile's new numbers."""
    olds = [profile.locations for profile in profiles]
    parts = [
        replace(old, mapping=mapping[old.mapping], line_function=function[old.line_function])
        for old, mapping, function in zip(olds, mapping_of, function_of, strict=True)
    ]
    whole = join_locations(parts)
    _, line = group_rows([whole.line_function, whole.line_number])
    lists = prefix_tree(ListArray(whole.line_offsets, line))[2]
    first, group = group_rows([whole.mapping, whole.address, whole.lookup, whole.mode, whole.synthetic, lists])
    return take_locations(whole, first), _of_each(group, olds)


def _merged_stacks(profiles: Sequence[Profile], location_of: list[I32]) -> tuple[Stacks, list[I32]]:
    """Return the merged tree, and the leaf of every sample of every profile."""
    trees = [profile.stacks for profile in profiles]
    begins = offsets_of(as_int64([len(tree) for tree in trees])).tolist()
    parents, leaves = (
        [np.where(rows < 0, -1, rows + begin) for rows, begin in zip(each, begins, strict=False)]
        for each in ([tree.parent for tree in trees], [profile.samples.stack for profile in profiles])
    )
    parent = np.concatenate(parents)
    location = np.concatenate([place[tree.location] for place, tree in zip(location_of, trees, strict=True)])
    is_used = with_callers(parent, np.concatenate(leaves))
    stacks, number = merged_tree(parent, location, np.concatenate([depths(tree.parent) for tree in trees]), is_used)
    return stacks, [number[leaf] for leaf in leaves]


def _merged_samples(
    profiles: Sequence[Profile], event_of: list[I32], thread_of: list[I32], leaves: list[I32], strings: StringInterner
) -> ProfileSamples:
    columns: dict[str, list[AnyArray | None]] = {name: [] for name in ProfileSamples.__struct_fields__}
    has_fields = any(profile.samples.fields is not None for profile in profiles)
    entries = 0
    for profile, events, threads, leaf in zip(profiles, event_of, thread_of, leaves, strict=True):
        own = profile.samples
        fields = np.full(len(own), -1, np.int32) if own.fields is None and has_fields else own.fields
        samples = replace(
            own,
            event=events[own.event],
            thread=threads[own.thread],
            stack=leaf,
            cgroup=None if own.cgroup is None else _cgroups(profile, own.cgroup, strings),
            fields=None if fields is None else np.where(fields >= 0, fields + np.int32(entries), fields),
        )
        entries += sum(entry.count for entry in profile.fields)
        for name, column in columns.items():
            column.append(getattr(samples, name))
    present = {name: [part for part in parts if part is not None] for name, parts in columns.items()}
    return ProfileSamples(
        **{name: np.concatenate(present[name]) for name in present if len(present[name]) == len(profiles)}
    )


def _cgroups(profile: Profile, column: I32, strings: StringInterner) -> I32:
    used, place = unique_inverse(column)
    return strings.add_all(profile.strings[row] for row in used.tolist())[place]


def _in_time_order(profile: Profile) -> Profile:
    samples = profile.samples
    if samples.time is None:
        return profile
    others: list[AnyArray] = [column for column in (samples.tags, samples.cgroup, samples.cpu) if column is not None]
    order = lexsort([*others, samples.value, samples.stack, samples.event, samples.thread, samples.time])
    return replace(profile, samples=take_rows_of(samples, order))


def merged_meta(metas: Sequence[Meta]) -> Meta:
    """Merge the properties of recordings: the earliest start and, as in google/pprof's merge.go, the sum of durations.

    A text, such as the host name, is kept only if it is the same in all recordings.
    """
    agreed: dict[str, Any] = {
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
        cpus=max(meta.cpus for meta in metas) if agreed["hostname"] else 0,
        command_line=commands.pop() if len(commands) == 1 else (),
        comments=tuple(line for meta in metas for line in meta.comments),
        **agreed,
    )


def _common_labels(profiles: Sequence[Profile]) -> dict[str, str]:
    first = profiles[0].labels
    return {key: value for key, value in first.items() if all(p.labels.get(key) == value for p in profiles)}
