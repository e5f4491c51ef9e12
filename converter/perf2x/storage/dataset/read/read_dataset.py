"""Reads the recordings of a dataset one by one: of each table only what may have rows of theirs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import begins_run, flatnonzero
from perf2x.base.errors import DamagedFileError, FormatError
from perf2x.model.printable_text import as_recorded
from perf2x.storage.dataset.dataset_address import DatasetAddress
from perf2x.storage.dataset.dataset_schema import DATE, arrow, schema_of
from perf2x.storage.dataset.file_names import is_merged
from perf2x.storage.dataset.listed_files import Listing, State, superseded
from perf2x.storage.dataset.names.symbol_index import SymbolIndex
from perf2x.storage.dataset.parquet_files import read_table
from perf2x.storage.dataset.read.restore_profile import check_row
from perf2x.storage.dataset.read.restore_stacks import RecordingRows
from perf2x.storage.dataset.write.write_recording import date_of

if TYPE_CHECKING:
    import pyarrow

    from perf2x.storage.dataset.sql.where_condition import ChosenSamples

_KEPT, _LARGE = 1 << 28, 1 << 23
"""Bytes in memory of files that are kept as they were read, and of a file that is not: many recordings lie in one."""


class RecordingRow(Struct, frozen=True):
    """One row of the table of recordings."""

    file: str
    """Name of its file in the table of recordings."""
    source: str
    """The file, for messages."""
    row: dict[str, Any]

    @property
    def tags(self) -> dict[str, str]:
        """The recording's own labels."""
        return {as_recorded(key): as_recorded(value) for key, value in self.row["tags"] or ()}


class SortedRows:
    """Rows of recordings, those of each together."""

    def __init__(self, rows: "pyarrow.Table") -> None:
        self.rows = rows
        coded = rows["recording"].combine_chunks().dictionary_encode()
        starts = flatnonzero(begins_run(coded.indices.to_numpy(zero_copy_only=False)))
        idents = coded.take(starts).to_pylist()
        self._spans = dict(zip(idents, zip(starts, np.diff(np.append(starts, len(rows))), strict=True), strict=True))

    def of(self, recording: str) -> "pyarrow.Table":
        """The rows of one recording."""
        return self.rows.slice(*map(int, self._spans.get(recording, (0, 0))))


