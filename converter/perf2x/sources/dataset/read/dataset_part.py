"""Reads a part of a dataset: the recordings with some tags, and their rows in the other tables.

A row counts only if its recording and attempt are in the table of recordings. Files are read once, and kept until
others are needed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from perf2x.base.background_tasks import start_tasks
from perf2x.base.columnar import (
    I64,
    Frozen,
    arange,
    argsort_rows,
    as_int64,
    bincount,
    flatnonzero,
    minus_ones,
    searchsorted,
)
from perf2x.errors import FormatError
from perf2x.model.printable_text import undo_printable
from perf2x.model.value_limits import LAST_TIME
from perf2x.sources.dataset.arrow_columns import map_strings, numbers, rows_of_table, string_codes
from perf2x.sources.dataset.dataset_address import DatasetAddress
from perf2x.sources.dataset.dataset_schema import ATTEMPT_COLUMNS, COLUMNS, DATE, RECORDING_TABLES, day_of
from perf2x.sources.dataset.delta_tables import DataFile, DeltaTables, PartitionValues, partition_columns

if TYPE_CHECKING:
    import pyarrow

_PROFILE_TABLES = ("mappings", "places", "stacks", "samples", "symbols")
"""Tables of a profile, in the order in which they are needed."""
Result = TypeVar("Result")
_QUERY_COLUMNS = {"places": ("build_id", "file", "is_local"), "samples": ("event", "unit")}
"""Columns that only SQL reads: profiles get the same data from the tables of mappings and recordings."""


class Row(Frozen):
    """A row of the table of recordings."""

    values: Mapping[str, Any]
    """Of all columns, by name."""
    partition: PartitionValues
    tags: Mapping[str, str]
    index: int
    """Number of the row in the table as read."""

    @property
    def ident(self) -> str:
        """Id of the recording."""
        ident: str = self.values["recording"]
        return ident


class Rows(Frozen):
    """Rows of some recordings in one table."""

    table: "pyarrow.Table"
    recording: I64
    """(rows,) index in the list of requested recordings."""
    count: int
    """Number of recordings requested."""

    @property
    def offsets(self) -> I64:
        """(count + 1,) first row of each recording, and number of all rows.

        Rows must be sorted: ``rows_of`` does so with a key.
        """
        return searchsorted(self.recording, arange(self.count + 1))


class DatasetPart:
    """The recordings of a dataset that have the tags of an address."""

    def __init__(self, address: DatasetAddress) -> None:
        """Read the table of recordings. Raises FormatError if it is damaged, or the address is not of a dataset."""
        self.tables, self.tags = DeltaTables(address.root), address.tags
        table = self.tables.require("recordings")
        columns = partition_columns(table)
        all_files = self.tables.files(table)
        files = [file for file in all_files if all(file.partition[key] == address.tags[key] for key in columns
                                                   if key in address.tags)]  # fmt: skip
        examined: list[Row] = []
        self._table = self.tables.read("recordings", table, files)
        for index, values in enumerate(self._table.to_pylist()):
            _check_row(values, self.tables.address("recordings"))
            tags = dict(map_strings(values["tags"] or (), undo_printable))
            examined.append(Row(values, tuple(values[key] for key in columns), tags, index))
        self.is_empty = not all_files
        self.count = len(examined)
        """Recordings in the partitions that may have the tags."""
        self.partition_columns = columns
        self.rows = sorted(
            (row for row in examined if _has_tags(row, address.tags)),
            key=lambda row: (row.values["start_ns"] or 0, row.values["clock_start_ns"], row.ident),
        )
        """Recordings that have the tags, in order of time."""
        self._open: dict[str, tuple[Any, list[DataFile]]] = {}
        # by table: paths of the files read last, and their rows
        self._cached: dict[str, tuple[set[str], pyarrow.Table]] = {}
        # of tables that are read in the background
        self._waits: dict[str, Callable[[], pyarrow.Table]] = {}
        self._symbols: tuple[pyarrow.Table, Any] | None = None

    def require_recordings(self) -> None:
        """Raise FormatError if no recording has the tags."""
        if self.is_empty:
            raise FormatError(f"{self.tables.root}: no recordings yet")
        if not self.rows:
            tags = ", ".join(f"{key}={value}" for key, value in self.tags.items())
            raise FormatError(f"{self.tables.root}: no recording with {tags} is in this dataset")

    def files(self, table: str, rows: Sequence[Row]) -> tuple[Any, list[DataFile]]:
        """Return an open table, and its files that may have rows of some recordings."""
        if table not in self._open:
            opened = self.tables.require(table)
            self._open[table] = opened, self.tables.files(opened)
        opened, files = self._open[table]
        if table in RECORDING_TABLES:
            partitions = {row.partition for row in rows}
            files = [file for file in files if tuple(file.partition.values()) in partitions]
        return opened, files

    def rows_of(self, table: str, rows: Sequence[Row], key: str = "") -> Rows:
        """Return the rows of some recordings; with a ``key``, sorted by recording and by that column.

        The key numbers the rows of each recording from 0, as "place" does. Raises FormatError if the table is damaged,
        or keys are missing or repeated.
        """
        stored = self._rows_of(table, rows)
        recording = _row_indices(stored, rows)
        kept = flatnonzero(recording >= 0)
        if key:
            keys = as_int64(numbers(stored, key))
            kept = kept[argsort_rows([recording[kept], keys[kept]])]
        result = Rows(rows_of_table(stored, kept), recording[kept], len(rows))
        if key and (keys[kept] != arange(len(kept)) - result.offsets[result.recording]).any():
            raise FormatError(f"{self.tables.root}: damaged: {key} numbers are missing or repeated")
        return result

    def scan(self, table: str) -> Any:
        """Return an Arrow table or dataset that DuckDB can read as a table.

        ``recordings`` has exactly the part's rows; other tables have all rows of files that may have some. Raises
        FormatError if the samples of a recording are missing.
        """
        if table == "recordings":
            return rows_of_table(self._table, as_int64([row.index for row in self.rows]))
        opened, files = self.files(table, self.rows)
        if table == "samples":
            self.check_samples(
                self.rows, _row_indices(self.tables.read(table, opened, files, ATTEMPT_COLUMNS), self.rows)
            )
        return self.tables.scan(table, opened, files)

    def check_samples(self, rows: Sequence[Row], recording: I64) -> None:
        """Raise FormatError if a recording that should have samples has none."""
        for row, count in zip(rows, bincount(recording + 1, len(rows) + 1)[1:].tolist(), strict=True):
            if row.values["samples"] and not count:
                raise FormatError(f"{self.tables.root}: damaged: samples of {row.ident} are missing")

    def read_ahead(self, rows: Sequence[Row]) -> None:
        """Start to read, in the background, the tables for a profile."""
        self._waits = start_tasks({table: partial(self._read, table, rows) for table in _PROFILE_TABLES})

    def _rows_of(self, table: str, rows: Sequence[Row]) -> "pyarrow.Table":
        return self._waits.pop(table, partial(self._read, table, rows))()

    def _read(self, table: str, rows: Sequence[Row]) -> "pyarrow.Table":
        opened, files = self.files(table, rows)
        paths, cached = self._cached.get(table, (set(), None))
        if cached is None or not paths.issuperset(file.path for file in files):
            columns = [name for name in COLUMNS[table] if name not in _QUERY_COLUMNS.get(table, ())]
            cached = self.tables.read(table, opened, files, columns)
            self._cached[table] = {file.path for file in files}, cached
        return cached

    def made_of_symbols(self, make: "Callable[[pyarrow.Table], Result]") -> Result:
        """Return the result of ``make``, called with the rows of symbols for the objects of the places read last.

        The result is kept until other places are read.
        """
        places = self._rows_of("places", ())
        if self._symbols is None or self._symbols[0] is not places:
            codes, object_ids = string_codes(self._rows_of("symbols", ()), "object_id")
            objects = set(string_codes(places, "object_id")[1])
            is_needed = np.array([*(ident in objects for ident in object_ids), False], np.bool_)
            self._symbols = places, make(rows_of_table(self._rows_of("symbols", ()), flatnonzero(is_needed[codes])))
        result: Result = self._symbols[1]
        return result


def _row_indices(table: "pyarrow.Table", rows: Sequence[Row]) -> I64:
    """Index in ``rows`` of each row's recording (n,); −1 for other recordings and other attempts."""
    (ident_codes, idents), (attempt_codes, attempts) = (string_codes(table, name) for name in ATTEMPT_COLUMNS)
    # by codes of id and attempt; the last row and column are for ids that do not occur
    index_of = minus_ones((len(idents) + 1, len(attempts) + 1))
    code_of_ident, code_of_attempt = ({text: code for code, text in enumerate(words)} for words in (idents, attempts))
    for index, row in enumerate(rows):
        index_of[code_of_ident.get(row.ident, -1), code_of_attempt.get(row.values["attempt"], -1)] = index
    index_of[-1], index_of[:, -1] = -1, -1
    indices: I64 = index_of[ident_codes, attempt_codes]
    return indices


