"""A part of a dataset: the recordings with some tags, and their rows in the other tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from perf2x.base.background_tasks import started
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
from perf2x.model.printable_text import as_recorded
from perf2x.model.value_limits import LAST_TIME
from perf2x.sources.dataset.arrow_columns import numbers, rows_of_table, texts, with_texts
from perf2x.sources.dataset.dataset_address import DatasetAddress
from perf2x.sources.dataset.dataset_schema import COLUMNS, DATE, OF_ATTEMPT, OF_RECORDINGS, date_of
from perf2x.sources.dataset.delta_tables import DataFile, DeltaTables, Parts, partition_of

if TYPE_CHECKING:
    import pyarrow

_OF_PROFILES = ("mappings", "places", "stacks", "samples", "symbols")
"""Tables in the order in which a profile needs them."""
Made = TypeVar("Made")
_OF_QUERIES = {"places": ("build_id", "file", "is_local"), "samples": ("event", "unit")}
"""Columns that only queries read: profiles get the same data from mappings and recordings."""


class Row(Frozen):
    """One row of the table of recordings."""

    values: Mapping[str, Any]
    parts: Parts
    tags: Mapping[str, str]
    place: int
    """Index of the row in the table of recordings, as it was read."""

    @property
    def ident(self) -> str:
        """Id of the recording."""
        found: str = self.values["recording"]
        return found


class Rows(Frozen):
    """Rows of some recordings in one table."""

    table: "pyarrow.Table"
    number: I64
    """(rows,) index of each row's recording among the requested ones."""
    count: int
    """Number of recordings requested."""

    @property
    def start(self) -> I64:
        """(count + 1,) offsets of each recording's rows, which must be sorted by recording (``DatasetPart.of``)."""
        return searchsorted(self.number, arange(self.count + 1))


class DatasetPart:
    """The recordings of a dataset that have the tags of an address; the tag ``date`` is the day of their start."""

    def __init__(self, address: DatasetAddress) -> None:
        """Raises FormatError if it is not a dataset, or its table of recordings is damaged."""
        self.tables, self.tags = DeltaTables(address.root), address.tags
        table = self.tables.require("recordings")
        columns = partition_of(table)
        every = self.tables.files(table)
        files = [file for file in every if all(file.parts[key] == address.tags[key] for key in columns
                                               if key in address.tags)]  # fmt: skip
        found: list[Row] = []
        self._table = self.tables.read("recordings", table, files)
        for place, values in enumerate(self._table.to_pylist()):
            _check_row(values, self.tables.place("recordings"))
            tags = dict(with_texts(values["tags"] or (), as_recorded))
            found.append(Row(values, tuple(values[key] for key in columns), tags, place))
        self.is_empty = not every
        self.count = len(found)
        """Number of recordings examined."""
        self.columns = columns
        self.rows = sorted(
            (row for row in found if _has_tags(row, address.tags)),
            key=lambda row: (row.values["start_ns"] or 0, row.values["clock_start_ns"], row.ident),
        )
        """In order of time."""
        self._open: dict[str, tuple[Any, list[DataFile]]] = {}
        self._held: dict[str, tuple[set[str], pyarrow.Table]] = {}
        self._begun: dict[str, Callable[[], pyarrow.Table]] = {}
        self._made: tuple[pyarrow.Table, Any] | None = None

    def require(self) -> None:
        """Raise FormatError if there is no recording."""
        if self.is_empty:
            raise FormatError(f"{self.tables.root}: no recordings yet")
        if not self.rows:
            which = ", ".join(f"{key}={value}" for key, value in self.tags.items())
            raise FormatError(f"{self.tables.root}: no recording with {which} is in this dataset")

    def files(self, table: str, rows: Sequence[Row]) -> tuple[Any, list[DataFile]]:
        """Return an open table, and those of its files that may have rows of some recordings.

        These are all files of a table that is not partitioned by recordings' tags (not in OF_RECORDINGS).
        """
        if table not in self._open:
            found = self.tables.require(table)
            self._open[table] = found, self.tables.files(found)
        found, files = self._open[table]
        if table in OF_RECORDINGS:
            parts = {row.parts for row in rows}
            files = [file for file in files if tuple(file.parts.values()) in parts]
        return found, files

    def of(self, table: str, rows: Sequence[Row], key: str = "") -> Rows:
        """Return rows of some recordings in a table; with a ``key``, sorted by recording and key.

        Raises FormatError if the table is damaged, or the keys of a recording are not 0, 1, ….
        """
        stored = self._rows_of(table, rows)
        number = _numbers_of(stored, rows)
        kept = flatnonzero(number >= 0)
        if key:
            value = as_int64(numbers(stored, key))
            kept = kept[argsort_rows([number[kept], value[kept]])]
        found = Rows(rows_of_table(stored, kept), number[kept], len(rows))
        if key and (value[kept] != arange(len(kept)) - found.start[found.number]).any():
            raise FormatError(f"{self.tables.root}: damaged: {key} numbers are missing or twice")
        return found

    def scan(self, table: str) -> Any:
        """Return what DuckDB reads as a table.

        For ``recordings``, these are exactly the part's rows; for other tables, all rows of the files that may have
        rows of the part's recordings. Raises FormatError if a recording's samples are missing.
        """
        if table == "recordings":
            return rows_of_table(self._table, as_int64([row.place for row in self.rows]))
        found, files = self.files(table, self.rows)
        if table == "samples":
            self.check_samples(self.rows, _numbers_of(self.tables.read(table, found, files, OF_ATTEMPT), self.rows))
        return self.tables.scan(table, found, files)

    def check_samples(self, rows: Sequence[Row], number: I64) -> None:
        """Raise FormatError if a recording that should have samples has none.

        ``number`` is the index in ``rows`` of each sample's recording, −1 for other recordings.
        """
        for row, count in zip(rows, bincount(number + 1, len(rows) + 1)[1:].tolist(), strict=True):
            if row.values["samples"] and not count:
                raise FormatError(f"{self.tables.root}: damaged: samples of {row.ident} are missing")

    def read_ahead(self, rows: Sequence[Row]) -> None:
        """Start to read what a profile of some recordings needs."""
        self._begun = started({table: partial(self._read, table, rows) for table in _OF_PROFILES})

    def _rows_of(self, table: str, rows: Sequence[Row]) -> "pyarrow.Table":
        return self._begun.pop(table, partial(self._read, table, rows))()

    def _read(self, table: str, rows: Sequence[Row]) -> "pyarrow.Table":
        """Return the rows of all files that may have rows of the recordings, cached until other files are needed."""
        found, files = self.files(table, rows)
        paths, held = self._held.get(table, (set(), None))
        if held is None or not paths.issuperset(file.path for file in files):
            columns = [name for name in COLUMNS[table] if name not in _OF_QUERIES.get(table, ())]
            held = self.tables.read(table, found, files, columns)
            self._held[table] = {file.path for file in files}, held
        return held

    def of_symbols(self, make: "Callable[[pyarrow.Table], Made]") -> Made:
        """Return what ``make`` returns for the symbols of all objects in the places read last; call it only once."""
        places = self._rows_of("places", ())
        if self._made is None or self._made[0] is not places:
            code, known = texts(self._rows_of("symbols", ()), "object_id")
            objects = set(texts(places, "object_id")[1])
            chosen = np.array([*(one in objects for one in known), False], np.bool_)
            self._made = places, make(rows_of_table(self._rows_of("symbols", ()), flatnonzero(chosen[code])))
        made: Made = self._made[1]
        return made