class Dataset:
    """The recordings of a dataset that have the tags of an address, in order of time."""

    def __init__(self, address: DatasetAddress, where: str = "") -> None:
        """``where`` is a condition of SQL on recordings and samples (``where_condition.py``); empty: none.

        FormatError when a file of recordings cannot be read, or no recording has the tags or meets the condition.
        """
        self.folder = address.folder
        self._files = Listing(address.folder, address.tags)
        self._is_part = bool(address.tags or where)
        self._chosen = _chosen_samples(address, where, self._files) if where else None
        self._last: tuple[RecordingRow, RecordingRows] | None = None
        self._read: dict[tuple[str, str], SortedRows] = {}
        everything = _last_states(self._recording_rows())
        chosen = [one for one in everything if has_tags(one, address.tags) and self._is_chosen(one)]
        if not chosen:
            which = ", ".join([*(f"{key}={value}" for key, value in address.tags.items()), *([where] if where else [])])
            raise FormatError(f"{address.folder}: no recording{f' with {which}' if which else ''} is in this dataset")
        self.failed = [one for one in chosen if one.row["error"] is not None]
        """Those that could not be read when they were added."""
        self.recordings = sorted((one for one in chosen if one.row["error"] is None), key=_order)

    def _recording_rows(self) -> "Iterator[RecordingRow]":
        """Every recording once, by the first of its files; FormatError when one is damaged."""
        known: set[str] = set()
        names = self._files.names("recordings")
        self._files.fetch("recordings", names)
        for name in names:
            path = self.folder / "recordings" / name
            for row in read_table(path, "recordings").to_pylist():
                if row["recording"] not in known:
                    known.add(row["recording"])
                    check_row(row, str(path))
                    yield RecordingRow(name, str(path), row)

    def _is_chosen(self, recording: RecordingRow) -> bool:
        return self._chosen is None or recording.row["recording"] in self._chosen.recordings

    def rows_of(self, recording: RecordingRow) -> RecordingRows:
        """All rows of one recording, which are kept until those of another are asked for; FormatError."""
        if self._last is None or self._last[0] is not recording:
            ident: str = recording.row["recording"]
            samples = self._rows(recording, "samples") if self._chosen is None else self._chosen.samples_of(ident)
            others = {table: self._rows(recording, table) for table in ("mappings", "nodes", "places", "lines")}
            self._last = recording, RecordingRows(recording.source, recording.row, samples, **others)
        return self._last[1]

    @property
    def chooses_samples(self) -> bool:
        """Whether samples of the recordings may be missing."""
        return self._chosen is not None

    def _rows(self, recording: RecordingRow, table: str) -> "pyarrow.Table":
        """Rows of a recording in the first file that has any."""
        ident: str = recording.row["recording"]
        names = self._files.of_recording(table, recording.file, ident)
        self._files.fetch(table, names)
        for name in names:
            rows = self._file(table, name, ident).of(ident)
            if len(rows):
                return rows
        if table == "samples" and recording.row["samples"] and not names:
            raise DamagedFileError(f"{recording.source}: damaged: it counts samples, and no file has them")
        return schema_of(table).empty_table()

    def _file(self, table: str, name: str, ident: str) -> "SortedRows":
        """A file of several recordings, which is kept if it is not too large; or what one of them may have in it."""
        path, size = self.folder / table / name, self._files.files[table][name].size
        if not is_merged(name) or size > _LARGE:
            return SortedRows(read_table(path, table, ident))
        if (table, name) not in self._read:
            found = SortedRows(read_table(path, table))
            while self._read and sum(one.rows.nbytes for one in self._read.values()) + found.rows.nbytes > _KEPT:
                del self._read[next(iter(self._read))]
            self._read[table, name] = found
        return self._read[table, name]

    @cached_property
    def symbols(self) -> SymbolIndex:
        """Names of places of objects that several recordings may have."""
        objects = self._objects() if self._is_part else None
        if objects is not None:
            self._files.keep_objects(objects)
        names = self._files.names("symbols")
        self._files.fetch("symbols", names)
        parts = [schema_of("symbols").empty_table()]
        for name in names:
            rows = read_table(self.folder / "symbols" / name, "symbols")
            parts.append(rows if objects is None else _rows_with(rows, "object_id", objects))
        rows = arrow().concat_tables(parts).combine_chunks()  # each recording takes from all of them
        return SymbolIndex(rows, rows)

    def _objects(self) -> list[str]:
        """Objects of the recordings."""
        files: dict[str, None] = {}
        for one in self.recordings:
            files |= dict.fromkeys(self._files.of_recording("mappings", one.file, one.row["recording"]))
        self._files.fetch("mappings", files)
        idents, found = [one.row["recording"] for one in self.recordings], set[str]()
        for name in files:
            rows = read_table(self.folder / "mappings" / name, "mappings")
            found.update(_rows_with(rows, "recording", idents)["object_id"].unique().to_pylist())
        return sorted(found)


def _rows_with(rows: "pyarrow.Table", column: str, values: Sequence[str]) -> "pyarrow.Table":
    from pyarrow import compute

    return rows.filter(compute.is_in(rows[column], value_set=arrow().array(values, arrow().string())))


def _chosen_samples(address: DatasetAddress, where: str, files: Listing) -> "ChosenSamples":
    from perf2x.storage.dataset.sql.where_condition import ChosenSamples  # with DuckDB

    return ChosenSamples(address, where, files)


def _last_states(rows: Iterable[RecordingRow]) -> list[RecordingRow]:
    """Rows without those of earlier states of other rows' recordings."""
    rows = list(rows)
    names = State.__struct_fields__
    gone = superseded(State(*(one.row[name] for name in names)) for one in rows)
    return [one for one in rows if one.row["recording"] not in gone]


def has_tags(recording: RecordingRow, wanted: Mapping[str, str]) -> bool:
    """Whether a recording has these tags; ``date`` is the day of its start."""
    tags = {DATE: date_of(recording.row["start_ns"])} | recording.tags
    return all(tags.get(key) == value for key, value in wanted.items())


def _order(recording: RecordingRow) -> tuple[int, int, str]:
    return recording.row["start_ns"] or 0, recording.row["clock_start_ns"], recording.row["recording"]