def _has_tags(row: Row, selected: Mapping[str, str]) -> bool:
    tags = {DATE: day_of(row.values["start_ns"]), **row.tags}
    return all(tags.get(key, "") == value for key, value in selected.items())


def _check_row(values: Mapping[str, Any], source: str) -> None:
    for name in ("samples", "lost", "duration_ns", "clock_start_ns", "cpus", "missing_bytes", "start_ns"):
        if (values[name] or 0) < 0:
            raise FormatError(f"{source}: damaged: {name} is {values[name]}")
    if values["clock_start_ns"] + values["duration_ns"] > LAST_TIME:
        raise FormatError(f"{source}: damaged: duration_ns is {values['duration_ns']}")
    events = max(1, len(values["events"]))
    if not 0 <= values["default_event"] < events:
        raise FormatError(f"{source}: damaged: default_event is {values['default_event']} of {events} events")
    check_hex_ids([values["kernel_build_id"], values["recording"], values["session"] or ""], source)


def check_hex_ids(idents: Iterable[str], source: str) -> None:
    """Raise FormatError if an id is not hexadecimal."""
    for ident in idents:
        try:
            bytes.fromhex(ident)
        except ValueError:
            raise FormatError(f"{source}: damaged: not a hexadecimal id: {ident[:64]!r}") from None
