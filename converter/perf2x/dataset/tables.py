"""Rows that a recording adds to the tables of a dataset."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.columnar.arrays import I64, U8, AnyArray
from perf2x.columnar.ragged import Ragged, offsets_of, row_numbers
from perf2x.columnar.unique import unique_inverse
from perf2x.dataset import columns
from perf2x.dataset.columns import table_of
from perf2x.dataset.ids import WIDTH, as_rows, distinct_ids
from perf2x.dataset.profile_places import ProfilePlaces, made_up_name, profile_nodes, profile_places
from perf2x.dataset.recording_row import recording_table
from perf2x.dataset.stored_recording import PlaceNames, StoredRecording, no_names
from perf2x.tables.profile import Profile

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


def recording_tables(stored: StoredRecording, names: PlaceNames | None = None) -> "dict[str, pyarrow.Table]":
    """Make all tables of one recording; ``names`` are of its own places."""
    places = profile_places(stored.profile, stored.recording)
    nodes = profile_nodes(stored.profile, places)
    return {
        "nodes": _nodes(stored.profile, places, nodes),
        "places": _places(stored, places),
        "lines": lines_table(names),
        "mappings": _mappings(stored, places),
        "samples": _samples(stored, nodes),
        "recordings": recording_table(stored),
    }


def _nodes(profile: Profile, places: ProfilePlaces, nodes: U8) -> "pyarrow.Table":
    parent = profile.stacks.parent
    above = np.append(nodes, np.zeros((1, WIDTH), np.uint8), axis=0)[parent]
    order = distinct_ids(nodes, parent, profile.stacks.location)
    return table_of(
        "nodes",
        {
            "node_id": columns.ids(nodes[order]),
            "parent_id": columns.ids(above[order], (parent >= 0)[order]),
            "place_id": columns.ids(places.id[profile.stacks.location][order]),
        },
    )


def _places(stored: StoredRecording, places: ProfilePlaces) -> "pyarrow.Table":
    """Places, by build id, file and offset; those without a mapping have the name of what they stand for, or none."""
    profile = stored.profile
    mappings, locations, strings = profile.mappings, profile.locations, profile.strings
    mapping = locations.mapping[places.location]
    made_up = np.flatnonzero(locations.synthetic[places.location])
    names = [made_up_name(profile, int(places.location[row])) for row in made_up.tolist()]
    file = np.append(mappings.filename, 0)[mapping].astype(np.int64)
    file[made_up] = len(strings) + np.arange(len(made_up))
    build_id = np.append(mappings.build_id, 0)[mapping]
    objects = places.object_id.view("<u8").T
    order = distinct_ids(places.id, *objects, places.offset, places.is_return, places.variant)
    texts = [*strings, *names]
    order = order[_text_order(texts, [build_id[order], file[order]], places.offset[order])]
    return table_of(
        "places",
        {
            "place_id": columns.ids(places.id[order]),
            "object_id": columns.ids(places.object_id[order]),
            "build_id": columns.texts(texts, build_id[order]),
            "file": columns.texts(texts, file[order]),
            "file_offset": places.offset[order],
            "mode": columns.texts(list(MODES.values()), locations.mode[places.location][order]),
            "is_return": places.is_return[order],
            "variant": places.variant[order].astype(np.int32),
            "recording": columns.ids(
                np.broadcast_to(as_rows([stored.recording]), (len(order), WIDTH)), places.is_local[order]
            ),
        },
    )


def _text_order(texts: Sequence[str], rows: Sequence[AnyArray], last: AnyArray) -> I64:
    """Order of rows by texts, then by the number ``last``."""
    ranks = []
    for column in rows:
        used, place = unique_inverse(column.astype(np.int64))
        by_text = np.argsort(np.array(sorted(range(len(used)), key=lambda row: texts[int(used[row])]), np.int64))
        ranks.append(by_text[place] if len(used) else place)
    return np.lexsort([last, *reversed(ranks)])


def lines_table(names: PlaceNames | None) -> "pyarrow.Table":
    """Lines of places, sorted by place; an empty table for None."""
    names = names or no_names()
    order = distinct_ids(names.place, names.count)
    rows = Ragged(offsets_of(names.count), np.arange(len(names.line)))
    taken = rows.take(order)
    owner, row = order[row_numbers(taken.lengths)], taken.values
    depth = np.arange(len(row)) - np.repeat(taken.offsets[:-1], taken.lengths)
    functions = list(zip(*names.functions, strict=True)) or [(), (), (), ()]
    function = names.function[row]
    start_line = np.array(functions[3], np.int32)
    return table_of(
        "lines",
        {
            "place_id": columns.ids(names.place[owner]),
            "depth": depth.astype(np.int32),
            "function": columns.texts([str(text) for text in functions[0]], function),
            "system_name": columns.texts([str(text) for text in functions[1]], function),
            "file": columns.texts([str(text) for text in functions[2]], function),
            "line": names.line[row].astype(np.int32),
            "start_line": start_line[function],
            "is_exact": names.is_exact[owner],
            "has_inlines": names.has_inlines[owner],
        },
    )


def _mappings(stored: StoredRecording, places: ProfilePlaces) -> "pyarrow.Table":
    mappings, strings = stored.profile.mappings, stored.profile.strings
    count = len(mappings)
    return table_of(
        "mappings",
        {
            "recording": columns.same_id(stored.recording, count),
            "mapping": np.arange(count, dtype=np.int32),
            "object_id": columns.ids(as_rows(places.objects.ids)),
            "start": mappings.start,
            "limit": mappings.limit,
            "file_offset": mappings.offset,
            "file": columns.texts(strings, mappings.filename),
            "build_id": columns.texts(strings, mappings.build_id),
            "pid": mappings.pid,
            "is_kernel": mappings.is_kernel,
            "looked_up": stored.looked_up_mappings(),
        },
    )


def _samples(stored: StoredRecording, nodes: U8) -> "pyarrow.Table":
    profile, samples = stored.profile, stored.profile.samples
    threads, strings, count = profile.threads, profile.strings, len(samples)
    leaf = np.append(nodes, np.zeros((1, WIDTH), np.uint8), axis=0)[samples.stack]

    def optional(name: str, column: AnyArray | None, dtype: type) -> Any:
        return columns.nulls("samples", name, count) if column is None else column.astype(dtype)

    cgroup = samples.cgroup
    return table_of(
        "samples",
        {
            "recording": columns.same_id(stored.recording, count),
            "event": columns.texts([event.name for event in profile.events], samples.event),
            "unit": columns.texts([event.unit for event in profile.events], samples.event),
            "event_number": samples.event.astype(np.int32),
            "comm": columns.texts(strings, threads.comm[samples.thread]),
            "process": columns.texts(strings, threads.process[samples.thread]),
            "pid": threads.pid[samples.thread],
            "tid": threads.tid[samples.thread],
            "cgroup": columns.nulls("samples", "cgroup", count) if cgroup is None else columns.texts(strings, cgroup),
            "stack_id": columns.ids(leaf, samples.stack >= 0),
            "value": samples.value,
            "count": samples.count,
            "time_ns": optional("time_ns", samples.time, np.int64),
            "cpu": optional("cpu", samples.cpu, np.int32),
        },
    )
