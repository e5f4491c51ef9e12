"""Makes the rows that a recording adds to the tables of a dataset."""

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
from perf2x.model.profile import PlaceNames, Profile, depths, location_rows, used_stacks
from perf2x.sources.dataset.arrow_columns import known, list_column, table_of, text_column, with_texts
from perf2x.sources.dataset.dataset_schema import LINE, MAPPING_TEXTS, MAPPINGS, META, OF_ATTEMPT, arrow, schema_of
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

_AT_ONCE, _MOST = 1 << 22, 1 << 28
"""Maximum number of frames in stacks that are written together, and in all stacks of a recording.

Each stack is written whole, so callers that many stacks share count once for each of them.
"""


def recording_tables(stored: StoredRecording, attempt: str) -> "Iterator[tuple[str, pyarrow.Table]]":
    """Yield the rows of one recording, each time the name of a table and some of its rows.

    Raises FormatError if its stacks together have too many frames, or a number is too large for a column.
    """
    profile, of = stored.profile, (stored.recording.hex(), attempt)
    objects = code_objects(profile.mappings, profile.strings, stored.recording)
    places = profile_places(profile.locations, objects, stored.recording)
    leaves, stack = used_stacks(profile)
    for rows in _stacks(profile, leaves[leaves >= 0], of, profile.meta.source):
        yield "stacks", rows
    yield "places", _places(profile, places, stored.names or no_rows(PlaceNames), of)
    yield "mappings", _mappings(stored, objects, of)
    number = stack - (1 if len(leaves) and leaves[0] < 0 else 0)
    yield "samples", _samples(profile, number, of)
    yield "recordings", _recording_table(stored, attempt)


def _of(of: tuple[str, str], count: int) -> dict[str, Any]:
    """Return the columns of the recording's id and of the attempt to add it."""
    same = zeros(count)
    return {name: text_column([one], same) for name, one in zip(OF_ATTEMPT, of, strict=True)}


def _stacks(profile: Profile, leaves: I64, of: tuple[str, str], source: str) -> "Iterator[pyarrow.Table]":
    length = depths(profile.stacks.parent)[leaves] + 1
    if sum_of(length) > _MOST:
        raise FormatError(f"{source}: its stacks have {sum_of(length):,} frames, too many for a dataset")
    for some in row_batches(length, _AT_ONCE):
        rows = location_rows(profile, leaves[some])
        yield table_of("stacks", {
            **_of(of, len(some)),
            "stack": some,
            "places": list_column(rows.offsets, arrow().array(as_int32(rows.values))),
        })  # fmt: skip


def _places(profile: Profile, places: ProfilePlaces, names: PlaceNames, of: tuple[str, str]) -> "pyarrow.Table":
    """Return the rows of places; the ``file`` of a synthetic frame is its name.

    Twins without names of their own are omitted: no stack refers to them, and they are made anew to be named.
    """
    mappings, locations, location = profile.mappings, profile.locations, places.location
    synthetic, mapping = synthetic_names(profile), locations.mapping[location]
    row, object_row = np.where(mapping < 0, len(mappings), mapping), places.object.copy()
    at = flatnonzero(locations.synthetic)
    row[at] = len(mappings) + 1 + arange(len(synthetic))
    object_row[at] = len(places.object_ids) + arange(len(synthetic))
    build_ids, files = (
        [*(profile.strings[text] for text in column.tolist()), ""] for column in (mappings.build_id, mappings.filename)
    )
    is_kept = arange(len(location)) < len(locations)
    is_kept[names.place] = True
    return table_of("places", {
        **_of(of, len(location)),
        "place": cumsum(is_kept) - 1,
        "mapping": known(mapping),
        "object_id": text_column([*places.object_ids, *map(synthetic_object, synthetic)], object_row),
        "build_id": text_column([*build_ids, *("" for _ in synthetic)], row),
        "file": text_column([*files, *synthetic], row),
        **places.keys.columns(),
        "is_local": places.is_local,
        **_name_columns("places", names, len(location)),
    }).filter(is_kept)  # fmt: skip


