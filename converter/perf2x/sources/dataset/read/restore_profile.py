"""Restores the stitched profile of some recordings from a dataset's rows; names are added later.

Mappings, places and stacks are numbered from 0 in each recording. All recordings are merged at once: a place of an
object becomes one location, although its address differs between hosts. Each step translates the numbers of the step
before: mappings → places → stacks → samples.
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
    StringTableBuilder,
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
from perf2x.model.printable_text import undo_printable
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
from perf2x.sources.dataset.arrow_columns import (
    as_one_array,
    has_value,
    map_strings,
    numbers,
    rows_of_table,
    string_codes,
)
from perf2x.sources.dataset.dataset_schema import MAPPING_NUMBERS, MAPPING_STRINGS, META_FIELDS
from perf2x.sources.dataset.place_keys import keys_of_rows
from perf2x.sources.dataset.read.dataset_part import DatasetPart, Row, Rows, check_hex_ids
from perf2x.sources.dataset.write.profile_places import CodeObjects, synthetic_object

if TYPE_CHECKING:
    import pyarrow

_ROOT_FRAMES = {synthetic_object(name): kind for kind, name in ROOT_FRAME_NAMES.items()}


class _ValuesByNumber(Frozen):
    """Values by recording and number, such as the location of each place: ``values[offsets[recording] + number]``."""

    offsets: I64
    """(recordings + 1,) first value of each recording, and the end."""
    values: I64

    def of(self, recording: I64, number: I64, kind: str, source: str) -> I64:
        """Values (n,) of numbers; −1 for number −1. Raises FormatError for a missing number."""
        row = self.offsets[recording] + number
        if ((number < -1) | (row >= self.offsets[1:][recording])).any():
            raise FormatError(f"{source}: damaged: a {kind} is missing")
        row[number < 0] = -1
        return take(np.append(self.values, -1), row)


class Restored(Frozen):
    """A profile, and facts about its places."""

    profile: Profile
    objects: CodeObjects
    looked_up: Bools
    """(mappings,) whether names were looked up when a recording with the mapping was added."""
    places: "pyarrow.Table"  # rows of the table of places


def restore_profile(part: DatasetPart, rows: Sequence[Row], meta: Meta, *, with_cgroups: bool) -> Restored:
    """Make a profile of the recordings in ``rows``, which have the same events.

    Raises FormatError if rows of the tables contradict each other.
    """
    source, strings = part.tables.root, StringTableBuilder()
    part.read_ahead(rows)
    mappings, objects, looked_up, mapping_of = _mappings(part.rows_of("mappings", rows, "mapping"), strings, source)
    places = part.rows_of("places", rows, "place")
    locations, functions, location = _locations(places, mapping_of, objects, strings, source)
    stacks, leaf_of = _stacks(part.rows_of("stacks", rows, "stack"), _ValuesByNumber(places.offsets, location), source)
    samples = part.rows_of("samples", rows)
    threads, thread = _threads(samples.table, strings)
    part.check_samples(rows, samples.recording)
    stack_number = as_int64(numbers(samples.table, "stack", -1))
    tag_sets, tags = _tag_sets(rows, samples.recording)
    profile = Profile(
        strings=(), events=restore_events(rows[0]), threads=threads, mappings=mappings, functions=functions,
        locations=locations, stacks=stacks, meta=meta, tag_sets=tag_sets,
        samples=ProfileSamples(
            event=numbers(samples.table, "event_number"),
            thread=as_int32(thread),
            stack=as_int32(leaf_of.of(samples.recording, stack_number, "stack", source)),
            value=numbers(samples.table, "value"),
            count=numbers(samples.table, "count"),
            time=_column_or_none(samples.table, "time_ns", np.uint64),
            cpu=_column_or_none(samples.table, "cpu", np.int32),
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


def _tag_sets(rows: Sequence[Row], recording: I64) -> tuple[tuple[dict[str, str], ...], I32 | None]:
    """Return distinct sets of tags, and (samples,) the set of each sample; tags of all recordings are left out."""
    all_tags = [tuple(sorted(row.tags.items())) for row in rows]
    common = set(all_tags[0]).intersection(*all_tags)
    own_tags = [tuple(pair for pair in tags if pair not in common) for tags in all_tags]
    tag_sets = sorted(set(own_tags))
    if not any(tag_sets):
        return (), None
    index_of = {tags: index for index, tags in enumerate(tag_sets)}
    return tuple(dict(tags) for tags in tag_sets), as_int32([index_of[tags] for tags in own_tags])[recording]


def _mappings(
    rows: Rows, strings: StringTableBuilder, source: str
) -> tuple[Mappings, CodeObjects, Bools, _ValuesByNumber]:
    """Merge mappings that differ only in their addresses, unless they are private to their recordings."""
    table = rows.table
    string_columns = {name: string_codes(table, name) for name in ("object_id", *MAPPING_STRINGS)}
    check_hex_ids(string_columns["build_id"][1], source)
    column = {name: as_int64(numbers(table, name)) for name in ("base", "variant", "is_local", *MAPPING_NUMBERS)}
    # the recording of mappings that must not be merged with others; −1 for the rest
    separate = np.where((column["is_local"] > 0) | (rows.count == 1), rows.recording, -1)
    keys = [
        *(codes for codes, _ in string_columns.values()), column["variant"], column["is_kernel"],
        column["limit"] - column["start"], column["file_offset"], column["start"] - column["base"], separate,
        *(np.where(separate >= 0, column[name], 0) for name in ("start", "pid")),
    ]  # fmt: skip
    first, group = group_rows(keys)
    looked_up = falses(len(first))
    looked_up[group[numbers(table, "looked_up").astype(np.bool_)]] = True
    codes, object_ids = string_columns["object_id"]
    objects = CodeObjects(
        [object_ids[code] for code in codes[first].tolist()], column["base"][first].view(np.uint64),
        column["is_local"][first].astype(np.bool_), column["variant"][first],
    )  # fmt: skip
    return (
        restore_mappings(rows_of_table(table, first), strings),
        objects,
        looked_up,
        _ValuesByNumber(rows.offsets, group),
    )


def restore_mappings(rows: "pyarrow.Table", strings: StringTableBuilder) -> Mappings:
    """Make a mapping from each row of a table of mappings."""
    no = falses(len(rows))
    columns: dict[str, Any] = {}
    for column, name in MAPPING_NUMBERS.items():
        columns[name] = numbers(rows, column).astype(column_type(Mappings, name))
    for column, name in MAPPING_STRINGS.items():
        codes, distinct = string_codes(rows, column)
        columns[name] = strings.add_all(distinct[code] for code in codes.tolist())
    return Mappings(**columns, has_functions=no, has_filenames=no, has_line_numbers=no, has_inline_frames=no)


def _locations(
    rows: Rows, mapping_of: _ValuesByNumber, objects: CodeObjects, strings: StringTableBuilder, source: str
) -> tuple[Locations, Functions, I64]:
    """Return locations in the stitcher's order, functions of synthetic frames, and each place's location."""
    places = rows.table
    codes, object_ids = string_codes(places, "object_id")
    root = as_int64([*(_ROOT_FRAMES.get(ident, RootFrame.NONE) for ident in object_ids), 0])[codes]
    mapping = mapping_of.of(rows.recording, as_int64(numbers(places, "mapping", -1)), "mapping", source)
    keys, base = keys_of_rows(places), np.append(objects.base, np.uint64(0))[mapping]
    address = np.where(root > 0, np.uint64(0), keys.offset + base)
    lookup = address - keys.is_return
    first, location = group_rows([mapping, address, ~keys.is_return, keys.mode, root])
    functions, line_function = root_functions(root[first], strings)
    locations = Locations(
        address=address[first],
        lookup=lookup[first],
        mapping=as_int32(mapping[first]),
        mode=keys.mode[first],
        synthetic=root[first] > 0,
        line_offsets=as_int64(np.concatenate([[0], cumsum(root[first] > 0)])),
        line_function=line_function,
        line_number=np.zeros(len(line_function), np.int32),
    )
    return locations, functions, location


def _stacks(rows: Rows, location_of: _ValuesByNumber, source: str) -> tuple[Stacks, _ValuesByNumber]:
    """Return the tree of all stacks, and the leaf of each stack's number."""
    lists = as_one_array(rows.table, "places")
    if lists.null_count or lists.flatten().null_count:
        raise FormatError(f"{source}: damaged: a stack is missing")
    offsets = as_int64(lists.offsets.to_numpy())
    values = as_int64(lists.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]])
    stacks = ListArray(offsets - offsets[0], values)
    if (values < 0).any():
        raise FormatError(f"{source}: damaged: a place is missing")
    location = location_of.of(repeat(rows.recording, stacks.lengths), values, "place", source)
    parent, node_location, leaf = prefix_tree(ListArray(stacks.offsets, location))
    return Stacks(parent, node_location), _ValuesByNumber(rows.offsets, as_int64(leaf))


