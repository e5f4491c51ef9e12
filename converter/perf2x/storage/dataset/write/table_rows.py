"""Rows that a recording adds to the tables of a dataset."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import (
    I32,
    I64,
    U8,
    AnyArray,
    arange,
    cumsum,
    flatnonzero,
    no_rows,
    searchsorted,
    sum_of,
)
from perf2x.base.columnar.ragged import Ragged, offsets_of
from perf2x.base.errors import FormatError
from perf2x.model.profile.place_names import PlaceNames
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import depths, location_rows, used_stacks
from perf2x.storage.dataset.arrow_columns import list_column, nulls, same_text, table_of, text_column
from perf2x.storage.dataset.arrow_columns import texts as coded_texts
from perf2x.storage.dataset.dataset_schema import LINE, arrow, schema_of
from perf2x.storage.dataset.write.profile_places import ProfilePlaces, made_up_name, profile_places
from perf2x.storage.dataset.write.recording_row import recording_table
from perf2x.storage.dataset.write.recording_to_store import PlaceKeys, StoredRecording

if TYPE_CHECKING:
    import pyarrow

MODES = {
    CpuMode.UNKNOWN: "unknown",
    CpuMode.KERNEL: "kernel",
    CpuMode.USER: "user",
    CpuMode.HYPERVISOR: "hypervisor",
    CpuMode.GUEST_KERNEL: "guest kernel",
    CpuMode.GUEST_USER: "guest user",
}
"""Texts of the column ``mode``, also pprof's."""
_AT_ONCE, _MOST = 1 << 22, 1 << 28
"""Frames of stacks that are written together, and of a recording: equal callers of many stacks are written for each."""


def modes_of(places: "pyarrow.Table") -> U8:
    """(places,) uapi.CpuMode of each; UNKNOWN for a text that is none."""
    code, known = coded_texts(places, "mode")
    numbers = {text: mode for mode, text in MODES.items()}
    return np.array([numbers.get(text, CpuMode.UNKNOWN) for text in known], np.uint8)[code]


def recording_tables(
    stored: StoredRecording, attempt: str, names: PlaceNames | None = None
) -> "Iterator[tuple[str, pyarrow.Table]]":
    """Yield rows of one recording, some at a time, each with its table; ``names`` are of the recording's own places.

    FormatError for stacks that are too deep and too many.
    """
    places, of = profile_places(stored.profile, stored.recording), (stored.recording.hex(), attempt)
    leaves, stack = used_stacks(stored.profile)
    for rows in _stacks(stored.profile, leaves[leaves >= 0], of, stored.profile.meta.source):
        yield "stacks", rows
    yield "places", _places(stored.profile, places, names or no_rows(PlaceNames), of)
    yield "mappings", _mappings(stored, places, of)
    number = stack - (1 if len(leaves) and leaves[0] < 0 else 0)
    yield "samples", _samples(stored.profile, number, of)
    yield "recordings", recording_table(stored, attempt)


def _of(of: tuple[str, str], count: int) -> dict[str, Any]:
    """Columns of the recording's id and of the attempt to add it."""
    return dict(zip(("recording", "attempt"), (same_text(one, count) for one in of), strict=True))


def _stacks(profile: Profile, leaves: I64, of: tuple[str, str], source: str) -> "Iterator[pyarrow.Table]":
    length = depths(profile.stacks.parent)[leaves] + 1
    if sum_of(length) > _MOST:
        raise FormatError(f"{source}: its stacks have {sum_of(length):,} frames, too many for a dataset")
    ends, first = cumsum(length), 0
    while first < len(leaves):
        done = int(ends[first - 1]) if first else 0
        last = max(int(searchsorted(ends, done + _AT_ONCE, "right")), first + 1)
        rows = location_rows(profile, leaves[first:last])
        yield table_of("stacks", {
            **_of(of, last - first),
            "stack": np.arange(first, last, dtype=np.int32),
            "places": list_column(rows.offsets, arrow().array(rows.values.astype(np.int32)), _kind("stacks", "places")),
        })  # fmt: skip
        first = last


def _kind(table: str, column: str) -> Any:
    return schema_of(table).field(column).type


def _places(profile: Profile, places: ProfilePlaces, names: PlaceNames, of: tuple[str, str]) -> "pyarrow.Table":
    """Places; those without a mapping have the name of what they stand for, or none."""
    locations, location, everything = profile.locations, places.location, slice(None)
    build_ids, files, kind = _texts_of(profile)
    mapping = locations.mapping[location]
    return table_of("places", {
        **_of(of, len(location)),
        "place": np.arange(len(location), dtype=np.int32),
        "mapping": arrow().array(mapping, mask=mapping < 0),
        "object_id": text_column(places.object_ids, places.object(everything)),
        "build_id": text_column(build_ids, kind[location]),
        "file": text_column(files, kind[location]),
        "file_offset": places.offset(everything).view(np.int64),
        "mode": text_column(list(MODES.values()), locations.mode[location]),
        "is_return": places.is_return,
        "variant": places.variant(everything),
        "is_local": places.is_local(everything),
        **_name_columns("places", names, len(location)),
    })  # fmt: skip


