"""Reads the recordings of a dataset one by one.

The rows of a recording in ``samples`` and ``mappings`` lie in files of the same name and folder as its row in
``recordings``. Those of nodes, places and lines lie in files named after it or, where files were put together since, in
any file.

Finds the lines of some places among those of a whole dataset.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8, argsort, flatnonzero, repeat
from perf2x.base.columnar.ragged import ranges
from perf2x.base.errors import FormatError
from perf2x.model.printable_text import as_recorded
from perf2x.storage.dataset.content_ids import IdIndex, distinct_ids, id_order
from perf2x.storage.dataset.dataset_address import DatasetAddress
from perf2x.storage.dataset.dataset_schema import SUFFIX, schema_of
from perf2x.storage.dataset.listed_files import State, superseded, until_whole
from perf2x.storage.dataset.parquet_files import ReplacedError, files_of, id_rows, read_table, read_tables
from perf2x.storage.dataset.read.restore_profile import check_row
from perf2x.storage.dataset.read.restore_stacks import NodeTable, PlaceTable, RecordingRows, node_table, place_table
from perf2x.storage.dataset.write.write_recording import date_of

if TYPE_CHECKING:
    import pyarrow

    from perf2x.storage.dataset.sql.where_condition import ChosenSamples


class LinesIndex:
    """The table of lines, ordered once: each recording asks for its own places."""

    def __init__(self, lines: "pyarrow.Table") -> None:
        self._lines = lines
        ids = id_rows(lines, "place_id")
        self._order, starts = id_order(ids)
        self._first = flatnonzero(starts)
        self._count = np.diff(np.append(self._first, len(self._order)))
        self._places = IdIndex(ids[self._order[self._first]])

    def of(self, places: U8) -> tuple["pyarrow.Table", I64]:
        """Lines of places (n, 16) in the table's order, and (lines,) the place of each; of equal ones the first."""
        distinct = distinct_ids(places)
        run = self._places.find(places[distinct])
        place, run = distinct[run >= 0], run[run >= 0]
        rows = self._order[ranges(self._first[run], self._count[run])]
        order = argsort(rows)
        return self._lines.take(rows[order]), repeat(place, self._count[run])[order]


class RecordingRow(Struct, frozen=True):
    """One row of the table of recordings."""

    file: Path
    row: dict[str, Any]

    @property
    def tags(self) -> dict[str, str]:
        """The recording's own labels."""
        return {as_recorded(key): as_recorded(value) for key, value in self.row["tags"] or ()}


