"""Compaction: small files of a dataset are put together by partition, and timelines that are old become sums."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.fleet.upkeep.merge_rows import Change, merge_files, sum_timeline
from perf2x.fleet.upkeep.partitions import Partition, logs_of, partitions
from perf2x.storage.dataset.content_ids import text_id
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import PARTITIONED, SUFFIX, arrow, schema_of
from perf2x.storage.dataset.file_names import MERGED, is_merged
from perf2x.storage.dataset.names.object_profile import distinct_symbols
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.table_log import DataFile, TableLog, commit, vacuum
from perf2x.storage.dataset.write.write_recording import write_file

if TYPE_CHECKING:
    import pyarrow

TARGET, _SYMBOLS = 128 << 20, 8 << 20
"""Bytes that are put into one file, and into one of symbols; files above half of it are left as they are."""

_FILES = 1000
"""Files that are replaced at once, about: a commit costs what its table's log has."""


class Done(Struct, frozen=True):
    """Numbers that a run reports."""

    before: int = 0
    """Files."""
    after: int = 0
    summed: int = 0
    """Timelines."""


def compact(storage: Storage, sum_before_ns: int | None = None, target: int = TARGET) -> Done:
    """Merge small files; sum timelines of recordings that started before a time (nanoseconds since the epoch).

    Rows of recordings that could not be read, or are unfinished, stay as they are: they may come again. FormatError
    when a file is damaged, OutputError when one cannot be written, or another compaction or removal came in between.
    """
    logs = logs_of(storage)
    symbols = storage.log("symbols")
    before = sum(len(log.files) for log in (*logs.values(), symbols))

    def wanted(files: Mapping[str, Sequence[DataFile]]) -> bool:
        return sum_before_ns is not None or any(any(_grouped(some, target)) for some in files.values())

    summed, changes = 0, _Changes(storage, logs)
    for partition in partitions(storage, logs, wanted).values():
        summed += _compact(changes, partition, sum_before_ns, target)
    changes.commit()
    _merge_symbols(storage, symbols)
    vacuum(storage.root)
    return Done(before, sum(len(storage.log(table).files) for table in (*PARTITIONED, "symbols")), summed)


class _Changes:
    """Files of partitions that wait for their commit, and those that they replace."""

    def __init__(self, storage: Storage, logs: Mapping[str, TableLog]) -> None:
        self.storage, self.logs = storage, logs
        self._new: dict[str, list[DataFile]] = {table: [] for table in PARTITIONED}
        self._old: dict[str, list[DataFile]] = {table: [] for table in PARTITIONED}
        self._moves = True

    def add(self, table: str, new: Sequence[DataFile], old: Sequence[DataFile], *, moves: bool) -> None:
        """Have files of one partition wait; ``moves``: they have the rows of the old ones."""
        same = {file.name for file in new} & {file.name for file in old}  # equal names are equal rows
        self._new[table] += (file for file in new if file.name not in same)
        self._old[table] += (file for file in old if file.name not in same)
        self._moves &= moves

    def commit(self, least: int = 0) -> None:
        """Commit all, of each table at once, if they replace so many files."""
        if sum(map(len, self._old.values())) < least:
            return
        for table in PARTITIONED:
            log, new, old = self.logs[table], self._new[table], self._old[table]
            commit(self.storage.root, table, log.partition, new, old, since=log.version, moves=self._moves)
            log.version = self.storage.log(table).version if old else log.version
            new.clear()
            old.clear()
        self._moves = True


def _compact(changes: _Changes, partition: Partition, sum_before_ns: int | None, target: int) -> int:
    """Merge the files of a partition; returns the number of timelines that it summed."""
    facts = partition.recordings.values()
    gone = {one.recording for one in facts if one.is_superseded}
    before = sum_before_ns or 0
    old = {
        one.recording for one in facts
        if one.is_timeline and one.started_ns < before and not one.is_superseded
    }  # fmt: skip
    for table in PARTITIONED:
        change = _CHANGES.get(table) if old else None
        closed = partition.files[table] if change else partition.closed(table)
        for group in _grouped(closed, target, everything=change is not None):
            new = merge_files(changes.storage, table, group, gone, None if change is None else _of(old, change))
            changes.add(table, new, group, moves=not old)
    changes.commit(_FILES)
    return len(old)


def _grouped(files: Sequence[DataFile], target: int, *, everything: bool = False) -> Iterator[list[DataFile]]:
    """Yield files that are to become one file."""
    chosen = {file.name for file in (files if everything else _small_and_new(files, target))}
    group: list[DataFile] = []
    for file in files:
        if file.name in chosen:
            if group and sum(one.size for one in group) + file.size > target:
                yield group
                group = []
            group.append(file)
    if len(group) > 1 or (group and everything):
        yield group


def _small_and_new(files: Sequence[DataFile], target: int) -> Iterator[DataFile]:
    """Yield small files, but for those put together earlier that have more rows than all that are smaller.

    So a row is written anew when twice as many are there: the work follows what is new, not what a day has.
    """
    rows = 0
    for file in sorted(files, key=lambda one: (is_merged(one.name), one.rows)):
        if file.size < target // 2 and (not is_merged(file.name) or file.rows <= rows):
            rows += file.rows
            yield file


def _of(recordings: Collection[str], change: Change) -> Change:
    return lambda recording, rows: change(recording, rows) if recording in recordings else rows


def _as_sums(_: str, row: "pyarrow.Table") -> "pyarrow.Table":
    at = row.schema.get_field_index("is_timeline")
    return row.set_column(at, schema_of("recordings").field(at), arrow().array([False] * len(row)))


_CHANGES: Mapping[str, Change] = {"samples": lambda _, rows: sum_timeline(rows), "recordings": _as_sums}
"""What becomes of rows of recordings whose timelines are summed."""


def _merge_symbols(storage: Storage, log: TableLog) -> None:
    for group in _grouped([log.files[name] for name in sorted(log.files, reverse=True)], _SYMBOLS):
        rows = distinct_symbols([read_stored(storage, f"symbols/{file.name}", "symbols") for file in group])
        ident = text_id("merged", "symbols", *(file.name for file in group)).hex()
        new = write_file(storage, "symbols", f"{MERGED}{ident}{SUFFIX}", [rows], {})
        commit(storage.root, "symbols", (), [new], group, since=log.version, moves=True)
        log.version = storage.log("symbols").version
