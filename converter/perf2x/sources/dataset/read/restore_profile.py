"""Restores the stitched profile of some recordings from a dataset's rows; names are added later, by place.

Recordings are merged, all at once in columns: the same place of the same object becomes one location, although its
address differs from host to host.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    AnyArray,
    Bools,
    Frozen,
    ListArray,
    StringInterner,
    as_int32,
    as_int64,
    column_type,
    cumsum,
    falses,
    group_rows,
    prefix_tree,
    repeat,
    take,
)
from perf2x.errors import FormatError
from perf2x.model.printable_text import as_recorded
from perf2x.model.profile import (
    ROOT_FRAME_NAMES,
    Functions,
    Locations,
    Mappings,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    RootFrame,
    Stacks,
    Threads,
    root_functions,
    sum_samples,
)
from perf2x.sources.dataset.arrow_columns import flat, is_known, numbers, rows_of_table, texts, with_texts
from perf2x.sources.dataset.dataset_schema import MAPPING_TEXTS, MAPPINGS, META
from perf2x.sources.dataset.place_keys import keys_of_rows
from perf2x.sources.dataset.read.dataset_part import DatasetPart, Row, Rows, check_build_ids
from perf2x.sources.dataset.write.profile_places import CodeObjects, synthetic_object

if TYPE_CHECKING:
    import pyarrow

_KINDS = {synthetic_object(name): kind for kind, name in ROOT_FRAME_NAMES.items()}


class _Numbered(Frozen):
    """A value for each row of some recordings: that of row ``number`` is ``value[start[recording] + number]``."""

    start: I64
    """(recordings + 1,)"""
    value: I64

    def of(self, recording: I64, number: I64, what: str, source: str) -> I64:
        """Return the value of each ``number`` of a ``recording``; −1 for number −1.

        Raises FormatError for a number that the recording does not have; ``what`` is what such a number stands for.
        """
        row = self.start[recording] + number
        if ((number < -1) | (row >= self.start[1:][recording])).any():
            raise FormatError(f"{source}: damaged: a {what} is missing")
        row[number < 0] = -1
        return take(np.append(self.value, -1), row)


class Restored(Frozen):
    """A profile, and the stored data on its places."""

    profile: Profile
    objects: CodeObjects
    looked_up: Bools
    """(mappings,) whether the names in the mapping were looked up when its recording was added."""
    places: "pyarrow.Table"


def restore_profile(part: DatasetPart, rows: Sequence[Row], meta: Meta, *, with_cgroups: bool) -> Restored:
    """Make the profile of recordings with the same events. Raises FormatError if rows are inconsistent."""
    source, strings = part.tables.root, StringInterner()
    part.read_ahead(rows)
    mappings, objects, looked_up, mapping_of = _mappings(part.of("mappings", rows, "mapping"), strings, source)
    places = part.of("places", rows, "place")
    locations, functions, location = _locations(places, mapping_of, objects, strings, source)
    stacks, leaf_of = _stacks(part.of("stacks", rows, "stack"), _Numbered(places.start, location), source)
    samples = part.of("samples", rows)
    threads, thread = _threads(samples.table, strings)
    part.check_samples(rows, samples.number)
    leaf = as_int64(numbers(samples.table, "stack", -1))
    tag_sets, tags = _tags(rows, samples.number)
    profile = Profile(
        strings=(), events=restore_events(rows[0]), threads=threads, mappings=mappings, functions=functions,
        locations=locations, stacks=stacks, meta=meta, tag_sets=tag_sets,
        samples=ProfileSamples(
            event=numbers(samples.table, "event_number"),
            thread=as_int32(thread),
            stack=as_int32(leaf_of.of(samples.number, leaf, "stack", source)),
            value=numbers(samples.table, "value"),
            count=numbers(samples.table, "count"),
            time=_optional(samples.table, "time_ns", np.uint64),
            cpu=_optional(samples.table, "cpu", np.int32),
            cgroup=_cgroups(samples.table, strings) if with_cgroups else None,
            tags=tags,
        ),
        default_event=int(rows[0].values["default_event"]),
    )  # fmt: skip
    profile = replace(profile, strings=strings.table())
    try:
        profile.check()
    except ValueError as error:
        raise FormatError(f"{source}: damaged: {error}") from None
    return Restored(sum_samples(profile), objects, looked_up, places.table)


def _tags(rows: Sequence[Row], number: I64) -> tuple[tuple[dict[str, str], ...], I32 | None]:
    """Return the distinct sets of tags, and the set of each sample; tags that all recordings share are left out.

    If no other tags exist, there are no sets, and None stands for the sets of the samples.
    """
    sets = [tuple(sorted(row.tags.items())) for row in rows]
    common = set(sets[0]).intersection(*sets)
    own = [tuple(pair for pair in one if pair not in common) for one in sets]
    known = sorted(set(own))
    if not any(known):
        return (), None
    place = {one: at for at, one in enumerate(known)}
    return tuple(dict(one) for one in known), as_int32([place[one] for one in own])[number]


def _mappings(rows: Rows, strings: StringInterner, source: str) -> tuple[Mappings, CodeObjects, Bools, _Numbered]:
    """Return distinct mappings, the object of each, whether it was looked up, and the mappings of each recording.

    Mappings of several recordings that differ only in their addresses are one.
    """
    table, number = rows.table, rows.number
    code = {name: texts(table, name) for name in ("object_id", *MAPPING_TEXTS)}
    check_build_ids(code["build_id"][1], source)
    value = {name: as_int64(numbers(table, name)) for name in ("base", "variant", "is_local", *MAPPINGS)}
    own = np.where((value["is_local"] > 0) | (rows.count == 1), number, -1)
    keys = [
        *(codes for codes, _ in code.values()), value["variant"], value["is_kernel"], value["limit"] - value["start"],
        value["file_offset"], value["start"] - value["base"], own,
        *(np.where(own >= 0, value[name], 0) for name in ("start", "pid")),
    ]  # fmt: skip
    first, group = group_rows(keys)
    looked_up = falses(len(first))
    looked_up[group[numbers(table, "looked_up").astype(np.bool_)]] = True
    codes, known = code["object_id"]
    objects = CodeObjects(
        [known[row] for row in codes[first].tolist()], value["base"][first].view(np.uint64),
        value["is_local"][first].astype(np.bool_), value["variant"][first],
    )  # fmt: skip
    return restore_mappings(rows_of_table(table, first), strings), objects, looked_up, _Numbered(rows.start, group)


def restore_mappings(rows: "pyarrow.Table", strings: StringInterner) -> Mappings:
    """Make a mapping from each row."""
    no = falses(len(rows))
    columns: dict[str, Any] = {}
    for column, name in MAPPINGS.items():
        columns[name] = numbers(rows, column).astype(column_type(Mappings, name))
    for column, name in MAPPING_TEXTS.items():
        code, known = texts(rows, column)
        columns[name] = strings.add_all(known[row] for row in code.tolist())
    return Mappings(**columns, has_functions=no, has_filenames=no, has_line_numbers=no, has_inline_frames=no)


def _locations(
    rows: Rows, mapping_of: _Numbered, objects: CodeObjects, strings: StringInterner, source: str
) -> tuple[Locations, Functions, I64]:
    """Return distinct locations in the stitcher's order, functions of synthetic frames, and each place's location."""
    places = rows.table
    code, known = texts(places, "object_id")
    root = as_int64([*(_KINDS.get(one, RootFrame.NONE) for one in known), 0])[code]
    mapping = mapping_of.of(rows.number, as_int64(numbers(places, "mapping", -1)), "mapping", source)
    keys, base = keys_of_rows(places), np.append(objects.base, np.uint64(0))[mapping]
    address = np.where(root > 0, np.uint64(0), keys.offset + base)
    lookup = address - keys.is_return
    order, rank = group_rows([mapping, address, ~keys.is_return, keys.mode, root])
    functions, line_function = root_functions(root[order], strings)
    locations = Locations(
        address=address[order],
        lookup=lookup[order],
        mapping=as_int32(mapping[order]),
        mode=keys.mode[order],
        synthetic=root[order] > 0,
        line_offsets=as_int64(np.concatenate([[0], cumsum(root[order] > 0)])),
        line_function=line_function,
        line_number=np.zeros(len(line_function), np.int32),
    )
    return locations, functions, rank


def _stacks(rows: Rows, places: _Numbered, source: str) -> tuple[Stacks, _Numbered]:
    """Return the tree of all stacks, and the leaf of each recording's stacks; ``places`` gives a place's location."""
    lists = flat(rows.table, "places")
    if lists.null_count or lists.flatten().null_count:
        raise FormatError(f"{source}: damaged: a stack is missing")
    offsets = as_int64(lists.offsets.to_numpy())
    values = as_int64(lists.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]])
    stacks = ListArray(offsets - offsets[0], values)
    if (values < 0).any():
        raise FormatError(f"{source}: damaged: a place is missing")
    location = places.of(repeat(rows.number, stacks.lengths), values, "place", source)
    parent, item, leaf = prefix_tree(ListArray(stacks.offsets, location))
    return Stacks(parent, item), _Numbered(rows.start, as_int64(leaf))


def _threads(samples: "pyarrow.Table", strings: StringInterner) -> tuple[Threads, I64]:
    """Return threads sorted as by the stitcher, and the thread of each sample."""
    comm, comms = _ranked(samples, "comm")
    process, processes = _ranked(samples, "process")
    pid, tid = numbers(samples, "pid"), numbers(samples, "tid")
    first, thread = group_rows([pid, tid, comm, process])
    threads = Threads(
        pid=pid[first],
        tid=tid[first],
        comm=strings.add_all(comms[row] for row in comm[first].tolist()),
        process=strings.add_all(processes[row] for row in process[first].tolist()),
    )
    return threads, thread


def _ranked(table: "pyarrow.Table", name: str) -> tuple[I64, list[str]]:
    """Return the rank of each text of a column (−1 for null), and the distinct texts in order of their ranks."""
    code, known = texts(table, name)
    ordered = sorted(set(known))
    place = {text: row for row, text in enumerate(ordered)}
    return as_int64([*(place[text] for text in known), -1])[code], ordered


def restore_events(row: Row) -> tuple[ProfileEvent, ...]:
    """Return all events of a recording, in recorded order."""
    return tuple(ProfileEvent(**event) for event in with_texts(row.values["events"], as_recorded))


def _optional(table: "pyarrow.Table", name: str, dtype: type) -> AnyArray | None:
    return numbers(table, name).astype(dtype) if is_known(table, name).any() else None


def _cgroups(table: "pyarrow.Table", strings: StringInterner) -> I32 | None:
    """Return the string index of each cgroup; None if no sample has one."""
    code, known = _ranked(table, "cgroup")
    return strings.add_all(known)[code] if len(known) else None


def restore_meta(row: Row, comments: tuple[str, ...], clock_id: int) -> Meta:
    """Return the profile's Meta from a recording's row."""
    facts: dict[str, Any] = {name: with_texts(row.values[column], as_recorded) for column, name in META.items()}
    facts["wall_start_ns"] = facts["wall_start_ns"] or 0
    return Meta(**facts, comments=comments, clock_id=clock_id)
