"""Writes recordings into a dataset: each adds its own files, which appear whole under their names or not at all.

Files are named after the recording's id, so that a recording that comes again replaces its own files by equal ones::

    profiles/nodes/0a1b….parquet                                  shared by all recordings: ids mean the same in all
    profiles/samples/service=web/date=2026-11-22/0a1b….parquet    below the recording's tags
    profiles/recordings/service=web/date=2026-11-22/0a1b….parquet    last: a recording is there once this file is

In folders of tags, the names of unfinished ones have their session, too (``0a1b…-7c8d….parquet``): whoever adds more of
it finds them by the list of files alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from perf2x.storage.dataset.content_ids import WIDTH
from perf2x.storage.dataset.dataset_folder import LocalFolder, Storage, storage_at
from perf2x.storage.dataset.dataset_schema import PARTITIONED, SORTED_BY, SUFFIX, schema_of, texts_of
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.write.recording_to_store import PlaceNames, StoredRecording
from perf2x.storage.dataset.write.table_rows import ROWS_OF_GROUP, recording_tables

if TYPE_CHECKING:
    import pyarrow

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Hive's name for the folder of rows without a value."""
MERGED = "merged-"
"""Begins names of files that were put together; it sorts behind the names of recordings."""


def write_recording(
    folder: Path | str, stored: StoredRecording, names: PlaceNames | None = None, partition: Sequence[str] = ()
) -> None:
    """Add a recording to the dataset in ``folder``, a path or the address of a store; it is made where it is missing.

    ``partition`` are the tags that name folders, outermost first; ``date``, where no tag has this name, is the day on
    which the recording started, in UTC. OutputError when a file cannot be written.
    """
    storage, parts = storage_at(folder), list(partition_folders(stored, partition))
    ident = stored.recording.hex()
    state = f"{ident}-{stored.session.hex()}" if stored.unfinished and stored.session else ident
    for table, count, rows in recording_tables(stored, names):
        if count or table in ("samples", "recordings"):
            place = [table, *parts, state] if table in PARTITIONED else [table, ident]
            write_file(storage, f"{'/'.join(place)}{SUFFIX}", table, rows)


def write_table(path: Path, table: str, rows: "pyarrow.Table") -> None:
    """Write one file of a table, sorted; OutputError when that fails."""
    write_file(LocalFolder(path.parent), path.name, table, [rows])


def write_file(storage: Storage, name: str, table: str, parts: "Iterable[pyarrow.Table]") -> None:
    """Write one file of a table, whose sorted rows come in parts, a group of rows each; it appears when it is whole."""
    schema = schema_of(table)
    from pyarrow import parquet

    with storage.new_file(name) as file, parquet.ParquetWriter(file, schema, **_options(table)) as writer:
        for rows in parts:
            writer.write_table(rows, row_group_size=ROWS_OF_GROUP)


def _options(table: str) -> dict[str, Any]:
    """Settings of Parquet."""
    from pyarrow import parquet

    schema = schema_of(table)
    return {
        "compression": "zstd",
        "use_dictionary": [name for name in (*texts_of(table), "recording", "stack_id") if name in schema.names],
        "write_statistics": True,
        "write_page_checksum": True,
        "sorting_columns": parquet.SortingColumn.from_ordering(
            schema, [(name, "ascending") for name in SORTED_BY[table]]
        ),
    }


def partition_folders(stored: StoredRecording, partition: Sequence[str]) -> Iterator[str]:
    """Yield the folders ``KEY=VALUE`` of a recording, values escaped as in addresses."""
    for key in partition:
        value = stored.tags.get(key) or (date_of(stored.profile.meta.wall_start_ns) if key == "date" else "")
        yield f"{quote(key, safe='')}={quote(value, safe=' ') or NO_VALUE}"


def date_of(start_ns: int | None) -> str:
    """Day of a start in UTC, "" where it is unknown."""
    return datetime.fromtimestamp(start_ns // 10**9, UTC).strftime("%Y-%m-%d") if start_ns else ""


def stored_recordings(storage: Storage) -> dict[bytes, str]:
    """Ids of the recordings that a dataset has, each with its file in the table of recordings.

    FormatError when a file that was put together cannot be read.
    """
    found: dict[bytes, str] = {}
    for file in storage.files("recordings"):
        own = recording_of(file.name)
        for one in [own] if own else read_stored(storage, file.name, "recordings")["recording"].to_pylist():
            found.setdefault(one, file.name)
    return found


def recording_of(name: str) -> bytes | None:
    """Id of the recording that a file is named after, None for files that were put together."""
    return _id_in(_stem(name).partition("-")[0])


def session_of(name: str) -> bytes | None:
    """Session of the unfinished recording that a file is named after, None for all others."""
    return _id_in(_stem(name).partition("-")[2])


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SUFFIX)


def _id_in(text: str) -> bytes | None:
    is_id = len(text) == 2 * WIDTH and all(character in "0123456789abcdef" for character in text)
    return bytes.fromhex(text) if is_id else None
