"""Rows of recordings out of several files of a table, put together in the order of their recordings."""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from posixpath import dirname
from typing import TYPE_CHECKING

from perf2x.base.columnar.arrays import begins_run, flatnonzero
from perf2x.storage.dataset.content_ids import text_id
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import SUFFIX, arrow
from perf2x.storage.dataset.file_names import MERGED
from perf2x.storage.dataset.parquet_files import read_groups, texts
from perf2x.storage.dataset.table_log import DataFile
from perf2x.storage.dataset.write.write_recording import write_file

if TYPE_CHECKING:
    import pyarrow

_ROWS = 1 << 15
"""Rows of a group at least, which holds whole recordings: whoever asks for one reads little else."""
_TABLES = 64
"""Recordings whose rows wait before they are made one table."""
Change = Callable[[str, "pyarrow.Table"], "pyarrow.Table"]
"""Makes other rows of those of a recording."""


def merge_files(
    storage: Storage, table: str, files: Sequence[DataFile], without: Collection[str] = (), change: Change | None = None
) -> list[DataFile]:
    """Write one file with the rows of files of one partition; none if no row is left. Nobody sees it until its commit.

    A recording that stands in several files is taken from the first. FormatError when a file is damaged.
    """
    parts: Mapping[str, str | None] = files[0].parts
    changed = "" if change is None else "changed"
    ident = text_id("merged", table, changed, *(file.name for file in files), *sorted(without)).hex()
    rows = _recordings(storage, table, files, without, change or (lambda _, rows: rows))
    written = write_file(
        storage, table, f"{dirname(files[0].name)}/{MERGED}{ident}{SUFFIX}", _groups(rows), dict(parts)
    )
    return [written] if written.rows else []


def _recordings(
    storage: Storage, table: str, files: Sequence[DataFile], without: Collection[str], change: Change
) -> "Iterator[pyarrow.Table]":
    last = ""
    streams = [_stream(storage, table, file, number) for number, file in enumerate(files)]
    for recording, _, read in heapq.merge(*streams, key=lambda one: one[:2]):
        if recording != last and recording not in without:
            yield change(recording, read())
        last = recording


def _stream(
    storage: Storage, table: str, file: DataFile, number: int
) -> "Iterator[tuple[str, int, Callable[[], pyarrow.Table]]]":
    """Yield each recording of a file with a way to read its rows, in order; one alone is not read before its turn."""
    name = f"{table}/{file.name}"
    if file.first == file.last and file.rows:
        yield file.first, number, lambda: arrow().concat_tables(read_groups(storage, name, table))
        return
    rest: pyarrow.Table | None = None
    for rows in read_groups(storage, name, table):
        rows = rows if rest is None else arrow().concat_tables([rest, rows])
        runs = list(_runs(rows))
        for recording, run in runs[:-1]:
            yield recording, number, partial(_itself, run)
        rest = runs[-1][1] if runs else None
    if rest is not None:
        yield rest["recording"][0].as_py(), number, partial(_itself, rest)


def _itself(rows: "pyarrow.Table") -> "pyarrow.Table":
    return rows


def _runs(rows: "pyarrow.Table") -> "Iterator[tuple[str, pyarrow.Table]]":
    code, known = texts(rows, "recording")
    begins = flatnonzero(begins_run(code))
    for first, last in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
        yield known[code[first]], rows.slice(first, last - first)


def _groups(recordings: "Iterable[pyarrow.Table]") -> "Iterator[pyarrow.Table]":
    """Yield whole recordings' rows, many enough for a group."""
    waiting: list[pyarrow.Table] = []
    count = 0
    for rows in recordings:
        waiting.append(rows)
        count += len(rows)
        if len(waiting) == _TABLES or count >= _ROWS:  # many small ones take far more than their rows do
            waiting = [arrow().concat_tables(waiting).combine_chunks()]
        if count >= _ROWS:
            yield waiting[0]
            waiting, count = [], 0
    if waiting:
        yield arrow().concat_tables(waiting)


def sum_timeline(samples: "pyarrow.Table") -> "pyarrow.Table":
    """Sum the rows of a timeline that differ in time and CPU alone."""
    keys = [name for name in samples.schema.names if name not in ("value", "count", "time_ns", "cpu")]
    found = samples.group_by(keys, use_threads=False).aggregate([("value", "sum"), ("count", "sum")])
    found = found.sort_by([(name, "ascending") for name in ("event_number", "pid", "tid", "comm", "process")])
    nulls = {name: arrow().nulls(len(found), samples.schema.field(name).type) for name in ("time_ns", "cpu")}
    sums = {name: found[f"{name}_sum"] for name in ("value", "count")}
    columns = [nulls.get(name, sums.get(name, found[name] if name in keys else None)) for name in samples.schema.names]
    return arrow().table(columns, schema=samples.schema)
