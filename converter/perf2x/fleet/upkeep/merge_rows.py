"""Puts rows of recordings together: one file for each table that knows recordings, sorted by them.

Rows that all recordings share, nodes, places and names of places: each once, out of any number of files.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.base.columnar.arrays import Bools
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import FormatError
from perf2x.fleet.upkeep.journal import Changes, staged
from perf2x.fleet.upkeep.row_files import RecordingRow, RowFile
from perf2x.storage.dataset.content_ids import columns_at, distinct_ids, id_halves, text_id
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import PARTITIONED, SUFFIX, arrow, schema_of
from perf2x.storage.dataset.names.known_lines import of_one_namer
from perf2x.storage.dataset.parquet_files import id_rows, numbers, read_stored
from perf2x.storage.dataset.read.read_dataset import rows_with
from perf2x.storage.dataset.write.write_recording import MERGED, recording_of, write_file

if TYPE_CHECKING:
    import pyarrow

SHARED = ("nodes", "places", "lines")
_LEAST = 1 << 16
"""Rows that wait at least before they are put together."""
_ROWS_OF_SHARED = 1 << 22
"""Rows of a file at most."""

Keep = Callable[["pyarrow.Table"], Bools]
"""(rows,) which of a table's rows to keep."""


def shared_names(storage: Storage, table: str, known: frozenset[bytes]) -> list[str]:
    """Files of a table but for those of recordings without a row, which may be on their way."""
    names = [file.name for file in storage.files(table)]
    return [name for name in names if (recording_of(name) or b"") in known or recording_of(name) is None]


def fold(storage: Storage, table: str, names: Iterable[str], keep: Keep | None = None) -> "pyarrow.Table":
    """Read files of a table one by one, and put equal rows together: memory follows what is distinct.

    FormatError when equal ids have different contents.
    """
    total, waiting, count = schema_of(table).empty_table(), list["pyarrow.Table"](), 0
    for name in names:
        rows = read_stored(storage, name, table)
        rows = rows if keep is None else rows.filter(arrow().array(keep(rows)))
        waiting.append(rows)
        count += len(rows)
        if count >= max(_LEAST, len(total)):
            total, waiting, count = distinct_rows(storage, table, [total, *waiting]), [], 0
    return distinct_rows(storage, table, [total, *waiting])


def distinct_rows(storage: Storage, table: str, parts: "Sequence[pyarrow.Table]") -> "pyarrow.Table":
    """Return the distinct rows of tables, sorted as the schema says."""
    rows = arrow().concat_tables(parts).combine_chunks()
    try:
        return _DISTINCT[table](rows)
    except FormatError as error:
        raise FormatError(f"{storage.path(table)}: damaged: {error}") from None


def _nodes(rows: "pyarrow.Table") -> "pyarrow.Table":
    columns = [id_rows(rows, name) for name in ("parent_id", "place_id")]
    return rows.take(distinct_ids(id_rows(rows, "node_id"), columns_at(*columns)))


def _places(rows: "pyarrow.Table") -> "pyarrow.Table":
    """One row a place; of several names of its file the first in their order."""
    rows = rows.sort_by([("file", "ascending")]).combine_chunks()
    columns = [id_rows(rows, "object_id"), *(numbers(rows, name) for name in ("file_offset", "is_return", "variant"))]
    kept = distinct_ids(id_rows(rows, "place_id"), columns_at(*columns))
    order = [("build_id", "ascending"), ("file", "ascending"), ("file_offset", "ascending")]
    return rows.take(kept).sort_by(order)


def _lines(rows: "pyarrow.Table") -> "pyarrow.Table":
    """Rows of one namer of each place, as readers choose it."""
    _, place = group_rows(id_halves(id_rows(rows, "place_id")))
    return rows.take(of_one_namer(rows, place))


_DISTINCT = {"nodes": _nodes, "places": _places, "lines": _lines}


def write_shared(storage: Storage, table: str, rows: "pyarrow.Table") -> Iterator[str]:
    """Write new files of rows, which wait for their list; yields their names."""
    for start in range(0, len(rows), _ROWS_OF_SHARED):
        part = rows.slice(start, _ROWS_OF_SHARED)
        first = schema_of(table).names[0]
        ident = text_id("merged", table, id_rows(part.combine_chunks(), first).tobytes())
        name = f"{table}/{MERGED}{ident.hex()}{SUFFIX}"
        write_file(storage, staged(name), table, [part])
        yield name


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
