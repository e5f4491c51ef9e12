"""Recordings of a dataset by partition: the tags and the day that name their folders."""

from collections.abc import Callable, Mapping
from posixpath import dirname
from typing import Any

from msgspec import Struct

from perf2x.model.printable_text import as_recorded
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import DATE, PARTITIONED
from perf2x.storage.dataset.file_names import is_merged, recording_of
from perf2x.storage.dataset.listed_files import State, superseded
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.table_log import DataFile, TableLog
from perf2x.storage.dataset.write.write_recording import date_of

_COLUMNS = ["recording", "session", "samples", "start_ns", "source", "is_timeline", "error", "unfinished", "tags"]


class RecordingFacts(Struct, frozen=True):
    """A recording, as far as upkeep asks."""

    recording: str
    started_ns: int
    """Its start; the time of its file where it does not tell."""
    source: str
    is_timeline: bool
    may_come_again: bool
    """It could not be read, or is unfinished."""
    is_superseded: bool
    """The dataset has a later state of it."""
    tags: Mapping[str, str]
    """Its day is one of them."""


class Partition(Struct):
    """Files of all tables in one folder, and the recordings that the dataset has there."""

    files: dict[str, list[DataFile]]
    recordings: dict[str, RecordingFacts]

    def closed(self, table: str) -> list[DataFile]:
        """Files of a table, but for those of recordings that may come again, or that are still being added."""
        known = self.recordings
        return [file for file in self.files[table] if _is_closed(file, known)]


def _is_closed(file: DataFile, known: Mapping[str, RecordingFacts]) -> bool:
    facts = known.get(recording_of(file.name) or "")
    return is_merged(file.name) or (facts is not None and (facts.is_superseded or not facts.may_come_again))


def logs_of(storage: Storage) -> dict[str, TableLog]:
    """The logs of all tables whose rows are of recordings; that of recordings is read first."""
    return {table: storage.log(table) for table in reversed(PARTITIONED)}


def partitions(
    storage: Storage, logs: Mapping[str, TableLog], wanted: Callable[[Mapping[str, list[DataFile]]], bool]
) -> dict[str, Partition]:
    """The partitions that are ``wanted`` by their files, by folder; FormatError for a damaged file of recordings."""
    found: dict[str, dict[str, list[DataFile]]] = {}
    for table, log in logs.items():
        for name, file in sorted(log.files.items()):
            found.setdefault(dirname(name), {one: [] for one in logs})[table].append(file)
    return {
        folder: Partition(files, _recordings(storage, files["recordings"]))
        for folder, files in sorted(found.items())
        if wanted(files)
    }


def _recordings(storage: Storage, files: list[DataFile]) -> dict[str, RecordingFacts]:
    rows = [(file, row) for file in files for row in _rows(storage, file)]
    names = State.__struct_fields__
    gone = superseded(State(*(row[name] for name in names)) for _, row in rows)
    found: dict[str, RecordingFacts] = {}
    for file, row in rows:
        ident: str = row["recording"]
        started = file.modified_ns if row["start_ns"] is None else row["start_ns"]
        again = row["error"] is not None or row["unfinished"]
        tags = {as_recorded(key): as_recorded(value) for key, value in row["tags"] or ()}
        tags = {DATE: date_of(row["start_ns"])} | tags
        facts = RecordingFacts(
            ident, started, as_recorded(row["source"]), row["is_timeline"], again, ident in gone, tags
        )
        found.setdefault(ident, facts)
    return found


def _rows(storage: Storage, file: DataFile) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        read_stored(storage, f"recordings/{file.name}", "recordings").select(_COLUMNS).to_pylist()
    )
    return rows
