"""Writes recordings into a dataset: files, which appear whole or not at all, then one commit a table."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any

from perf2x.base.errors import SettingError
from perf2x.storage.dataset.dataset_folder import LocalFolder, Storage, storage_at
from perf2x.storage.dataset.dataset_schema import DATE, SORTED_BY, TABLES, schema_of, texts_of
from perf2x.storage.dataset.file_names import name_of_recording
from perf2x.storage.dataset.table_log import DataFile, TableLog, commit
from perf2x.storage.dataset.write.recording_to_store import PlaceNames, StoredRecording
from perf2x.storage.dataset.write.table_rows import ROWS_OF_GROUP, recording_tables

if TYPE_CHECKING:
    import pyarrow

Written = Sequence[tuple[str, DataFile]]
"""Tables, each with a new file of it that no commit names yet."""


def write_recording(
    folder: Path | str, stored: StoredRecording, names: PlaceNames | None = None, partition: Sequence[str] = ()
) -> None:
    """Add a recording to the dataset in ``folder``, a path or the address of a store; it is made where it is missing.

    ``partition`` are the tags that name folders, outermost first; SettingError when the dataset has others. OutputError
    when a file cannot be written.
    """
    storage = storage_at(folder)
    partition = partition_of(storage.log("recordings"), partition, str(folder))
    commit_files(storage.root, partition, write_files(storage, stored, names, partition))


def partition_of(log: TableLog, asked: Sequence[str], folder: str) -> tuple[str, ...]:
    """The columns that name folders of a dataset: its own, else those that are asked for and the day of the start."""
    wanted = (*(key for key in asked if key != DATE), DATE)
    if log.version >= 0 and asked and wanted != log.partition:
        own = ", ".join(log.partition)
        raise SettingError(f"{folder}: its folders are named by {own}; ", "partition", f" asks for {', '.join(wanted)}")
    return log.partition if log.version >= 0 else wanted


def write_files(
    storage: Storage, stored: StoredRecording, names: PlaceNames | None, partition: Sequence[str]
) -> list[tuple[str, DataFile]]:
    """Write the files of a recording, which nobody sees until they are committed."""
    parts = partition_values(stored, partition)
    name = name_of_recording(parts, stored.recording, stored.session if stored.unfinished else None)
    return [
        (table, write_file(storage, table, name, rows, parts))
        for table, count, rows in recording_tables(stored, names)
        if count or table == "recordings"
    ]


def commit_files(
    root: str, partition: Sequence[str], written: Written, old: Sequence[tuple[str, DataFile]] = ()
) -> None:
    """Make files part of a dataset, those of recordings last, and take old ones from it, those of recordings first."""
    both = [
        (table, [file for kind, file in written if kind == table], [file for kind, file in old if kind == table])
        for table in TABLES
    ]
    for table, new, gone in both:
        commit(root, table, partition, new, gone if table == "recordings" else ())
    for table, _, gone in both[:-1]:
        commit(root, table, partition, (), gone)


def write_table(path: Path, table: str, rows: "pyarrow.Table") -> None:
    """Write one file of a table, sorted; OutputError when that fails."""
    _write(LocalFolder(path.parent), path.name, table, [rows])


def write_file(
    storage: Storage, table: str, name: str, parts: "Iterable[pyarrow.Table]", values: dict[str, str | None]
) -> DataFile:
    """Write one file of a table, whose sorted rows come in parts, a group of rows each; it appears when it is whole."""
    metadata, size = _write(storage, f"{table}/{name}", table, parts)
    groups = [metadata.row_group(number).column(0).statistics for number in range(metadata.num_row_groups)]
    known = [one for one in groups if one is not None and one.has_min_max]
    first, last = min((one.min for one in known), default=""), max((one.max for one in known), default="")
    return DataFile(name, size, values, metadata.num_rows, first, last, time_ns())


def _write(storage: Storage, name: str, table: str, parts: "Iterable[pyarrow.Table]") -> tuple[Any, int]:
    """What the file says of itself, and its bytes."""
    from pyarrow import parquet

    collected: list[Any] = []
    with storage.new_file(name) as file:
        with parquet.ParquetWriter(file, schema_of(table), metadata_collector=collected, **_options(table)) as writer:
            for rows in parts:
                writer.write_table(rows, row_group_size=ROWS_OF_GROUP)
        size = file.tell()
    return collected[0], size


def _options(table: str) -> dict[str, Any]:
    """Settings of Parquet."""
    from pyarrow import parquet

    schema = schema_of(table)
    return {
        "compression": "zstd",
        "use_dictionary": list(texts_of(table)),
        "write_statistics": True,
        "write_page_checksum": True,
        "sorting_columns": parquet.SortingColumn.from_ordering(
            schema, [(name, "ascending") for name in SORTED_BY[table]]
        ),
    }


def partition_values(stored: StoredRecording, partition: Sequence[str]) -> dict[str, str | None]:
    """Values of a recording in the columns that name folders; None where it has none."""
    date = date_of(stored.profile.meta.wall_start_ns)
    return {key: stored.tags.get(key) or (date if key == DATE else "") or None for key in partition}


def date_of(start_ns: int | None) -> str:
    """Day of a start in UTC, "" where it is unknown."""
    return datetime.fromtimestamp(start_ns // 10**9, UTC).strftime("%Y-%m-%d") if start_ns else ""
