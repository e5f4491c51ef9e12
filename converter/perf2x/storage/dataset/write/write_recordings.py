"""Recordings → a dataset: rows of many are written together; nobody sees them until the table of recordings has theirs.

``attempt`` tells the rows of one writer from those of others, killed ones included: rows count whose recording and
attempt are in the table of recordings.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from perf2x.model.profile.place_names import PlaceNames
from perf2x.storage.dataset.dataset_schema import DATE, OF_RECORDINGS, arrow
from perf2x.storage.dataset.delta_tables import DeltaTables, Parts, new_attempt
from perf2x.storage.dataset.write.recording_to_store import StoredRecording
from perf2x.storage.dataset.write.table_rows import recording_tables

if TYPE_CHECKING:
    import pyarrow

TOGETHER = 64
"""Recordings that are written together."""
_BYTES = 1 << 28
_SAME = """t.recording = s.recording OR (t.source = s.source AND t.error IS NOT NULL)
OR (t.session = s.session AND (t.unfinished OR s.unfinished))"""
_LATER = "t.error IS NOT NULL OR (t.unfinished AND (NOT s.unfinished OR s.samples > t.samples))"
"""Rows of one recording: by content, by name after an error, by its first records while it is unfinished."""


class RowsOfRecordings:
    """Rows of recordings that are written together."""

    def __init__(self, tables: DeltaTables, partition: tuple[str, ...]) -> None:
        self._tables, self._partition = tables, partition
        self._attempt = new_attempt()
        self._rows: dict[str, dict[Parts, list[Any]]] = {table: {} for table in OF_RECORDINGS}
        self._size = 0

    def add(self, stored: StoredRecording, names: PlaceNames | None = None) -> None:
        """Take one more; FormatError for one that tables cannot hold, and none of its rows is taken."""
        made = list(recording_tables(stored, self._attempt, names))
        parts = _partition_values(stored, self._partition)
        for table, rows in made:
            if len(rows):
                self._rows[table].setdefault(parts, []).append(rows)
                self._size += rows.nbytes
        if self._size > _BYTES:
            self._write()

    def finish(self) -> "pyarrow.Table | None":
        """Write what is left, and return the rows of the table of recordings, which the caller commits."""
        self._write()
        found = [
            _with_parts(rows, self._partition, parts) for parts, many in self._rows["recordings"].items()
            for rows in many
        ]  # fmt: skip
        return arrow().concat_tables(found) if found else None

    def _write(self) -> None:
        for table in OF_RECORDINGS[:-1]:
            taken, self._rows[table] = self._rows[table], {}
            if taken:
                whole = {parts: arrow().concat_tables(many).combine_chunks() for parts, many in taken.items()}
                self._tables.append(table, whole, self._attempt)
        self._size = 0


def _with_parts(rows: "pyarrow.Table", partition: tuple[str, ...], parts: Parts) -> "pyarrow.Table":
    for key, value in zip(partition, parts, strict=True):
        rows = rows.append_column(key, arrow().array([value] * len(rows), arrow().string()))
    return rows


def _partition_values(stored: StoredRecording, partition: Sequence[str]) -> Parts:
    """Values of a recording in the columns that tables are partitioned by; None where it has none."""
    date = date_of(stored.profile.meta.wall_start_ns)
    return tuple(stored.tags.get(key) or (date if key == DATE else "") or None for key in partition)


def date_of(start_ns: int | None) -> str:
    """Day of a start in UTC, "" where it is unknown."""
    return datetime.fromtimestamp(start_ns // 10**9, UTC).strftime("%Y-%m-%d") if start_ns else ""


def commit_recordings(tables: DeltaTables, rows: "Sequence[pyarrow.Table]", *, replace: bool = False) -> None:
    """Make recordings part of a dataset by their rows in the table of recordings.

    What is there stays, unless it is an error, or an earlier state; ``replace``: also then. OutputError when it cannot
    be written.
    """
    later = f"t.recording = s.recording OR {_LATER}" if replace else _LATER
    for some in _rounds(rows):
        tables.merge("recordings", some, _SAME, later)


def _rounds(rows: "Sequence[pyarrow.Table]") -> "Iterator[pyarrow.Table]":
    """Yield rows in parts in which no session, and no recording, is twice: a row may have one match alone."""
    if not rows:
        return
    whole = arrow().concat_tables(rows).combine_chunks()
    named = whole.select(["unfinished", "samples", "recording", "session"]).to_pylist()
    waiting = sorted(range(len(named)), key=lambda at: (not named[at]["unfinished"], named[at]["samples"],
                                                        named[at]["recording"]), reverse=True)  # fmt: skip
    while waiting:
        seen: set[str] = set()
        parts: tuple[list[int], list[int]] = ([], [])
        for at in waiting:
            keys = {named[at]["recording"], named[at]["session"] or named[at]["recording"]}
            parts[bool(keys & seen)].append(at)
            seen |= keys
        yield whole.take(sorted(parts[0]))
        waiting = parts[1]
