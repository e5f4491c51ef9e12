"""Rows that a recording adds to the tables of a dataset."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, I64, U8, AnyArray, arange, flatnonzero, repeat, row_slices
from perf2x.base.columnar.ragged import Ragged, offsets_of, row_numbers
from perf2x.base.columnar.unique import group_rows
from perf2x.model.profile.profile import Profile
from perf2x.storage.dataset import arrow_columns
from perf2x.storage.dataset.arrow_columns import table_of
from perf2x.storage.dataset.dataset_schema import arrow
from perf2x.storage.dataset.parquet_files import texts as coded_texts
from perf2x.storage.dataset.write.profile_places import ProfilePlaces, made_up_name, profile_places
from perf2x.storage.dataset.write.recording_row import recording_table
from perf2x.storage.dataset.write.recording_to_store import PlaceKeys, PlaceNames, StoredRecording, no_names

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
ROWS_OF_GROUP = 1 << 17
"""Rows that are written together."""


def modes_of(places: "pyarrow.Table") -> U8:
    """(places,) uapi.CpuMode of each; UNKNOWN for a text that is none."""
    code, known = coded_texts(places, "mode")
    numbers = {text: mode for mode, text in MODES.items()}
    return np.array([numbers.get(text, CpuMode.UNKNOWN) for text in known], np.uint8)[code]


def recording_tables(
    stored: StoredRecording, names: PlaceNames | None = None
) -> "Iterator[tuple[str, int, Iterable[pyarrow.Table]]]":
    """Yield each table of one recording: name, number of rows, and its rows in parts, each a group of rows.

    Read a table before the next one; ``names`` are of the recording's own places.
    """
    profile = stored.profile
    places = profile_places(profile, stored.recording)
    yield "nodes", len(profile.stacks), _nodes(stored)
    yield "places", len(places.location), _places(stored, places)
    object_ids = places.objects.ids
    del places
    for table, rows in (
        ("lines", own_lines(stored.recording, names or no_names())),
        ("mappings", _mappings(stored, object_ids)),
        ("samples", _samples(stored)),
        ("recordings", recording_table(stored)),
    ):
        yield table, len(rows), [rows]


def _nodes(stored: StoredRecording) -> "Iterator[pyarrow.Table]":
    stacks = stored.profile.stacks
    for rows in row_slices(len(stacks), ROWS_OF_GROUP):
        parent = stacks.parent[rows]
        yield table_of(
            "nodes",
            {
                "recording": arrow_columns.same_text(stored.recording.hex(), len(parent)),
                "node": np.arange(rows.start, rows.start + len(parent), dtype=np.int32),
                "parent": arrow().array(parent, mask=parent < 0),
                "place": stacks.location[rows],
            },
        )


def _places(stored: StoredRecording, places: ProfilePlaces) -> "Iterator[pyarrow.Table]":
    """Places; those without a mapping have the name of what they stand for, or none."""
    locations = stored.profile.locations
    build_ids, files, kind = _texts_of(stored.profile)
    for rows in row_slices(len(places.location), ROWS_OF_GROUP):
        location = places.location[rows]
        yield table_of(
            "places",
            {
                "recording": arrow_columns.same_text(stored.recording.hex(), len(location)),
                "place": np.arange(rows.start, rows.start + len(location), dtype=np.int32),
                "object_id": arrow_columns.texts(places.object_ids, places.object(rows)),
                "build_id": arrow_columns.texts(build_ids, kind[location]),
                "file": arrow_columns.texts(files, kind[location]),
                "file_offset": places.offset(rows).view(np.int64),
                "mode": arrow_columns.texts(list(MODES.values()), locations.mode[location]),
                "is_return": places.is_return[rows],
                "variant": places.variant(rows),
                "is_local": places.is_local(rows),
            },
        )


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


def own_lines(recording: bytes, names: PlaceNames) -> "pyarrow.Table":
    """Names of a recording's own places, sorted by place."""
    owner, columns = _named_rows(names)
    own = {"recording": arrow_columns.same_text(recording.hex(), len(owner)), "place": names.place[owner]}
    return table_of("lines", own | columns)


