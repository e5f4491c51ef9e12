"""The prefix tree of one recording's stacks, out of nodes that may be many recordings'.

Places of a dataset → the locations of one recording, at the addresses that it had them.

All that a dataset has of one recording, as it was read, before its profile is restored.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8, U64, AnyArray, argsort, cumsum, flatnonzero, searchsorted
from perf2x.base.columnar.interner import StringInterner
from perf2x.base.columnar.unique import group_rows, rows_by, unique, unique_inverse
from perf2x.base.errors import FormatError
from perf2x.model.profile.made_up_frames import ROOT_FRAME_NAMES, RootFrame, root_functions
from perf2x.model.profile.profile import Functions, Locations, Mappings, Stacks
from perf2x.storage.dataset.content_ids import IdIndex
from perf2x.storage.dataset.parquet_files import id_bytes, id_rows, numbers, places_in
from perf2x.storage.dataset.write.profile_places import (
    UNMAPPED,
    CodeObjects,
    code_objects,
    made_up_object,
    unmapped_kernel,
)
from perf2x.storage.dataset.write.table_rows import modes_of

if TYPE_CHECKING:
    import pyarrow


class NodeTable(Struct, frozen=True):
    """Nodes by number."""

    index: IdIndex
    """Their distinct ids."""
    parent: I64
    """(nodes,) −1 for outermost frames."""
    place: U8
    """(nodes, 16) the id of each node's place."""


class PlaceTable(Struct, frozen=True):
    """Places that may be many recordings'."""

    rows: "pyarrow.Table"
    index: IdIndex


class RecordingRows(Struct, frozen=True):
    """All that a dataset has of one recording."""

    source: str
    """The file of its row, for messages."""
    row: dict[str, Any]
    """Its row in the table of recordings."""
    samples: "pyarrow.Table"
    mappings: "pyarrow.Table"
    nodes: NodeTable
    places: PlaceTable


_KINDS = {made_up_object(name): kind for kind, name in ROOT_FRAME_NAMES.items()}


def place_table(rows: "pyarrow.Table") -> PlaceTable:
    """Order the places of a table, in which one may stand several times."""
    return PlaceTable(rows, IdIndex(id_rows(rows, "place_id")))


def restore_locations(
    rows: RecordingRows, used: I64, mappings: Mappings, strings: StringInterner
) -> tuple[Locations, Functions, AnyArray]:
    """Make the locations of the places that ``used`` nodes are at, sorted as the stitcher has them.

    Returns them, the functions of frames that stand for no code, and (used nodes,) the location of each.
    FormatError when a place is missing, or in none of the recording's mappings.
    """
    row = rows.places.index.find(rows.nodes.place[used])
    if (row < 0).any():
        raise FormatError(f"{rows.source}: damaged: a place is missing")
    kept, of_node = unique_inverse(row)
    places = rows.places.rows.take(kept)
    objects = code_objects(mappings, strings.table(), rows.row["recording"])
    mapping, root = _held(places, objects, rows)
    offset = numbers(places, "file_offset")
    address = np.where(root > 0, np.uint64(0), offset + np.append(objects.base, np.uint64(0))[mapping])
    lookup = address - numbers(places, "is_return").astype(np.uint64)
    mode = modes_of(places)
    order, rank = group_rows([mapping, address, lookup, mode.astype(np.int64), root])
    functions, line_function = root_functions(root[order], strings)
    locations = Locations(
        address=address[order],
        lookup=lookup[order],
        mapping=mapping[order].astype(np.int32),
        mode=mode[order],
        synthetic=root[order] > 0,
        line_offsets=np.concatenate([[0], cumsum(root[order] > 0)]).astype(np.int64),
        line_function=line_function,
        line_number=np.zeros(len(line_function), np.int32),
    )
    return locations, functions, rank[of_node]


