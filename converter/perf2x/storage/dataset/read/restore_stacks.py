"""The prefix tree of one recording's stacks, out of nodes that may be many recordings'."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray
from perf2x.base.columnar.unique import group_rows, rows_by, unique
from perf2x.base.errors import FormatError
from perf2x.model.profile.profile import Stacks
from perf2x.storage.dataset.id_index import IdIndex
from perf2x.storage.dataset.parquet_files import id_bytes, id_rows, places_in
from perf2x.storage.dataset.read.recording_rows import NodeTable

if TYPE_CHECKING:
    import pyarrow


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
    return np.flatnonzero(used)


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
        rows = np.flatnonzero(ancestor >= 0)
        if not len(rows):
            return steps
        up = ancestor[rows]
        steps[rows] += steps[up]
        ancestor[rows] = ancestor[up]
    raise FormatError(f"{source}: damaged: a stack is its own caller")
