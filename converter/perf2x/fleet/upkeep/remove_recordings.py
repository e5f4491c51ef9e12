"""Removal of old recordings, and of nodes, places and names that no other recording needs."""

from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.base.columnar.arrays import Bools
from perf2x.fleet.upkeep.compact_files import joined, started
from perf2x.fleet.upkeep.journal import Changes, alone, carry_out, finish
from perf2x.fleet.upkeep.live_rows import Live, live_rows
from perf2x.fleet.upkeep.merge_rows import Taken, merge_rows, replaced
from perf2x.fleet.upkeep.row_files import RowFile, row_files
from perf2x.fleet.upkeep.shared_rows import SHARED, fold, shared_names, write_shared
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import TABLES
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.write.write_recording import recording_of

if TYPE_CHECKING:
    import pyarrow

_DAY = 24 * 3600 * 10**9


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
