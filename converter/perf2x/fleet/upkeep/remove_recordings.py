"""Removal of recordings, of files that a kill left behind, and of names that no recording has used for long."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from perf2x.base.errors import OptionError
from perf2x.fleet.upkeep.merge_rows import merge_files
from perf2x.fleet.upkeep.partitions import Partition, logs_of, partitions
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import DATE, PARTITIONED
from perf2x.storage.dataset.file_names import is_merged, recording_of
from perf2x.storage.dataset.listed_files import may_have
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.table_log import DataFile, TableLog, commit, vacuum
from perf2x.storage.dataset.write.write_recording import date_of

DAY = 24 * 3600 * 10**9


class Removed(Struct, frozen=True):
    """Numbers that a run reports."""

    recordings: int = 0
    of: int = 0
    unfinished: int = 0
    """Files of recordings that never got a row."""


def collect(storage: Storage, before_ns: int, now_ns: int, *, dry_run: bool = False) -> Removed:
    """Remove recordings that started before a time, in nanoseconds since the epoch, and names that only they had.

    Files of recordings without a row go after a day. FormatError when a file is damaged, OutputError when one cannot be
    written.
    """
    logs, last = logs_of(storage), date_of(max(before_ns, 1))

    def wanted(files: Mapping[str, list[DataFile]]) -> bool:
        dates = {file.parts.get(DATE) for some in files.values() for file in some}
        return any(date is None or date <= last or len(date) != len(last) for date in dates) or _has_strays(files)

    found = partitions(storage, logs, wanted)
    facts = [one for partition in found.values() for one in partition.recordings.values()]
    old = {one.recording for one in facts if one.started_ns < before_ns}
    strays = [stray for partition in found.values() for stray in _strays(partition, now_ns - DAY)]
    rows = sum(file.rows for file in logs["recordings"].files.values())
    if not dry_run:
        remove(storage, logs, found.values(), old)
        for table in PARTITIONED:
            commit(storage.root, table, logs[table].partition, (), [file for kind, file in strays if kind == table])
        _forget_names(storage, before_ns)
        vacuum(storage.root, orphans=True)
    return Removed(len(old), rows, len(strays))


def remove_chosen(
    storage: Storage, names: Collection[str], tags: Mapping[str, str], *, dry_run: bool = False
) -> Removed:
    """Remove recordings with these ids or sources, or all for none, that have these tags; the day is one of them.

    OptionError for a name that no recording has. Other errors as of ``collect``.
    """
    logs = logs_of(storage)
    found = partitions(
        storage, logs, lambda files: any(may_have(file, tags) for some in files.values() for file in some)
    )
    facts = [
        one for partition in found.values() for one in partition.recordings.values()
        if tags.items() <= one.tags.items()
    ]  # fmt: skip
    known = {name for one in facts for name in (one.recording, one.source)}
    missing = [name for name in names if name not in known]
    if missing or not facts:
        raise OptionError(f"{storage.root}: no recording {missing[0] if missing else 'with these tags'} is there")
    gone = {one.recording for one in facts if not names or {one.recording, one.source} & set(names)}
    if not dry_run:
        remove(storage, logs, found.values(), gone)
    return Removed(len(gone), sum(file.rows for file in logs["recordings"].files.values()))


def remove(storage: Storage, logs: Mapping[str, TableLog], some: Collection[Partition], gone: set[str]) -> None:
    """Take recordings from a dataset: their rows in the table of recordings first, then all others."""
    for table in reversed(PARTITIONED):
        less: dict[str, Collection[str] | None] = {}
        for partition in some:
            mine, known = gone & partition.recordings.keys(), partition.recordings.keys()
            for file in partition.files[table]:
                if recording_of(file.name) in mine or (mine and mine == known):
                    less[file.name] = None
                elif is_merged(file.name) and mine:
                    less[file.name] = mine
        leave_out(storage, table, logs[table], less)


def leave_out(storage: Storage, table: str, log: TableLog, less: Mapping[str, Collection[str] | None]) -> None:
    """Replace files of a table by ones without some recordings, None: all of them, in one commit."""
    new = [
        one for name, gone in less.items() if gone is not None
        for one in merge_files(storage, table, [log.files[name]], gone)
    ]  # fmt: skip
    old = [log.files[name] for name in less]
    commit(storage.root, table, log.partition, new, old, since=log.version if old else None)


def _has_strays(files: Mapping[str, Sequence[DataFile]]) -> bool:
    rows = {None, *(recording_of(file.name) for file in files["recordings"])}
    return any(recording_of(file.name) not in rows for some in files.values() for file in some)


def _strays(partition: Partition, before_ns: int) -> list[tuple[str, DataFile]]:
    """Files of recordings that never got a row, or have their rows elsewhere."""
    return [
        (table, file)
        for table, files in partition.files.items()
        for file in files
        if file.modified_ns < before_ns and (recording_of(file.name) or "") not in {"", *partition.recordings}
    ]


def _forget_names(storage: Storage, before_ns: int) -> None:
    """Remove files of names of objects that no recording has, unless they are newer than that."""
    log = storage.log("symbols")
    aged = [file for file in log.files.values() if file.modified_ns < before_ns and file.first == file.last]
    if not aged:
        return
    used: set[str] = set()
    for name in storage.log("mappings").files:
        used.update(read_stored(storage, f"mappings/{name}", "mappings")["object_id"].unique().to_pylist())
    commit(storage.root, "symbols", (), (), [file for file in aged if file.first not in used], since=log.version)
