"""Nodes and places that samples of recordings lead to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8, Bools
from perf2x.base.columnar.unique import group_rows, unique
from perf2x.base.errors import FormatError
from perf2x.fleet.upkeep.row_files import RowFile
from perf2x.fleet.upkeep.shared_rows import fold, shared_names
from perf2x.storage.dataset.content_ids import as_rows, distinct_ids
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.id_index import IdIndex
from perf2x.storage.dataset.parquet_files import id_rows, is_known, numbers, read_stored, texts
from perf2x.storage.dataset.read.restore_stacks import node_table, used_nodes

if TYPE_CHECKING:
    import pyarrow


class Live(Struct, frozen=True):
    """Ids that are referred to."""

    nodes: IdIndex
    places: IdIndex
    """Those of nodes, and their twins: other places of the same code."""

    def keeps(self, table: str, rows: "pyarrow.Table") -> Bools:
        """(rows,) which rows of a table are referred to."""
        index, name = (self.nodes, "node_id") if table == "nodes" else (self.places, "place_id")
        return index.find(id_rows(rows, name)) >= 0


def live_rows(storage: Storage, files: Sequence[RowFile], old: frozenset[bytes], known: frozenset[bytes]) -> Live:
    """Follow the samples of all recordings but the old ones to their nodes and places.

    FormatError when something on the way is missing.
    """
    table = fold(storage, "nodes", shared_names(storage, "nodes", known))
    nodes, ids = node_table(table, storage.path("nodes")), id_rows(table, "node_id")
    leaves = _leaves(storage, files, old, IdIndex(ids))
    used = used_nodes(nodes, leaves)
    places = fold(storage, "places", shared_names(storage, "places", known))
    live = IdIndex(id_rows(places, "place_id")).find(unique_ids(id_rows(table, "place_id")[used]))
    if (live < 0).any():
        raise FormatError(f"{storage.path('places')}: damaged: a place is missing")
    return Live(IdIndex(ids[used]), IdIndex(id_rows(places, "place_id")[_with_twins(places, live)]))


def unique_ids(ids: U8) -> U8:
    """Distinct ids (m, 16) of (n, 16)."""
    return ids[distinct_ids(ids)]


def _leaves(storage: Storage, files: Sequence[RowFile], old: frozenset[bytes], nodes: IdIndex) -> I64:
    """Rows of the nodes that samples have as their stacks."""
    found = [np.zeros(0, np.int64)]
    for file in files:
        kept = [row.recording for row in file.rows if row.recording not in old and not row.has_error]
        if not kept or not storage.exists(f"samples/{file.name}"):
            continue
        samples = read_stored(storage, f"samples/{file.name}", "samples")
        of_kept = IdIndex(as_rows(kept)).find(id_rows(samples, "recording")) >= 0
        leaves = nodes.find(unique_ids(id_rows(samples, "stack_id")[of_kept & is_known(samples, "stack_id")]))
        if (leaves < 0).any():
            raise FormatError(f"{storage.path(f'samples/{file.name}')}: damaged: a stack is missing")
        found.append(leaves)
    return unique(np.concatenate(found))


def _with_twins(places: "pyarrow.Table", live: I64) -> Bools:
    """(places,) those that are live, and others at the same offset of the same object."""
    objects = id_rows(places, "object_id").view("<u8").reshape(-1, 2).T
    mode, variant = texts(places, "mode")[0].astype(np.int64), numbers(places, "variant").astype(np.int64)
    first, group = group_rows([*objects, numbers(places, "file_offset"), mode, variant])
    is_live = np.zeros(len(first), np.bool_)
    is_live[group[live]] = True
    return is_live[group]
