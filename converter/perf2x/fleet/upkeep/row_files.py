"""Files of the table of recordings, each with the recordings that readers take from it."""

from collections.abc import Iterator
from posixpath import dirname
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.storage.dataset.dataset_folder import Storage, StoredFile
from perf2x.storage.dataset.listed_files import states_of, superseded
from perf2x.storage.dataset.parquet_files import read_stored

if TYPE_CHECKING:
    import pyarrow

_TABLE = "recordings"


class RecordingRow(Struct, frozen=True):
    """A recording, as far as upkeep asks."""

    recording: bytes
    row: "pyarrow.Table"
    """Its row in the table of recordings."""
    start_ns: int | None
    is_timeline: bool
    has_error: bool
    unfinished: bool
    """It may come again, finished."""


class RowFile(Struct, frozen=True):
    """A file of recordings; those of their samples and mappings have the same name in other folders."""

    name: str
    """Relative to the folder of its table."""
    size: int
    """Bytes of the samples."""
    modified_ns: int
    rows: tuple[RecordingRow, ...]
    """Recordings that no file in front of this one has, and no file a later state of."""
    has_doubles: bool
    """Whether there are other recordings in it."""

    @property
    def folder(self) -> str:
        """Folder that is named by tags, "" without any."""
        return dirname(self.name)


def row_files(storage: Storage) -> list[RowFile]:
    """All files of recordings, by name; FormatError when one cannot be read."""
    sizes = {file.name.partition("/")[2]: file.size for file in storage.files("samples")}
    found = [(file, read_stored(storage, file.name, _TABLE)) for file in storage.files(_TABLE)]
    known = set(superseded(state for _, table in found for state in states_of(table)))
    return [_row_file(file, table, sizes, known) for file, table in found]


def _row_file(file: StoredFile, table: "pyarrow.Table", sizes: dict[str, int], known: set[bytes]) -> RowFile:
    rows = []
    for row in _rows(table):
        if row.recording not in known:
            known.add(row.recording)
            rows.append(row)
    name = file.name.partition("/")[2]
    return RowFile(name, sizes.get(name, 0), file.modified_ns, tuple(rows), has_doubles=len(rows) < len(table))


def _rows(table: "pyarrow.Table") -> Iterator[RecordingRow]:
    names = ("recording", "start_ns", "is_timeline", "error", "unfinished")
    for number, (recording, start, is_timeline, error, unfinished) in enumerate(
        zip(*(table[name].to_pylist() for name in names), strict=True)
    ):
        yield RecordingRow(recording, table.slice(number, 1), start, is_timeline, error is not None, unfinished)