class Dataset:
    """The recordings of a dataset that have the tags of an address, in order of time."""

    def __init__(self, address: DatasetAddress, where: str = "") -> None:
        """``where`` is a condition of SQL on recordings and samples (``where_condition.py``); empty: none.

        Where files are put together meanwhile, they are listed again. FormatError when a file of recordings cannot be
        read, or no recording has the tags or meets the condition.
        """
        self.folder = address.folder
        self._chosen = until_whole(lambda: _chosen_samples(address.folder, where)) if where else None
        self._last: tuple[RecordingRow, RecordingRows] | None = None
        everything = _last_states(self._listed())
        chosen = [one for one in everything if _has_tags(one, address) and self._is_chosen(one)]
        if not chosen:
            which = ", ".join([*(f"{key}={value}" for key, value in address.tags.items()), *([where] if where else [])])
            raise FormatError(f"{address.folder}: no recording{f' with {which}' if which else ''} is in this dataset")
        self.failed = [one for one in chosen if one.row["error"] is not None]
        """Those that could not be read when they were added."""
        self.recordings = sorted((one for one in chosen if one.row["error"] is None), key=_order)

    def _listed(self) -> list[RecordingRow]:
        return until_whole(lambda: list(_recording_rows(self.folder)))

    def _is_chosen(self, recording: RecordingRow) -> bool:
        return self._chosen is None or recording.row["recording"] in self._chosen.recordings

    def rows_of(self, recording: RecordingRow) -> RecordingRows:
        """All rows of one recording, which are kept until those of another are asked for.

        FormatError when they cannot be read, or were removed since they were listed.
        """
        if self._last is None or self._last[0] is not recording:
            self._last = recording, until_whole(lambda: self._read_rows(self._where_it_lies(recording)))
        return self._last[1]

    def _where_it_lies(self, recording: RecordingRow) -> RecordingRow:
        """The row of a recording as it is now: its file may have been put together with others."""
        if recording.file.exists():
            return recording
        for one in self._listed():
            if one.row["recording"] == recording.row["recording"]:
                return one
        raise FormatError(f"{recording.file}: it was removed from the dataset while that was read; try again")

    def _read_rows(self, recording: RecordingRow) -> RecordingRows:
        ident: bytes = recording.row["recording"]
        samples = self._rows(recording, "samples") if self._chosen is None else self._chosen.samples_of(ident)
        mappings = self._rows(recording, "mappings")
        nodes = self._own("nodes", ident)
        places = self._own("places", ident)
        return RecordingRows(
            source=str(recording.file),
            row=recording.row,
            samples=samples,
            mappings=mappings,
            nodes=self._all_nodes if nodes is None else node_table(nodes, str(self.folder)),
            places=self._all_places if places is None else place_table(places),
        )

    @property
    def chooses_samples(self) -> bool:
        """Whether samples of the recordings may be missing."""
        return self._chosen is not None

    def _rows(self, recording: RecordingRow, table: str) -> "pyarrow.Table":
        """Rows of a recording in the file of a table that lies where that of its row does.

        Files of rows go before those of samples: without samples a row that is still there is damaged.
        """
        path = self.folder / table / recording.file.relative_to(self.folder / "recordings")
        ident: bytes = recording.row["recording"]
        if path.exists():
            return rows_with(read_table(path, table, ident), ident)
        if not recording.file.exists():
            raise ReplacedError(f"{recording.file}: it was replaced while the dataset was read; try again")
        if table == "samples" and recording.row["samples"]:
            raise FormatError(f"{path}: damaged: it is missing, and {recording.file} counts samples in it")
        return schema_of(table).empty_table()

    def _own(self, table: str, ident: bytes) -> "pyarrow.Table | None":
        path = self.folder / table / f"{ident.hex()}{SUFFIX}"
        return read_table(path, table) if path.exists() else None

    @cached_property
    def _all_nodes(self) -> NodeTable:
        return node_table(self._all("nodes"), str(self.folder))

    @cached_property
    def _all_places(self) -> PlaceTable:
        return place_table(self._all("places"))

    @cached_property
    def lines(self) -> LinesIndex:
        """The lines of all recordings' places."""
        return LinesIndex(self._all("lines"))

    def _all(self, table: str) -> "pyarrow.Table":
        return until_whole(lambda: read_tables(files_of(self.folder, table), table))


def _chosen_samples(folder: Path, where: str) -> "ChosenSamples":
    from perf2x.storage.dataset.sql.where_condition import ChosenSamples  # with DuckDB

    return ChosenSamples(folder, where)


def _recording_rows(folder: Path) -> Iterator[RecordingRow]:
    """Every recording once, by the first of its files; FormatError when one is damaged."""
    known: set[bytes] = set()
    for file in files_of(folder, "recordings"):
        for row in read_table(file, "recordings").to_pylist():
            if row["recording"] not in known:
                known.add(row["recording"])
                check_row(row, str(file))
                yield RecordingRow(file, row)


def _last_states(rows: Iterable[RecordingRow]) -> list[RecordingRow]:
    """Rows without those of earlier states of other rows' recordings."""
    rows = list(rows)
    names = State.__struct_fields__
    gone = superseded(State(*(one.row[name] for name in names)) for one in rows)
    return [one for one in rows if one.row["recording"] not in gone]


def _has_tags(recording: RecordingRow, address: DatasetAddress) -> bool:
    tags = {"date": date_of(recording.row["start_ns"])} | recording.tags
    return all(tags.get(key) == value for key, value in address.tags.items())


def _order(recording: RecordingRow) -> tuple[int, int, bytes]:
    return recording.row["start_ns"] or 0, recording.row["clock_start_ns"], recording.row["recording"]


def rows_with(table: "pyarrow.Table", ident: bytes) -> "pyarrow.Table":
    """The rows of one recording of a table that is sorted by recordings."""
    ids = id_rows(table, "recording")
    if not len(ids):
        return table
    words = np.ascontiguousarray(ids).view(f"S{ids.shape[1]}").reshape(-1)
    first, last = (int(np.searchsorted(words, np.bytes_(ident), side)) for side in ("left", "right"))
    return table.slice(first, last - first)
