"""Makes the rows that a recording adds to a dataset's tables (docs/parquet.md)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import asdict

from perf2x.base.columnar import (
    I64,
    AnyArray,
    ListArray,
    arange,
    as_int32,
    cumsum,
    falses,
    flatnonzero,
    minus_ones,
    no_rows,
    offsets_of,
    row_batches,
    sum_of,
    zeros,
)
from perf2x.errors import FormatError
from perf2x.model.printable_text import printable
from perf2x.model.profile import PlaceNames, Profile, depths, stack_locations, used_leaves
from perf2x.sources.dataset.arrow_columns import list_column, map_strings, null_if_negative, string_column, table_of
from perf2x.sources.dataset.dataset_schema import (
    ATTEMPT_COLUMNS,
    LINE_FIELDS,
    MAPPING_NUMBERS,
    MAPPING_STRINGS,
    META_FIELDS,
    arrow,
    schema_of,
)
from perf2x.sources.dataset.place_keys import PlaceKeys
from perf2x.sources.dataset.write.profile_places import (
    CodeObjects,
    ProfilePlaces,
    code_objects,
    profile_places,
    synthetic_names,
    synthetic_object,
)
from perf2x.sources.dataset.write.recording_to_store import StoredRecording

if TYPE_CHECKING:
    import pyarrow

# stacks with about so many frames are written together; maximum number of frames in all stacks of a recording
_FRAMES_PER_PART, _MAX_FRAMES = 1 << 22, 1 << 28


def recording_tables(stored: StoredRecording, attempt: str) -> "Iterator[tuple[str, pyarrow.Table]]":
    """Yield the rows of one recording in parts, those of the table of recordings last.

    Raises FormatError for too many frames of stacks, or a number that is too large for its column.
    """
    profile, attempt_key = stored.profile, (stored.recording.hex(), attempt)
    objects = code_objects(profile.mappings, profile.strings, stored.recording)
    places = profile_places(profile.locations, objects, stored.recording)
    leaves, stack = used_leaves(profile)
    for rows in _stacks(profile, leaves[leaves >= 0], attempt_key, profile.meta.source):
        yield "stacks", rows
    yield "places", _places(profile, places, stored.names or no_rows(PlaceNames), attempt_key)
    yield "mappings", _mappings(stored, objects, attempt_key)
    # samples without a stack have the leaf −1, which comes first: other numbers are then one lower
    stack_number = stack - (1 if len(leaves) and leaves[0] < 0 else 0)
    yield "samples", _samples(profile, stack_number, attempt_key)
    yield "recordings", _recording_table(stored, attempt)


def _attempt_columns(attempt_key: tuple[str, str], count: int) -> dict[str, Any]:
    first_text = zeros(count)
    return {name: string_column([text], first_text) for name, text in zip(ATTEMPT_COLUMNS, attempt_key, strict=True)}


def _stacks(profile: Profile, leaves: I64, attempt_key: tuple[str, str], source: str) -> "Iterator[pyarrow.Table]":
    length = depths(profile.stacks.parent)[leaves] + 1
    if sum_of(length) > _MAX_FRAMES:
        raise FormatError(f"{source}: its stacks have {sum_of(length):,} frames, too many for a dataset")
    for stack in row_batches(length, _FRAMES_PER_PART):
        locations = stack_locations(profile, leaves[stack])
        yield table_of("stacks", {
            **_attempt_columns(attempt_key, len(stack)),
            "stack": stack,
            "places": list_column(locations.offsets, arrow().array(as_int32(locations.values))),
        })  # fmt: skip


def _places(
    profile: Profile, places: ProfilePlaces, names: PlaceNames, attempt_key: tuple[str, str]
) -> "pyarrow.Table":
    """The ``file`` of a synthetic frame is its name. Twins without names are left out: later lookups make them anew."""
    mappings, locations, location = profile.mappings, profile.locations, places.location
    synthetic, mapping = synthetic_names(profile), locations.mapping[location]
    # rows of file and build_id: mappings, then "" for code outside them, then synthetic frames
    file_row, object_row = np.where(mapping < 0, len(mappings), mapping), places.object.copy()
    synthetic_places = flatnonzero(locations.synthetic)
    file_row[synthetic_places] = len(mappings) + 1 + arange(len(synthetic))
    object_row[synthetic_places] = len(places.object_ids) + arange(len(synthetic))
    build_ids, files = (
        [*(profile.strings[text] for text in column.tolist()), ""] for column in (mappings.build_id, mappings.filename)
    )
    is_kept = arange(len(location)) < len(locations)
    is_kept[names.place] = True
    return table_of("places", {
        **_attempt_columns(attempt_key, len(location)),
        "place": cumsum(is_kept) - 1,
        "mapping": null_if_negative(mapping),
        "object_id": string_column([*places.object_ids, *map(synthetic_object, synthetic)], object_row),
        "build_id": string_column([*build_ids, *("" for _ in synthetic)], file_row),
        "file": string_column([*files, *synthetic], file_row),
        **places.keys.columns(),
        "is_local": places.is_local,
        **_name_columns("places", names, len(location)),
    }).filter(is_kept)  # fmt: skip


def object_symbols(object_id: str, places: PlaceKeys, names: PlaceNames, reason: str) -> "pyarrow.Table":
    """Return rows of symbols for an object's places; ``reason`` is for places without names."""
    count = len(places.offset)
    is_named = zeros(count)
    is_named[names.place] = names.count > 0
    return table_of("symbols", {
        "object_id": string_column([object_id], zeros(count)),
        **places.columns(),
        **_name_columns("symbols", names, count),
        "reason": string_column([reason, ""], is_named),
    })  # fmt: skip


