"""Writes the rows of many recordings to a dataset at once; the table of recordings, written last, makes them visible.

``attempt`` identifies the rows of one writer. Rows count only if their recording and attempt are in the table of
recordings, so rows of killed writers do not.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field

from perf2x.sources.dataset.dataset_schema import DATE, OF_RECORDINGS, arrow, date_of, schema_of
from perf2x.sources.dataset.delta_tables import DeltaTables, Parts, new_attempt
from perf2x.sources.dataset.write.recording_to_store import StoredRecording
from perf2x.sources.dataset.write.table_rows import recording_tables

if TYPE_CHECKING:
    import pyarrow

TOGETHER = 64
"""Maximum number of recordings that a task writes."""
_BYTES = 1 << 28
"""Bytes of collected rows at which they are written."""
_SAME = """t.recording = s.recording OR (t.source = s.source AND t.error IS NOT NULL)
OR (t.session = s.session AND (t.unfinished OR s.unfinished))"""
"""Whether rows are of the same recording: by content, by name after an error, by fingerprint if one is unfinished."""
_LATER = "t.error IS NOT NULL OR (t.unfinished AND (NOT s.unfinished OR s.samples > t.samples))"
"""Whether the new row ``s`` replaces row ``t`` of the same recording, which is an error or an earlier state."""


class RowsOfRecordings(Struct):
    """Rows of recordings that are written together."""

    _tables: DeltaTables
    _partition: tuple[str, ...]
    _attempt: str = field(default_factory=new_attempt)
    _rows: dict[str, dict[Parts, list[Any]]] = field(default_factory=lambda: {table: {} for table in OF_RECORDINGS})
    _size: int = 0

    def add(self, stored: StoredRecording) -> None:
        """Add a recording. Raises FormatError, and adds no row, if the recording does not fit into the tables."""
        made = list(recording_tables(stored, self._attempt))
        parts = _partition_values(stored, self._partition)
        for table, rows in made:
            if len(rows):
                self._rows[table].setdefault(parts, []).append(rows)
                self._size += rows.nbytes
        if self._size > _BYTES:
            self._write()

    def finish(self) -> "pyarrow.Table":
        """Write the remaining rows, and return the rows of the table of recordings, which the caller commits."""
        self._write()
        pa, found = arrow(), [schema_of("recordings", self._partition).empty_table()]
        for parts, many in self._rows["recordings"].items():
            rows = pa.concat_tables(many)
            for key, value in zip(self._partition, parts, strict=True):
                rows = rows.append_column(key, pa.array([value] * len(rows), pa.string()))
            found.append(rows)
        return pa.concat_tables(found)

    def _write(self) -> None:
        for table in OF_RECORDINGS[:-1]:
            rows, self._rows[table] = self._rows[table], {}
            if rows:
                whole = {parts: arrow().concat_tables(many).combine_chunks() for parts, many in rows.items()}
                self._tables.append(table, whole, self._attempt)
        self._size = 0


def _partition_values(stored: StoredRecording, partition: Sequence[str]) -> Parts:
    """Return a recording's values of the partition columns; None for a column without a value."""
    date = date_of(stored.profile.meta.wall_start_ns)
    return tuple(stored.tags.get(key) or (date if key == DATE else "") or None for key in partition)


def commit_recordings(tables: DeltaTables, rows: "pyarrow.Table", *, replace: bool = False) -> None:
    """Add recordings to a dataset by their rows in the table of recordings.

    A recording that the dataset has already stays as it is, unless its row is an error or an earlier state of it; with
    ``replace``, it is replaced in any case. Raises OutputError if the dataset cannot be written.
    """
    later = f"t.recording = s.recording OR {_LATER}" if replace else _LATER
    waiting = rows.sort_by([("unfinished", "ascending"), ("samples", "descending"), ("recording", "ascending")])
    while len(waiting):  # each batch has a session or recording only once, because a row may match only one
        seen, first = set[str](), list[bool]()
        for row in waiting.select(["recording", "session"]).to_pylist():
            keys = {row["recording"], row["session"] or row["recording"]}
            first.append(keys.isdisjoint(seen))
            seen |= keys
        is_first = np.array(first, np.bool_)
        tables.merge("recordings", waiting.filter(is_first), _SAME, later)
        waiting = waiting.filter(~is_first)
