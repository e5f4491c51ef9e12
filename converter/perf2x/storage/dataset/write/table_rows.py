"""Rows that a recording adds to the tables of a dataset."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, U8, AnyArray, arange, argsort, flatnonzero, repeat
from perf2x.base.columnar.ragged import Ragged, offsets_of, row_numbers
from perf2x.base.columnar.unique import group_rows
from perf2x.model.profile.profile import Profile
from perf2x.storage.dataset import arrow_columns
from perf2x.storage.dataset.arrow_columns import table_of
from perf2x.storage.dataset.content_ids import WIDTH, as_rows, columns_at, distinct_ids
from perf2x.storage.dataset.parquet_files import texts as coded_texts
from perf2x.storage.dataset.write.profile_places import (
    ProfilePlaces,
    made_up_name,
    offsets_of_locations,
    profile_nodes,
    profile_places,
)
from perf2x.storage.dataset.write.recording_row import recording_table
from perf2x.storage.dataset.write.recording_to_store import PlaceNames, StoredRecording, no_names

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
    nodes = profile_nodes(profile, places)
    leaves = _leaves(nodes, profile.samples.stack)
    yield "nodes", len(nodes), _nodes(profile, places, nodes)
    del nodes  # ids of all addresses of a file
    yield "places", len(places.id), _places(stored, places)
    object_ids = places.objects.ids
    del places
    for table, rows in (
        ("lines", lines_table(names)),
        ("mappings", _mappings(stored, object_ids)),
        ("samples", _samples(stored, leaves)),
        ("recordings", recording_table(stored)),
    ):
        yield table, len(rows), [rows]


def _leaves(nodes: U8, stack: I32) -> U8:
    """(samples, 16) ids of stacks, zeros for none."""
    leaves = np.zeros((len(stack), WIDTH), np.uint8)
    leaves[stack >= 0] = nodes[stack[stack >= 0]]
    return leaves


def _groups(order: AnyArray) -> Iterator[AnyArray]:
    """Yield rows in this order, as many as make a group."""
    return (order[first : first + ROWS_OF_GROUP] for first in range(0, len(order), ROWS_OF_GROUP))


def _nodes(profile: Profile, places: ProfilePlaces, nodes: U8) -> "Iterator[pyarrow.Table]":
    for rows in _groups(distinct_ids(nodes, columns_at(profile.stacks.parent, profile.stacks.location))):
        parent = profile.stacks.parent[rows]
        above = nodes[parent]
        above[parent < 0] = 0
        yield table_of(
            "nodes",
            {
                "node_id": arrow_columns.ids(nodes[rows]),
                "parent_id": arrow_columns.ids(above, parent >= 0),
                "place_id": arrow_columns.ids(places.id[profile.stacks.location[rows]]),
            },
        )


def _places(stored: StoredRecording, places: ProfilePlaces) -> "Iterator[pyarrow.Table]":
    """Places, by build id, file and offset; those without a mapping have the name of what they stand for, or none."""
    profile, locations = stored.profile, stored.profile.locations
    build_ids, files, kind = _texts_of(profile)
    known = sorted(set(zip(build_ids, files, strict=True)))
    number = {texts: place for place, texts in enumerate(known)}
    rank = np.array([number[texts] for texts in zip(build_ids, files, strict=True)], np.int32)
    offset = offsets_of_locations(locations, places.objects, arange(len(locations)))
    place = group_rows([rank[kind], offset])[1].astype(np.int32) if len(offset) else kind
    del offset
    order = distinct_ids(places.id, places.contents)
    order = order[argsort(place[places.location[order]])]
    for rows in _groups(order):
        own = np.broadcast_to(as_rows([stored.recording]), (len(rows), WIDTH))
        yield table_of(
            "places",
            {
                "place_id": arrow_columns.ids(places.id[rows]),
                "object_id": arrow_columns.ids(places.object_ids[places.object(rows)]),
                "build_id": arrow_columns.texts(build_ids, kind[places.location[rows]]),
                "file": arrow_columns.texts(files, kind[places.location[rows]]),
                "file_offset": places.offset(rows),
                "mode": arrow_columns.texts(list(MODES.values()), locations.mode[places.location[rows]]),
                "is_return": places.is_return[rows],
                "variant": places.variant(rows),
                "recording": arrow_columns.ids(own, places.is_local(rows)),
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


def lines_table(names: PlaceNames | None) -> "pyarrow.Table":
    """Lines of places, sorted by place; an empty table for None."""
    names = names or no_names()
    order = distinct_ids(names.place, columns_at(names.count))
    rows = Ragged(offsets_of(names.count), arange(len(names.line)))
    taken = rows.take(order)
    owner, row = order[row_numbers(taken.lengths)], taken.values
    depth = arange(len(row)) - repeat(taken.offsets[:-1], taken.lengths)
    functions = list(zip(*names.functions, strict=True)) or [(), (), (), ()]
    function = names.function[row]
    start_line = np.array(functions[3], np.int32)
    return table_of(
        "lines",
        {
            "place_id": arrow_columns.ids(names.place[owner]),
            "depth": depth.astype(np.int32),
            "function": arrow_columns.texts([str(text) for text in functions[0]], function),
            "system_name": arrow_columns.texts([str(text) for text in functions[1]], function),
            "file": arrow_columns.texts([str(text) for text in functions[2]], function),
            "line": names.line[row].astype(np.int32),
            "start_line": start_line[function],
            "is_exact": names.is_exact[owner],
            "has_inlines": names.has_inlines[owner],
        },
    )


def _mappings(stored: StoredRecording, object_ids: Sequence[bytes]) -> "pyarrow.Table":
    mappings, strings = stored.profile.mappings, stored.profile.strings
    count = len(mappings)
    return table_of(
        "mappings",
        {
            "recording": arrow_columns.same_id(stored.recording, count),
            "mapping": np.arange(count, dtype=np.int32),
            "object_id": arrow_columns.ids(as_rows(object_ids)),
            "start": mappings.start,
            "limit": mappings.limit,
            "file_offset": mappings.offset,
            "file": arrow_columns.texts(strings, mappings.filename),
            "build_id": arrow_columns.texts(strings, mappings.build_id),
            "pid": mappings.pid,
            "is_kernel": mappings.is_kernel,
            "looked_up": stored.looked_up_mappings(),
        },
    )


def _samples(stored: StoredRecording, leaves: U8) -> "pyarrow.Table":
    profile, samples = stored.profile, stored.profile.samples
    threads, strings, count = profile.threads, profile.strings, len(samples)

    def optional(name: str, column: AnyArray | None, dtype: type) -> Any:
        return arrow_columns.nulls("samples", name, count) if column is None else column.astype(dtype)

    cgroup = samples.cgroup
    return table_of(
        "samples",
        {
            "recording": arrow_columns.same_id(stored.recording, count),
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
            "stack_id": arrow_columns.ids(leaves, samples.stack >= 0),
            "value": samples.value,
            "count": samples.count,
            "time_ns": optional("time_ns", samples.time, np.int64),
            "cpu": optional("cpu", samples.cpu, np.int32),
        },
    )
