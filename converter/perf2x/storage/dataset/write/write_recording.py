"""Writes recordings into a dataset: files that appear whole under their names or not at all, then one commit a table.

A recording's files are named after its id, so that one that comes again has the same files::

    profiles/nodes/service=web/date=2026-11-22/0a1b….parquet
    profiles/samples/service=web/date=2026-11-22/0a1b….parquet
    profiles/recordings/service=web/date=2026-11-22/0a1b….parquet    committed last: then the recording is there

The names of unfinished ones have their session, too (``0a1b…-7c8d….parquet``): whoever adds more of it finds them by
the list of files alone. A row that was written anew has another name (``0a1b…--9e0f….parquet``, ``name_of_change``).
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from perf2x.base.errors import SettingError
from perf2x.storage.dataset.content_ids import WIDTH
from perf2x.storage.dataset.dataset_folder import LocalFolder, Storage, storage_at
from perf2x.storage.dataset.dataset_schema import DATE, SORTED_BY, SUFFIX, TABLES, schema_of, texts_of
from perf2x.storage.dataset.table_log import DataFile, TableLog, commit
from perf2x.storage.dataset.write.recording_to_store import PlaceNames, StoredRecording
from perf2x.storage.dataset.write.table_rows import ROWS_OF_GROUP, recording_tables

if TYPE_CHECKING:
    import pyarrow

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Hive's name for the folder of rows without a value."""
MERGED = "merged-"
"""Begins names of files that were put together; it sorts behind the names of recordings."""
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
    ident = stored.recording.hex()
    state = f"{ident}-{stored.session.hex()}" if stored.unfinished and stored.session else ident
    name = f"{folder_of(parts)}/{state}{SUFFIX}"
    return [
        (table, write_file(storage, table, name, rows, parts))
        for table, count, rows in recording_tables(stored, names)
        if count or table in ("samples", "recordings")
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


def folder_of(values: dict[str, str | None]) -> str:
    """Folders ``KEY=VALUE``, values escaped as in addresses."""
    return "/".join(
        f"{quote(key, safe='')}={quote(value or '', safe=' ') or NO_VALUE}" for key, value in values.items()
    )


def date_of(start_ns: int | None) -> str:
    """Day of a start in UTC, "" where it is unknown."""
    return datetime.fromtimestamp(start_ns // 10**9, UTC).strftime("%Y-%m-%d") if start_ns else ""


def recording_of(name: str) -> str | None:
    """Id of the recording that a file is named after, None for files that were put together."""
    return _id_in(_stem(name).partition("-")[0])


def session_of(name: str) -> str | None:
    """Session of the unfinished recording that a file is named after, None for all others."""
    return _id_in((*_stem(name).split("-"), "")[1])


def name_of_change(name: str, digest: str) -> str:
    """Name of the file that takes the place of another with rows that differ: of the same recording and session."""
    folder, _, _ = name.rpartition("/")
    ident, session = (*_stem(name).split("-"), "")[:2]
    return f"{folder}/{ident}-{session}-{digest}{SUFFIX}"


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SUFFIX)


def _id_in(text: str) -> str | None:
    is_id = len(text) == 2 * WIDTH and all(character in "0123456789abcdef" for character in text)
    return text if is_id else None