def object_symbols(object_id: str, places: PlaceKeys, names: PlaceNames, reason: str) -> "pyarrow.Table":
    """Names of places of an object; a place without any has a row that says the reason."""
    owner, columns = _named_rows(names)
    place = names.place[owner]
    unnamed = np.delete(arange(len(places.offset)), names.place)
    count = len(unnamed)
    zeros, nothing = np.zeros(count, np.int32), np.full(count, -1, np.int64)
    without: dict[str, Any] = dict.fromkeys(("depth", "line", "start_line"), zeros)
    without |= {name: arrow_columns.same_text("", count) for name in ("function", "system_name", "file")}
    without |= dict.fromkeys(("is_exact", "has_inlines"), nothing > 0)
    return arrow().concat_tables(
        table_of("symbols", {**_key_columns(object_id, places, rows), "reason": why, **told})
        for rows, why, told in (
            (place, arrow_columns.same_text("", len(place)), columns),
            (unnamed, arrow_columns.same_text(reason, count), without),
        )
    )


def _key_columns(object_id: str, places: PlaceKeys, rows: AnyArray) -> dict[str, Any]:
    return {
        "object_id": arrow_columns.same_text(object_id, len(rows)),
        "file_offset": places.offset[rows].view(np.int64),
        "mode": arrow_columns.texts(list(MODES.values()), places.mode[rows]),
        "is_return": places.is_return[rows],
        "variant": places.variant[rows].astype(np.int32),
    }


def _named_rows(names: PlaceNames) -> tuple[I64, dict[str, Any]]:
    """(rows,) the place of each row, by its place in ``names``, and the columns that lines and symbols share."""
    order = group_rows([names.place])[0] if len(names.place) else np.zeros(0, np.int64)
    rows = Ragged(offsets_of(names.count), arange(len(names.line)))
    taken = rows.take(order)
    owner, row = order[row_numbers(taken.lengths)], taken.values
    depth = arange(len(row)) - repeat(taken.offsets[:-1], taken.lengths)
    functions = list(zip(*names.functions, strict=True)) or [(), (), (), ()]
    function = names.function[row]
    start_line = np.array(functions[3], np.int32)
    return owner, {
        "depth": depth.astype(np.int32),
        "function": arrow_columns.texts([str(text) for text in functions[0]], function),
        "system_name": arrow_columns.texts([str(text) for text in functions[1]], function),
        "file": arrow_columns.texts([str(text) for text in functions[2]], function),
        "line": names.line[row].astype(np.int32),
        "start_line": start_line[function],
        "is_exact": names.is_exact[owner],
        "has_inlines": names.has_inlines[owner],
    }


def _mappings(stored: StoredRecording, object_ids: Sequence[bytes]) -> "pyarrow.Table":
    mappings, strings = stored.profile.mappings, stored.profile.strings
    count = len(mappings)
    return table_of(
        "mappings",
        {
            "recording": arrow_columns.same_text(stored.recording.hex(), count),
            "mapping": np.arange(count, dtype=np.int32),
            "object_id": [one.hex() for one in object_ids],
            "start": mappings.start.view(np.int64),
            "limit": mappings.limit.view(np.int64),
            "file_offset": mappings.offset.view(np.int64),
            "file": arrow_columns.texts(strings, mappings.filename),
            "build_id": arrow_columns.texts(strings, mappings.build_id),
            "pid": mappings.pid,
            "is_kernel": mappings.is_kernel,
            "looked_up": stored.looked_up_mappings(),
        },
    )


def _samples(stored: StoredRecording) -> "pyarrow.Table":
    profile, samples = stored.profile, stored.profile.samples
    threads, strings, count = profile.threads, profile.strings, len(samples)

    def optional(name: str, column: AnyArray | None, dtype: type) -> Any:
        return arrow_columns.nulls("samples", name, count) if column is None else column.astype(dtype)

    cgroup = samples.cgroup
    return table_of(
        "samples",
        {
            "recording": arrow_columns.same_text(stored.recording.hex(), count),
            "event": arrow_columns.texts([event.name for event in profile.events], samples.event),
            "unit": arrow_columns.texts([event.unit for event in profile.events], samples.event),
            "event_number": samples.event.astype(np.int32),
            "comm": arrow_columns.texts(strings, threads.comm[samples.thread]),
            "process": arrow_columns.texts(strings, threads.process[samples.thread]),
            "pid": threads.pid[samples.thread],
            "tid": threads.tid[samples.thread],
            "cgroup": arrow_columns.nulls("samples", "cgroup", count)
            if cgroup is None
            else arrow_columns.texts(strings, cgroup),
            "stack": arrow().array(samples.stack, mask=samples.stack < 0),
            "value": samples.value,
            "count": samples.count,
            "time_ns": optional("time_ns", samples.time, np.int64),
            "cpu": optional("cpu", samples.cpu, np.int32),
        },
    )