def _texts_of(profile: Profile) -> tuple[list[str], list[str], I32]:
    """Build ids and files of mappings, of none and of frames that stand for no code, and (locations,) which of them."""
    mappings, locations, strings = profile.mappings, profile.locations, profile.strings
    build_ids, files = (
        [*(strings[row] for row in column.tolist()), ""] for column in (mappings.build_id, mappings.filename)
    )
    made_up = flatnonzero(locations.synthetic)
    kind = np.where(locations.mapping < 0, np.int32(len(mappings)), locations.mapping)
    kind[made_up] = len(files) + arange(len(made_up))
    names = [made_up_name(profile, row) for row in made_up.tolist()]
    return [*build_ids, *("" for _ in names)], [*files, *names], kind


def object_symbols(object_id: str, places: PlaceKeys, names: PlaceNames, reason: str) -> "pyarrow.Table":
    """Names of places of an object; a place without any says the reason."""
    count = len(places.offset)
    is_named = np.zeros(count, np.bool_)
    is_named[names.place] = names.count > 0
    return table_of("symbols", {
        "object_id": same_text(object_id, count),
        "file_offset": places.offset.view(np.int64),
        "mode": text_column(list(MODES.values()), places.mode),
        "is_return": places.is_return,
        "variant": places.variant.astype(np.int32),
        **_name_columns("symbols", names, count),
        "reason": text_column([reason, ""], is_named.astype(np.int64)),
    })  # fmt: skip


def _name_columns(table: str, names: PlaceNames, count: int) -> dict[str, Any]:
    """Lines and flags of places 0 to ``count``; those without names have no list where columns may be null."""
    row = np.full(count, -1, np.int64)
    row[names.place] = arange(len(names.place))
    has = row >= 0
    lines = Ragged(offsets_of(names.count), arange(len(names.line))).take(row[has])
    length = np.zeros(count, np.int64)
    length[has] = lines.lengths
    function, known = names.function[lines.values], list(zip(*names.functions, strict=True)) or [(), (), (), ()]
    start_line = np.array(known[3], np.int32)
    kind = _kind(table, "lines")
    columns = [text_column([str(text) for text in known[field]], function) for field in range(3)]
    columns += [arrow().array(names.line[lines.values].astype(np.int32)), arrow().array(start_line[function])]
    values = arrow().StructArray.from_arrays(columns, list(LINE))
    nullable = schema_of(table).field("lines").nullable
    flags = {name: np.append(getattr(names, name), False)[row] for name in ("is_exact", "has_inlines")}
    return {"lines": list_column(offsets_of(length), values, kind, ~has if nullable else None), **flags}


def _mappings(stored: StoredRecording, places: ProfilePlaces, of: tuple[str, str]) -> "pyarrow.Table":
    mappings, strings, objects = stored.profile.mappings, stored.profile.strings, places.objects
    return table_of("mappings", {
        **_of(of, len(mappings)),
        "mapping": np.arange(len(mappings), dtype=np.int32),
        "object_id": [one.hex() for one in objects.ids],
        "base": objects.base.view(np.int64),
        "variant": objects.variant.astype(np.int32),
        "is_local": objects.is_local,
        "start": mappings.start.view(np.int64),
        "limit": mappings.limit.view(np.int64),
        "file_offset": mappings.offset.view(np.int64),
        "file": text_column(strings, mappings.filename),
        "build_id": text_column(strings, mappings.build_id),
        "pid": mappings.pid,
        "is_kernel": mappings.is_kernel,
        "looked_up": stored.looked_up_mappings(),
    })  # fmt: skip


def _samples(profile: Profile, stack: AnyArray, of: tuple[str, str]) -> "pyarrow.Table":
    samples, threads, strings = profile.samples, profile.threads, profile.strings
    count = len(samples)

    def optional(name: str, column: AnyArray | None, dtype: type) -> Any:
        return nulls("samples", name, count) if column is None else column.astype(dtype)

    return table_of("samples", {
        **_of(of, count),
        "event": text_column([event.name for event in profile.events], samples.event),
        "unit": text_column([event.unit for event in profile.events], samples.event),
        "event_number": samples.event.astype(np.int32),
        "comm": text_column(strings, threads.comm[samples.thread]),
        "process": text_column(strings, threads.process[samples.thread]),
        "pid": threads.pid[samples.thread],
        "tid": threads.tid[samples.thread],
        "cgroup": nulls("samples", "cgroup", count) if samples.cgroup is None else text_column(strings, samples.cgroup),
        "stack": arrow().array(stack.astype(np.int32), mask=stack < 0),
        "value": samples.value,
        "count": samples.count,
        "time_ns": optional("time_ns", samples.time, np.int64),
        "cpu": optional("cpu", samples.cpu, np.int32),
    })  # fmt: skip
