"""Writes the rows of many recordings to a dataset together.

Delta has transactions for single tables only. So all rows have the id of this attempt, and the table of recordings is
written last. Readers ignore rows whose recording and attempt are not in it. Such rows are left by writers that were
killed, or that found the recording added by others.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field

from perf2x.sources.dataset.dataset_schema import DATE, RECORDING_TABLES, arrow, day_of, schema_of
from perf2x.sources.dataset.delta_tables import DeltaTables, PartitionValues, new_attempt
from perf2x.sources.dataset.write.recording_to_store import StoredRecording
from perf2x.sources.dataset.write.table_rows import recording_tables

if TYPE_CHECKING:
    import pyarrow

MAX_RECORDINGS_PER_TASK = 64
"""Recordings that one task writes."""
_WRITE_SIZE = 1 << 28
"""Collected rows are written when they take more bytes than this."""
_SAME_RECORDING = """t.recording = s.recording OR (t.source = s.source AND t.error IS NOT NULL)
OR (t.session = s.session AND (t.unfinished OR s.unfinished))"""
"""SQL: whether a new row ``s`` and a row ``t`` of the table are of the same recording.

They have the same content; the same name, if ``t`` is an error; or the same fingerprint, if one of them is unfinished.
"""
_REPLACES = "t.error IS NOT NULL OR (t.unfinished AND (NOT s.unfinished OR s.samples > t.samples))"
"""SQL: whether a new row ``s`` replaces ``t``: an error, or an earlier state of the recording."""


class RowsOfRecordings(Struct):
    """Collects and writes the rows of recordings; ``finish`` returns those of the table of recordings."""

    _tables: DeltaTables
    _partition: tuple[str, ...]
    _attempt: str = field(default_factory=new_attempt)
    _rows: dict[str, dict[PartitionValues, list[Any]]] = field(
        default_factory=lambda: {table: {} for table in RECORDING_TABLES}
    )
    _size: int = 0

    def add(self, stored: StoredRecording) -> None:
        """Add a recording. Raises FormatError, and adds no row, if it does not fit into the tables."""
        tables = list(recording_tables(stored, self._attempt))
        partition = _partition_values(stored, self._partition)
        for table, rows in tables:
            if len(rows):
                self._rows[table].setdefault(partition, []).append(rows)
                self._size += rows.nbytes
        if self._size > _WRITE_SIZE:
            self._write()

    def finish(self) -> "pyarrow.Table":
        """Write the remaining rows, and return rows of the table of recordings for the commit."""
        self._write()
        pa, result = arrow(), [schema_of("recordings", self._partition).empty_table()]
        for partition, tables in self._rows["recordings"].items():
            rows = pa.concat_tables(tables)
            for key, value in zip(self._partition, partition, strict=True):
                rows = rows.append_column(key, pa.array([value] * len(rows), pa.string()))
            result.append(rows)
        return pa.concat_tables(result)

    def _write(self) -> None:
        for table in RECORDING_TABLES[:-1]:
            rows, self._rows[table] = self._rows[table], {}
            if rows:
                joined = {partition: arrow().concat_tables(each).combine_chunks() for partition, each in rows.items()}
                self._tables.append(table, joined, self._attempt)
        self._size = 0


def _partition_values(stored: StoredRecording, partition: Sequence[str]) -> PartitionValues:
    date = day_of(stored.profile.meta.wall_start_ns)
    return tuple(stored.tags.get(key) or (date if key == DATE else "") or None for key in partition)


def commit_recordings(tables: DeltaTables, rows: "pyarrow.Table", *, replace: bool = False) -> None:
    """Add recordings by committing their rows in the table of recordings.

    A new row replaces only an error or an earlier state of its recording; with ``replace``, also the same content.
    Raises OutputError if the dataset cannot be written.
    """
    condition = f"t.recording = s.recording OR {_REPLACES}" if replace else _REPLACES
    pending = rows.sort_by([("unfinished", "ascending"), ("samples", "descending"), ("recording", "ascending")])
    # a row of the table must not match two new rows: each merge has one row of a recording or session, the best first
    while len(pending):
        merged_keys, is_new = set[str](), list[bool]()
        for row in pending.select(["recording", "session"]).to_pylist():
            keys = {row["recording"], row["session"] or row["recording"]}
            is_new.append(keys.isdisjoint(merged_keys))
            merged_keys |= keys
        is_first = np.array(is_new, np.bool_)
        tables.merge("recordings", pending.filter(is_first), _SAME_RECORDING, condition)
        pending = pending.filter(~is_first)