def _held(places: "pyarrow.Table", objects: CodeObjects, rows: RecordingRows) -> tuple[I64, I64]:
    """(places,) the mapping that holds each, −1 for none, and the kind of a frame that stands for no code, else 0."""
    ids = [row.tobytes() for row in id_rows(places, "object_id")]
    number = {one: place for place, one in enumerate(dict.fromkeys(objects.ids))}
    free = {UNMAPPED: -1, unmapped_kernel(rows.row["recording"]): -1}
    root = np.array([_KINDS.get(one, RootFrame.NONE) for one in ids], np.int64)
    of_place = np.array([number.get(one, free.get(one, -2)) for one in ids], np.int64)
    of_place[root > 0] = -1
    variant, offset = numbers(places, "variant").astype(np.int64), numbers(places, "file_offset")
    of_mapping = np.array([number[one] for one in objects.ids], np.int64)
    mapping = _mapping_of(of_place, variant, offset, objects, of_mapping)
    if ((mapping < 0) & (of_place != -1)).any():
        raise FormatError(f"{rows.source}: damaged: a place is in none of the recording's mappings")
    return mapping, root


def _mapping_of(of_place: I64, variant: I64, offset: U64, objects: CodeObjects, of_mapping: I64) -> I64:
    """(places,) the mapping of each place's object and variant that holds its offset, −1 for none."""
    found = np.full(len(of_place), -1, np.int64)
    keys = of_mapping << 32 | objects.variant
    candidates = dict(rows_by(keys))
    for key, rows in rows_by(np.where(of_place >= 0, of_place << 32 | variant, -1)):
        held = candidates.get(key, np.zeros(0, np.int64)) if key >= 0 else np.zeros(0, np.int64)
        if len(held):
            held = held[argsort(objects.first[held])]
            at = searchsorted(objects.first[held], offset[rows], "right") - 1
            inside = (at >= 0) & (offset[rows] < objects.limit[held][at])
            found[rows[inside]] = held[at[inside]]
    return found


def node_table(table: "pyarrow.Table", source: str) -> NodeTable:
    """Number the nodes of a table, in which one may stand several times; FormatError when it is damaged."""
    from perf2x.storage.dataset.content_ids import columns_at, distinct_ids

    contents = columns_at(*(id_rows(table, name) for name in ("parent_id", "place_id")))
    try:
        rows = distinct_ids(id_rows(table, "node_id"), contents)
    except FormatError as error:
        raise FormatError(f"{source}: damaged: {error}") from None
    kept = table.take(rows).combine_chunks()
    columns = {name: kept[name].combine_chunks() for name in ("node_id", "parent_id", "place_id")}
    parent = places_in(columns["parent_id"], columns["node_id"]).astype(np.int64)
    known = columns["parent_id"].is_valid().to_numpy(zero_copy_only=False)
    if (parent[known] < 0).any():
        raise FormatError(f"{source}: damaged: a stack's caller is missing")
    parent[~known] = -1
    return NodeTable(IdIndex(id_bytes(columns["node_id"])), parent, id_bytes(columns["place_id"]))


def used_nodes(nodes: NodeTable, leaves: I64) -> I64:
    """Nodes on the way from ``leaves`` to the root, rising."""
    used = np.zeros(len(nodes.parent), np.bool_)
    rows = unique(leaves[leaves >= 0])
    while len(rows):
        used[rows] = True
        above = nodes.parent[rows]
        above = unique(above[above >= 0])
        rows = above[~used[above]]
    return flatnonzero(used)


def build_stacks(parent: AnyArray, location: AnyArray, source: str) -> tuple[Stacks, I64]:
    """Make the tree of rows in any order, level by level and sorted as the stitcher has it.

    Returns the tree, and (rows,) the number of each row in it. FormatError for rows that are their own callers.
    """
    number = np.full(len(parent) + 1, -1, np.int64)  # the last one serves −1
    parents, locations, total = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for _, rows in rows_by(_depths(parent, source)):
        above, item = number[parent[rows]], location[rows].astype(np.int64)
        first, group = group_rows([above, item])
        number[rows] = total + group
        parents.append(above[first])
        locations.append(item[first])
        total += len(first)
    stacks = Stacks(np.concatenate(parents).astype(np.int32), np.concatenate(locations).astype(np.int32))
    return stacks, number[:-1]


def _depths(parent: AnyArray, source: str) -> I64:
    """(rows,) distance of each row from its root, by pointer doubling, which ends after log(rows) rounds."""
    ancestor = parent.astype(np.int64)
    steps = (ancestor >= 0).astype(np.int64)
    for _ in range(len(parent).bit_length() + 1):
        rows = flatnonzero(ancestor >= 0)
        if not len(rows):
            return steps
        up = ancestor[rows]
        steps[rows] += steps[up]
        ancestor[rows] = ancestor[up]
    raise FormatError(f"{source}: damaged: a stack is its own caller")