def _threads(samples: "pyarrow.Table", strings: StringTableBuilder) -> tuple[Threads, I64]:
    """Return threads in the stitcher's order, and (samples,) the thread of each sample."""
    comm, comms = _sorted_codes(samples, "comm")
    process, processes = _sorted_codes(samples, "process")
    pid, tid = numbers(samples, "pid"), numbers(samples, "tid")
    first, thread = group_rows([pid, tid, comm, process])
    threads = Threads(
        pid=pid[first],
        tid=tid[first],
        comm=strings.add_all(comms[code] for code in comm[first].tolist()),
        process=strings.add_all(processes[code] for code in process[first].tolist()),
    )
    return threads, thread


def _sorted_codes(table: "pyarrow.Table", name: str) -> tuple[I64, list[str]]:
    codes, distinct = string_codes(table, name)
    sorted_strings = sorted(set(distinct))
    sorted_code = {string: code for code, string in enumerate(sorted_strings)}
    return as_int64([*(sorted_code[string] for string in distinct), -1])[codes], sorted_strings


def restore_events(row: Row) -> tuple[ProfileEvent, ...]:
    """Return the events of a recording in recorded order."""
    return tuple(ProfileEvent(**event) for event in map_strings(row.values["events"], undo_printable))


def _column_or_none(table: "pyarrow.Table", name: str, dtype: type) -> AnyArray | None:
    return numbers(table, name).astype(dtype) if has_value(table, name).any() else None


def _cgroups(table: "pyarrow.Table", strings: StringTableBuilder) -> I32 | None:
    codes, cgroups = _sorted_codes(table, "cgroup")
    return strings.add_all(cgroups)[codes] if len(cgroups) else None


def restore_meta(row: Row, comments: tuple[str, ...], clock_id: int) -> Meta:
    """Return the Meta of a recording's profile."""
    facts: dict[str, Any] = {
        name: map_strings(row.values[column], undo_printable) for column, name in META_FIELDS.items()
    }
    facts["wall_start_ns"] = facts["wall_start_ns"] or 0
    return Meta(**facts, comments=comments, clock_id=clock_id)