def _name_columns(table: str, names: PlaceNames, count: int) -> dict[str, Any]:
    """Without names, lines are null, or an empty list if the table does not allow null."""
    row = minus_ones(count)  # −1 for none
    row[names.place] = arange(len(names.place))
    is_named = row >= 0
    lines = ListArray(offsets_of(names.count), arange(len(names.line)))[row[is_named]]
    length = zeros(count)
    length[is_named] = lines.lengths
    function, fields = names.function[lines.values], list(zip(*names.functions, strict=True)) or [(), (), (), ()]
    start_line = as_int32(fields[3])
    columns = [string_column([str(text) for text in fields[index]], function) for index in range(3)]
    columns += [arrow().array(as_int32(names.line[lines.values])), arrow().array(start_line[function])]
    values = arrow().StructArray.from_arrays(columns, list(LINE_FIELDS))
    is_nullable = schema_of(table).field("lines").nullable
    flags = {name: np.append(getattr(names, name), False)[row] for name in ("is_exact", "has_inlines")}
    return {"lines": list_column(offsets_of(length), values, ~is_named if is_nullable else None), **flags}


def _mappings(stored: StoredRecording, objects: CodeObjects, attempt_key: tuple[str, str]) -> "pyarrow.Table":
    mappings, strings = stored.profile.mappings, stored.profile.strings
    return table_of("mappings", {
        **_attempt_columns(attempt_key, len(mappings)),
        "mapping": np.arange(len(mappings), dtype=np.int64),
        "object_id": list(objects.ids),
        **{name: getattr(objects, name) for name in ("base", "variant", "is_local")},
        **{column: getattr(mappings, name) for column, name in MAPPING_NUMBERS.items()},
        **{column: string_column(strings, getattr(mappings, name)) for column, name in MAPPING_STRINGS.items()},
        "looked_up": falses(len(mappings)) if stored.looked_up is None else stored.looked_up,
    })  # fmt: skip


def _samples(profile: Profile, stack: AnyArray, attempt_key: tuple[str, str]) -> "pyarrow.Table":
    samples, threads, strings = profile.samples, profile.threads, profile.strings
    return table_of("samples", {
        **_attempt_columns(attempt_key, len(samples)),
        **{name: string_column([getattr(event, field) for event in profile.events], samples.event)
           for name, field in (("event", "name"), ("unit", "unit"))},
        "event_number": samples.event,
        **{name: string_column(strings, getattr(threads, name)[samples.thread]) for name in ("comm", "process")},
        **{name: getattr(threads, name)[samples.thread] for name in ("pid", "tid")},
        "cgroup": None if samples.cgroup is None else string_column(strings, samples.cgroup),
        "stack": null_if_negative(stack),
        **{name: getattr(samples, name) for name in ("value", "count", "cpu")},
        "time_ns": samples.time,
    })  # fmt: skip


_SAME_NAMES = ("samples", "lost", "deferred_missing", "kernel_build_id", "facts", "unfinished", "missing_bytes")
"""Columns of the table of recordings that are fields of StoredRecording."""


def _recording_table(stored: StoredRecording, attempt: str) -> "pyarrow.Table":
    """Raises FormatError for a number that is too large for its column."""
    profile, meta, pa = stored.profile, stored.profile.meta, arrow()
    row: dict[str, Any] = {
        **{column: getattr(meta, name) for column, name in META_FIELDS.items()},
        **{name: getattr(stored, name) for name in _SAME_NAMES},
        "recording": stored.recording.hex(),
        "attempt": attempt,
        "session": stored.session.hex() if stored.session else None,
        "start_ns": meta.wall_start_ns or None,
        "tags": sorted(stored.tags.items()),
        "error": stored.error or None,
        "is_timeline": profile.samples.time is not None,
        "default_event": profile.default_event,
        "events": [asdict(event) for event in profile.events],
    }
    arrays, schema = [], schema_of("recordings")
    for field in schema:
        try:
            arrays.append(pa.array([map_strings(row[field.name], printable)], field.type))
        except (OverflowError, pa.ArrowInvalid):
            raise FormatError(f"{meta.source}: {field.name} has a number that is too large for a dataset") from None
    return pa.table(arrays, schema=schema)