def object_symbols(object_id: str, places: PlaceKeys, names: PlaceNames, reason: str) -> "pyarrow.Table":
    """Return rows of symbols for an object's places; the rows of places without names have the ``reason``."""
    count = len(places.offset)
    is_named = zeros(count)
    is_named[names.place] = names.count > 0
    return table_of("symbols", {
        "object_id": text_column([object_id], zeros(count)),
        **places.columns(),
        **_name_columns("symbols", names, count),
        "reason": text_column([reason, ""], is_named),
    })  # fmt: skip


def _name_columns(table: str, names: PlaceNames, count: int) -> dict[str, Any]:
    """Return the columns of lines and flags for all ``count`` places.

    A place without names has null instead of a list of lines if the table allows null, otherwise an empty list.
    """
    row = minus_ones(count)
    row[names.place] = arange(len(names.place))
    has = row >= 0
    lines = ListArray(offsets_of(names.count), arange(len(names.line)))[row[has]]
    length = zeros(count)
    length[has] = lines.lengths
    function, parts = names.function[lines.values], list(zip(*names.functions, strict=True)) or [(), (), (), ()]
    start_line = as_int32(parts[3])
    columns = [text_column([str(text) for text in parts[field]], function) for field in range(3)]
    columns += [arrow().array(as_int32(names.line[lines.values])), arrow().array(start_line[function])]
    values = arrow().StructArray.from_arrays(columns, list(LINE))
    nullable = schema_of(table).field("lines").nullable
    flags = {name: np.append(getattr(names, name), False)[row] for name in ("is_exact", "has_inlines")}
    return {"lines": list_column(offsets_of(length), values, ~has if nullable else None), **flags}


def _mappings(stored: StoredRecording, objects: CodeObjects, of: tuple[str, str]) -> "pyarrow.Table":
    mappings, strings = stored.profile.mappings, stored.profile.strings
    return table_of("mappings", {
        **_of(of, len(mappings)),
        "mapping": np.arange(len(mappings), dtype=np.int64),
        "object_id": list(objects.ids),
        **{name: getattr(objects, name) for name in ("base", "variant", "is_local")},
        **{column: getattr(mappings, name) for column, name in MAPPINGS.items()},
        **{column: text_column(strings, getattr(mappings, name)) for column, name in MAPPING_TEXTS.items()},
        "looked_up": falses(len(mappings)) if stored.looked_up is None else stored.looked_up,
    })  # fmt: skip


def _samples(profile: Profile, stack: AnyArray, of: tuple[str, str]) -> "pyarrow.Table":
    samples, threads, strings = profile.samples, profile.threads, profile.strings
    return table_of("samples", {
        **_of(of, len(samples)),
        **{name: text_column([getattr(event, field) for event in profile.events], samples.event)
           for name, field in (("event", "name"), ("unit", "unit"))},
        "event_number": samples.event,
        **{name: text_column(strings, getattr(threads, name)[samples.thread]) for name in ("comm", "process")},
        **{name: getattr(threads, name)[samples.thread] for name in ("pid", "tid")},
        "cgroup": None if samples.cgroup is None else text_column(strings, samples.cgroup),
        "stack": known(stack),
        **{name: getattr(samples, name) for name in ("value", "count", "cpu")},
        "time_ns": samples.time,
    })  # fmt: skip


_SAME = ("samples", "lost", "deferred_missing", "kernel_build_id", "facts", "unfinished", "missing_bytes")
"""Columns that are named like fields of StoredRecording."""


def _recording_table(stored: StoredRecording, attempt: str) -> "pyarrow.Table":
    """Make the table of one row; unknown numbers are null, unknown texts empty.

    Raises FormatError for numbers that do not fit into the columns.
    """
    profile, meta, pa = stored.profile, stored.profile.meta, arrow()
    row: dict[str, Any] = {
        **{column: getattr(meta, name) for column, name in META.items()},
        **{name: getattr(stored, name) for name in _SAME},
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
            arrays.append(pa.array([with_texts(row[field.name], printable)], field.type))
        except (OverflowError, pa.ArrowInvalid):
            raise FormatError(f"{meta.source}: {field.name} has a number that is too large for a dataset") from None
    return pa.table(arrays, schema=schema)
