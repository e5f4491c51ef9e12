"""Removal of old recordings, and of nodes, places and names that no other recording needs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8, Bools
from perf2x.base.columnar.unique import group_rows, unique
from perf2x.base.errors import FormatError
from perf2x.fleet.upkeep.compact_files import joined, started
from perf2x.fleet.upkeep.journal import Changes, alone, carry_out, finish
from perf2x.fleet.upkeep.merge_rows import SHARED, Taken, fold, merge_rows, replaced, shared_names, write_shared
from perf2x.fleet.upkeep.row_files import RowFile, row_files
from perf2x.storage.dataset.content_ids import IdIndex, as_rows, distinct_ids
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import TABLES
from perf2x.storage.dataset.parquet_files import id_rows, is_known, numbers, read_stored, texts
from perf2x.storage.dataset.read.restore_stacks import node_table, used_nodes
from perf2x.storage.dataset.write.write_recording import recording_of

if TYPE_CHECKING:
    import pyarrow

_DAY = 24 * 3600 * 10**9


class Live(Struct, frozen=True):
    """Ids that are referred to."""

    nodes: IdIndex
    places: IdIndex
    """Those of nodes, and their twins: other places of the same code."""

    def keeps(self, table: str, rows: "pyarrow.Table") -> Bools:
        """(rows,) which rows of a table are referred to."""
        index, name = (self.nodes, "node_id") if table == "nodes" else (self.places, "place_id")
        return index.find(id_rows(rows, name)) >= 0


class Removed(Struct, frozen=True):
    """Numbers that a run reports."""

    recordings: int = 0
    of: int = 0
    unfinished: int = 0
    """Files of recordings that never got a row."""


def collect(storage: Storage, before_ns: int, now_ns: int, *, dry_run: bool = False) -> Removed:
    """Remove recordings that started before a time, and what only they refer to; nanoseconds since the epoch.

    Files of recordings without a row go after a day. FormatError when a file is damaged (nothing is removed then),
    OutputError when one cannot be written.
    """
    with alone(storage):
        if not dry_run:
            finish(storage)
        files = row_files(storage)
        old = frozenset(row.recording for file in files for row in file.rows if started(file, row) < before_ns)
        known = frozenset(row.recording for file in files for row in file.rows)
        unfinished = _unfinished(storage, known, now_ns - _DAY)
        removed = Removed(len(old), len(known), len(unfinished))
        if dry_run or not (old or unfinished):
            return removed
        changes = [_without(storage, file, old) for file in files]
        if old:
            live = live_rows(storage, files, old, known)
            changes += [_living(storage, table, known, live) for table in SHARED]
        carry_out(storage, joined([*changes, Changes((), tuple(unfinished))]))
        return removed


def _unfinished(storage: Storage, known: frozenset[bytes], before_ns: int) -> list[str]:
    files = [file for table in TABLES for file in storage.files(table) if file.modified_ns < before_ns]
    return [file.name for file in files if (recording_of(file.name) or next(iter(known), b"")) not in known]


def _without(storage: Storage, file: RowFile, old: frozenset[bytes]) -> Changes:
    """The change that leaves old recordings out of a file."""
    kept = [Taken(file, row) for row in file.rows if row.recording not in old]
    if len(kept) == len(file.rows):
        return Changes()
    return replaced([file], [merge_rows(storage, file.folder, kept)] if kept else [])


def _living(storage: Storage, table: str, known: frozenset[bytes], live: Live) -> Changes:
    """The change that leaves out what nothing refers to: one new file for all files that have such rows."""

    def keep(rows: "pyarrow.Table") -> Bools:
        return live.keeps(table, rows)

    touched = [
        name for name in shared_names(storage, table, known) if not keep(read_stored(storage, name, table)).all()
    ]
    if not touched:
        return Changes()
    return Changes(tuple(write_shared(storage, table, fold(storage, table, touched, keep))), tuple(touched))


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
