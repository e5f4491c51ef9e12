"""The stacks and locations of one recording, out of the rows that a dataset has of it."""

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64, AnyArray, arange, argsort, cumsum, flatnonzero, searchsorted
from perf2x.base.columnar.interner import StringInterner
from perf2x.base.columnar.unique import group_rows, rows_by, unique, unique_inverse
from perf2x.base.errors import FormatError
from perf2x.model.profile.made_up_frames import ROOT_FRAME_NAMES, RootFrame, root_functions
from perf2x.model.profile.profile import Functions, Locations, Mappings, Stacks
from perf2x.model.profile.stack_tree import depths
from perf2x.storage.dataset.parquet_files import numbers, texts
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


class RecordingRows(Struct, frozen=True):
    """All that a dataset has of one recording."""

    source: str
    """The file of its row, for messages."""
    row: dict[str, Any]
    """Its row in the table of recordings."""
    samples: "pyarrow.Table"
    mappings: "pyarrow.Table"
    nodes: "pyarrow.Table"
    places: "pyarrow.Table"
    lines: "pyarrow.Table"

    @property
    def ident(self) -> bytes:
        """The recording's id."""
        return bytes.fromhex(self.row["recording"])


class Nodes(Struct, frozen=True):
    """The prefix tree of a recording's stacks, callers first."""

    parent: I64
    """(nodes,) −1 for outermost frames."""
    place: I64
    """(nodes,) row of the table of places."""


def nodes_of(rows: RecordingRows) -> Nodes:
    """Read the nodes of a recording; FormatError when a number leads nowhere."""
    count = len(rows.nodes)
    parent, place = numbers(rows.nodes, "parent", -1).astype(np.int64), numbers(rows.nodes, "place").astype(np.int64)
    order = arange(count)
    if (numbers(rows.nodes, "node") != order).any() or (parent >= order).any() or (parent < -1).any():
        raise FormatError(f"{rows.source}: damaged: a stack's caller is missing")
    row = arange(len(rows.places))
    if (numbers(rows.places, "place") != row).any() or (place < 0).any() or (place >= len(row)).any():
        raise FormatError(f"{rows.source}: damaged: a place is missing")
    return Nodes(parent, place)


_KINDS = {made_up_object(name).hex(): kind for kind, name in ROOT_FRAME_NAMES.items()}


def restore_locations(
    rows: RecordingRows, place: I64, mappings: Mappings, strings: StringInterner
) -> tuple[Locations, Functions, AnyArray]:
    """Make the locations of the places of nodes, sorted as the stitcher has them.

    Returns them, the functions of frames that stand for no code, and (nodes,) the location of each. FormatError when a
    place is in none of the recording's mappings.
    """
    kept, of_node = unique_inverse(place)
    places = rows.places.take(kept)
    objects = code_objects(mappings, strings.table(), rows.ident)
    mapping, root = _held(places, objects, rows)
    offset = offsets(places)
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


def offsets(places: "pyarrow.Table") -> U64:
    """(places,) their offsets, which the table has as signed numbers."""
    return numbers(places, "file_offset").astype(np.int64).view(np.uint64)


def _held(places: "pyarrow.Table", objects: CodeObjects, rows: RecordingRows) -> tuple[I64, I64]:
    """(places,) the mapping that holds each, −1 for none, and the kind of a frame that stands for no code, else 0."""
    code, known = texts(places, "object_id")
    number = {one.hex(): place for place, one in enumerate(dict.fromkeys(objects.ids))}
    free = {UNMAPPED.hex(): -1, unmapped_kernel(rows.ident).hex(): -1}
    root = np.array([_KINDS.get(one, RootFrame.NONE) for one in known], np.int64)[code]
    of_place = np.array([number.get(one, free.get(one, -2)) for one in known], np.int64)[code]
    of_place[root > 0] = -1
    variant, offset = numbers(places, "variant").astype(np.int64), offsets(places)
    of_mapping = np.array([number[one.hex()] for one in objects.ids], np.int64)
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


def used_nodes(nodes: Nodes, leaves: I64) -> I64:
    """Nodes on the way from ``leaves`` to the root, rising."""
    used = np.zeros(len(nodes.parent), np.bool_)
    rows = unique(leaves[leaves >= 0])
    while len(rows):
        used[rows] = True
        above = nodes.parent[rows]
        above = unique(above[above >= 0])
        rows = above[~used[above]]
    return flatnonzero(used)


def build_stacks(parent: AnyArray, location: AnyArray) -> tuple[Stacks, I64]:
    """Make the tree, level by level and sorted as the stitcher has it, and (rows,) the number of each row in it."""
    number = np.full(len(parent) + 1, -1, np.int64)  # the last one serves −1
    parents, locations, total = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for _, rows in rows_by(depths(parent)):
        above, item = number[parent[rows]], location[rows].astype(np.int64)
        first, group = group_rows([above, item])
        number[rows] = total + group
        parents.append(above[first])
        locations.append(item[first])
        total += len(first)
    stacks = Stacks(np.concatenate(parents).astype(np.int32), np.concatenate(locations).astype(np.int32))
    return stacks, number[:-1]