def _numbers_of(table: "pyarrow.Table", rows: Sequence[Row]) -> I64:
    """Return the index in ``rows`` of the recording to which each row of a table belongs.

    It is −1 for rows of other recordings, and for rows that another attempt to add the recording wrote.
    """
    (one, idents), (other, attempts) = (texts(table, name) for name in OF_ATTEMPT)
    known = minus_ones((len(idents) + 1, len(attempts) + 1))
    of_ident, of_attempt = ({text: code for code, text in enumerate(words)} for words in (idents, attempts))
    for number, row in enumerate(rows):
        known[of_ident.get(row.ident, -1), of_attempt.get(row.values["attempt"], -1)] = number
    known[-1], known[:, -1] = -1, -1
    found: I64 = known[one, other]
    return found


def _has_tags(row: Row, selected: Mapping[str, str]) -> bool:
    """Return whether a recording has these tags; ``date`` is the day of its start."""
    tags = {DATE: date_of(row.values["start_ns"]), **row.tags}
    return all(tags.get(key, "") == value for key, value in selected.items())


def _check_row(values: Mapping[str, Any], source: str) -> None:
    """Raise FormatError for impossible values of a recording."""
    for name in ("samples", "lost", "duration_ns", "clock_start_ns", "cpus", "missing_bytes", "start_ns"):
        if (values[name] or 0) < 0:
            raise FormatError(f"{source}: damaged: {name} is {values[name]}")
    if values["clock_start_ns"] + values["duration_ns"] > LAST_TIME:
        raise FormatError(f"{source}: damaged: duration_ns is {values['duration_ns']}")
    events = max(1, len(values["events"]))
    if not 0 <= values["default_event"] < events:
        raise FormatError(f"{source}: damaged: default_event is {values['default_event']} of {events} events")
    check_build_ids([values["kernel_build_id"], values["recording"], values["session"] or ""], source)


def check_build_ids(texts: Iterable[str], source: str) -> None:
    """Raise FormatError for a build id that is not hexadecimal."""
    for text in texts:
        try:
            bytes.fromhex(text)
        except ValueError:
            raise FormatError(f"{source}: damaged: not a build id: {text[:64]!r}") from None
