"""Puts rows of recordings together: one file for each table that knows recordings, sorted by them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.fleet.upkeep.journal import Changes, staged
from perf2x.fleet.upkeep.row_files import RecordingRow, RowFile
from perf2x.storage.dataset.content_ids import text_id
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import PARTITIONED, SUFFIX, arrow, schema_of
from perf2x.storage.dataset.parquet_files import read_stored
from perf2x.storage.dataset.read.read_dataset import rows_with
from perf2x.storage.dataset.write.write_recording import MERGED, write_file

if TYPE_CHECKING:
    import pyarrow

_ROWS = {"samples": 1 << 15, "mappings": 1 << 12}
"""Rows of a group at least, which holds whole recordings: whoever asks for one reads little else."""


class Taken(Struct, frozen=True):
    """A recording that goes into a new file."""

    file: RowFile
    row: RecordingRow
    sums: bool = False
    """Its timeline is summed."""

    @property
    def keeps_times(self) -> bool:
        """Whether it is a timeline afterwards."""
        return self.row.is_timeline and not self.sums


def merge_rows(storage: Storage, folder: str, taken: Sequence[Taken]) -> str:
    """Write new files with these recordings, which wait for their list; returns their name below their tables."""
    taken = sorted(taken, key=lambda one: one.row.recording)
    ident = text_id("merged", *(one.row.recording + bytes([one.keeps_times]) for one in taken))
    name = "/".join([*([folder] if folder else []), f"{MERGED}{ident.hex()}{SUFFIX}"])
    rows = arrow().concat_tables([_recording_row(one) for one in taken])
    write_file(storage, staged(f"recordings/{name}"), "recordings", [rows])
    for table in ("samples", "mappings"):
        write_file(storage, staged(f"{table}/{name}"), table, _groups(storage, table, taken))
    return name


def replaced(files: Sequence[RowFile], names: Sequence[str]) -> Changes:
    """The change that takes ``names`` for the files, in all tables that know recordings."""
    new = tuple(f"{table}/{name}" for table in PARTITIONED for name in names)
    old = tuple(f"{table}/{file.name}" for table in PARTITIONED for file in files)
    return Changes(new, old)


def _recording_row(one: Taken) -> "pyarrow.Table":
    if not one.sums:
        return one.row.row
    at = one.row.row.schema.get_field_index("is_timeline")
    return one.row.row.set_column(at, schema_of("recordings").field(at), arrow().array([False]))


def _groups(storage: Storage, table: str, taken: Sequence[Taken]) -> "Iterator[pyarrow.Table]":
    """Yield the rows of the recordings, one after the other, a group at a time."""
    waiting, count = [schema_of(table).empty_table()], 0
    for one in taken:
        rows = _rows_of(storage, table, one)
        waiting.append(sum_timeline(rows) if one.sums and table == "samples" else rows)
        count += len(rows)
        if count >= _ROWS[table]:
            yield arrow().concat_tables(waiting)
            waiting, count = [], 0
    if waiting:
        yield arrow().concat_tables(waiting)


def _rows_of(storage: Storage, table: str, one: Taken) -> "pyarrow.Table":
    name, ident = f"{table}/{one.file.name}", one.row.recording
    if not storage.exists(name):
        return schema_of(table).empty_table()
    return rows_with(read_stored(storage, name, table, ident), ident)


def sum_timeline(samples: "pyarrow.Table") -> "pyarrow.Table":
    """Sum the rows of a timeline that differ in time and CPU alone."""
    keys = [name for name in samples.schema.names if name not in ("value", "count", "time_ns", "cpu")]
    found = samples.group_by(keys, use_threads=False).aggregate([("value", "sum"), ("count", "sum")])
    found = found.sort_by([(name, "ascending") for name in ("event_number", "pid", "tid", "comm", "process")])
    nulls = {name: arrow().nulls(len(found), samples.schema.field(name).type) for name in ("time_ns", "cpu")}
    sums = {name: found[f"{name}_sum"] for name in ("value", "count")}
    columns = [nulls.get(name, sums.get(name, found[name] if name in keys else None)) for name in samples.schema.names]
    return arrow().table(columns, schema=samples.schema)
