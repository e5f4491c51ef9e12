"""Reads and writes the Delta tables of a dataset: deltalake manages the log of each table, pyarrow its data files.

pyarrow writes and verifies the checksums of pages (CRC-32); deltalake's own writer and DuckDB do not.

A dataset may be hostile: files outside a table are refused, and the sizes that a data file states are checked before
its rows are read.
"""

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from importlib import import_module
from operator import and_
from pathlib import Path, PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from msgspec import json

from perf2x.base.files.remote_files import is_address
from perf2x.base.files.unpack_limit import memory_limit, too_large
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import FormatError, OptionError, OutputError, SettingError
from perf2x.sources.dataset.dataset_schema import (
    COLUMNS,
    DATE,
    KEY,
    OF_RECORDINGS,
    TABLES,
    arrow,
    description,
    schema_of,
)

if TYPE_CHECKING:
    import pyarrow

Parts = tuple[str | None, ...]
"""Values of the partition columns, in their order; None for null."""
Made = TypeVar("Made")
_TRIES = 200
"""How often a change of a table is tried: an attempt fails if another writer commits first."""
_SETTINGS = {"delta.checkpointInterval": "20", "delta.logRetentionDuration": "interval 1 days"}
_ROWS_OF_GROUP = 1 << 17
"""Maximum number of rows in a row group of a Parquet file."""


def _deltalake() -> ModuleType:
    """Import deltalake. Raises OptionError with installation instructions if it is missing."""
    arrow()
    try:
        return import_module("deltalake")
    except ModuleNotFoundError:
        raise OptionError("datasets need deltalake: pip install 'perf2x[fleet]'") from None


def new_attempt() -> str:
    """Return a unique id for what one task writes; later ids sort after earlier ones."""
    return f"{time.time_ns():016x}{os.urandom(8).hex()}"


def written_ns(attempt: str) -> int:
    """Return when an attempt was made, in nanoseconds since the epoch; 0 for unknown ids."""
    return int(attempt[:16], 16) if re.fullmatch("[0-9a-f]{32}", attempt) else 0


class DataFile(Frozen):
    """A data file of a table."""

    path: str
    size: int
    parts: Mapping[str, str | None]


class DeltaTables:
    """The tables below a folder or a URL."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") if is_address(root) else str(Path(root))
        self.options = _storage_options(root)

    def place(self, table: str) -> str:
        """Return the address of a table."""
        return f"{self.root}/{table}"

    def open(self, table: str) -> Any:
        """Return the table's current state, None if it does not exist.

        Raises FormatError if the table has another schema version, or features of Delta that perf2x does not read.
        """
        module, place = _deltalake(), self.place(table)
        if not is_address(place) and not Path(place, "_delta_log").is_dir():
            return None
        with _in_one_sentence(place):
            try:
                found = module.DeltaTable(place, storage_options=self.options)
            except module.exceptions.TableNotFoundError:
                return None
            text = found.metadata().description
            if text != description(table):
                raise FormatError(f"{place}: {text or 'not part of a dataset'}; this perf2x reads {description(table)}")
            if found.protocol().min_reader_version > 1:
                raise FormatError(f"{place}: it has features of Delta that perf2x does not read (deletion vectors?)")
        return found

    def require(self, table: str) -> Any:
        """Return the table's current state. Raises FormatError if it does not exist."""
        found = self.open(table)
        if found is None:
            missing = f"not a dataset: it has no table of {table} (docs/parquet.md)"
            why = "no recordings yet" if table == TABLES[-1] and _is_begun(Path(self.place(table))) else missing
            raise FormatError(f"{self.root}: {why}")
        return found

    def make(self, partitions: Sequence[str]) -> tuple[str, ...]:
        """Create the missing tables of the dataset, and return its partition columns.

        A new dataset is partitioned by the tags ``partitions``, then by the day.

        Raises SettingError if an existing dataset is partitioned differently, or a tag has the name of a column;
        OutputError if the dataset cannot be written.
        """
        module, keys = _deltalake(), (*(key for key in partitions if key != DATE), DATE)
        kept = [key for key in keys[:-1] if any(key in COLUMNS[table] for table in OF_RECORDINGS)]
        if kept:
            raise SettingError("", "partition", f" {kept[0]}: tables have a column of this name")
        for table in reversed(TABLES):
            found = self.open(table)
            if found is None:
                columns = list(keys) if table in OF_RECORDINGS else []
                with _in_one_sentence(self.place(table), OutputError):
                    if not is_address(self.root):
                        Path(self.place(table)).mkdir(parents=True, exist_ok=True)
                    module.DeltaTable.create(
                        self.place(table), schema_of(table, tuple(columns)), "ignore", columns, name=table,
                        description=description(table), storage_options=self.options,
                        configuration={**_SETTINGS, "delta.dataSkippingStatsColumns": KEY[0] if not columns
                                       else "recording"},
                    )  # fmt: skip
            if table == "recordings":
                own = partition_of(self.require(table))
                if partitions and own != keys:
                    raise SettingError(
                        f"{self.root}: partitioned by {', '.join(own)}; ", "partition", f" asks for {', '.join(keys)}"
                    )
                keys = own
        return keys

    def files(self, found: Any) -> list[DataFile]:
        """Return the files of an open table, by name."""
        columns = partition_of(found)
        with _in_one_sentence(found.table_uri):
            pa = arrow()
            actions = pa.RecordBatchReader.from_stream(found.get_add_actions(flatten=True))  # pa.table imports pandas
            files = [
                DataFile(unquote(row["path"]), row["size_bytes"], {key: row.get(f"partition.{key}") for key in columns})
                for row in actions.read_all().to_pylist()
            ]
            if any(".." in PurePath(file.path).parts for file in files):
                raise pa.ArrowInvalid("one of its files lies outside it")
        return sorted(files, key=lambda file: file.path)

    def read(self, table: str, found: Any, files: Sequence[DataFile], columns: Sequence[str] = ()) -> "pyarrow.Table":
        """Read the rows of some files of a table; text columns are dictionary-encoded.

        ``columns`` names the columns to read, which may be partition columns; if it is empty, all are read.

        Raises FormatError for files that are damaged or would take more memory than their size allows.
        """
        place, source = self.place(table), self.scan(table, found, files)
        with _in_one_sentence(place):
            # a single thread needs a fifth less processor time, and the other tables are read meanwhile
            rows = source.to_table(list(columns or source.schema.names), use_threads=False)
            holes = [field.name for field in rows.schema if not field.nullable and rows[field.name].null_count]
            if holes:
                raise arrow().ArrowInvalid(f"values are missing in {', '.join(holes)}")
            rows = rows.unify_dictionaries().combine_chunks()
            _check_texts(place, rows, sum(file.size for file in files))
            return rows

    def scan(self, table: str, found: Any, files: Sequence[DataFile]) -> Any:
        """Return the rows of some files as a pyarrow dataset, which reads on demand; texts are encoded as by ``read``.

        Raises FormatError for a file that lacks a column of the table: pyarrow would fill that column with nulls.
        """
        module, pa, place = import_module("pyarrow.dataset"), arrow(), self.place(table)
        with _in_one_sentence(place):
            schema, store = schema_of(table, partition_of(found)), self._readable(place)
            texts = [field.name for field in schema if field.name in COLUMNS[table] and field.type == pa.string()]
            form = module.ParquetFileFormat(
                read_options=module.ParquetReadOptions(dictionary_columns=texts),
                default_fragment_scan_options=module.ParquetFragmentScanOptions(
                    page_checksum_verification=True, pre_buffer=False
                ),
            )
            coded = pa.dictionary(pa.int32(), pa.string())
            shown = pa.schema([field.with_type(coded) if field.name in texts else field for field in schema])
            fragments = []
            for file in files:
                piece = form.make_fragment(file.path, store, _expression(tuple(file.parts.items())))
                _check_file(table, place, file, piece.metadata)
                fragments.append(piece)
            return module.FileSystemDataset(fragments, shown, form, store)

    def _readable(self, place: str) -> Any:
        """Return the file system for reading a table: for a folder pyarrow's own, which is twice as fast."""
        fs = import_module("pyarrow.fs")
        return self._stored(place) if is_address(place) else fs.SubTreeFileSystem(place, fs.LocalFileSystem())

    def _stored(self, place: str) -> Any:
        handler = import_module("deltalake.fs").DeltaStorageHandler
        return import_module("pyarrow.fs").PyFileSystem(handler(place, self.options))

    def append(self, table: str, rows: "Mapping[Parts, pyarrow.Table]", attempt: str) -> None:
        """Add rows to a table, a file per partition, in one commit. Raises OutputError if that fails."""
        module, parquet = _deltalake(), import_module("pyarrow.parquet")
        found = self.require(table)
        columns, store, actions = partition_of(found), self._stored(self.place(table)), []
        add = import_module("deltalake.transaction").AddAction
        with _in_one_sentence(self.place(table), OutputError):
            for parts, each in rows.items():
                path = "/".join([*map(_folder, columns, parts), f"{attempt}-{os.urandom(4).hex()}.parquet"])
                with store.open_output_stream(path) as out:
                    # Snappy (the default) as in deltalake: with zstd, reading many small columns takes twice the time.
                    # No statistics: they have no checksum, so damaged ones would make a reader skip rows. The log has
                    # statistics (_stats).
                    parquet.write_table(
                        each, out, write_page_checksum=True, row_group_size=_ROWS_OF_GROUP, write_statistics=False
                    )
                    size = out.tell()
                actions.append(add(path, size, dict(zip(columns, parts, strict=True)), time.time_ns() // 10**6, True,
                                   _stats(each)))  # fmt: skip
            properties = module.CommitProperties(max_commit_retries=_TRIES)
            found.create_write_transaction(
                actions, "append", found.schema(), list(columns), commit_properties=properties
            )

    def change(self, table: str, act: Callable[[Any], Made]) -> Made:
        """Return the result of ``act``, which changes a table; call it once more after each conflict with a writer.

        Raises OutputError if ``act`` fails, or after too many conflicts.
        """
        conflict = _deltalake().exceptions.CommitFailedError
        for number in range(_TRIES):
            with _in_one_sentence(self.place(table), OutputError), contextlib.suppress(conflict):
                return act(self.require(table))
            time.sleep(min(0.01 * (number + 1), 0.5))
        raise OutputError(f"cannot write {self.place(table)}: other commands keep changing it")

    def merge(self, table: str, rows: "pyarrow.Table", same: str, later: str) -> None:
        """Add rows to a table, or replace rows of the table by them.

        ``same`` and ``later`` are SQL conditions on a new row ``s`` and a row ``t`` of the table. A new row that is not
        the ``same`` as any ``t`` is added; otherwise it replaces that ``t`` if ``later`` holds.

        Raises OutputError if that fails.
        """

        def act(found: Any) -> None:
            merger = found.merge(rows, same, source_alias="s", target_alias="t", **writing())
            merger.when_matched_update_all(later).when_not_matched_insert_all().execute()

        self.change(table, act)


def writing() -> dict[str, Any]:
    """Return the settings of every change by deltalake: one attempt only, because ``DeltaTables.change`` retries."""
    return {"commit_properties": _deltalake().CommitProperties(max_commit_retries=0)}


def _is_begun(folder: Path) -> bool:
    """Return whether a folder was left by a command that was killed before the first commit to a table."""
    return folder.is_dir() and {one.name for one in folder.iterdir()} <= {"_delta_log"}


def partition_of(found: Any) -> tuple[str, ...]:
    """Return the partition columns of an open table."""
    return tuple(found.metadata().partition_columns)


@lru_cache
def _expression(parts: tuple[tuple[str, str | None], ...]) -> Any:
    """Return partition values as a pyarrow expression; cached, because making one takes half a millisecond."""
    module = import_module("pyarrow.dataset")
    each = (module.field(key) == value if value is not None else module.field(key).is_null() for key, value in parts)
    return reduce(and_, each, module.scalar(True))


def _check_file(table: str, place: str, file: DataFile, metadata: Any) -> None:
    """Check a data file before its rows are read.

    Raises FormatError if the rows would take more memory than the file's size allows, ArrowInvalid if a column is
    missing.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    limit = memory_limit(file.size)
    bytes_of_rows = sum(group.total_byte_size for group in groups) + metadata.num_rows
    if bytes_of_rows > limit or any(group.total_byte_size < 0 for group in groups):
        raise FormatError(*too_large(f"{place}/{file.path}: ", file.size, limit))
    if missing := COLUMNS[table].keys() - set(metadata.schema.to_arrow_schema().names):
        raise arrow().ArrowInvalid(f"{file.path} has no {', '.join(sorted(missing))}")


def _check_texts(path: str, rows: "pyarrow.Table", size: int) -> None:
    """Check the texts of rows that were read from files of ``size`` bytes.

    Raises FormatError if all texts, written out in each row, would take more memory than the size allows; ArrowInvalid
    for texts that are not UTF-8.
    """
    compute: Any = import_module("pyarrow.compute")
    rows.validate(full=True)
    limit = memory_limit(size)
    chunks = (chunk for column in rows.columns for chunk in column.chunks if arrow().types.is_dictionary(column.type))
    lengths = (compute.binary_length(chunk.dictionary).take(chunk.indices) for chunk in chunks)
    if sum(compute.sum(length).as_py() or 0 for length in lengths) > limit:
        raise FormatError(*too_large(f"{path}: ", size, limit))


def _folder(column: str, value: str | None) -> str:
    """Return the folder name of a partition: readable but inexact, because readers take the value from the log."""
    return re.sub(r"[^\w.=-]", "_", f"{column}={value or '__HIVE_DEFAULT_PARTITION__'}"[:100], flags=re.ASCII)


def _stats(rows: "pyarrow.Table") -> str:
    """Return the log's statistics of a new file as JSON: its number of rows and the limits of its first column."""
    key = rows.column_names[0]
    ends = import_module("pyarrow.compute").min_max(rows[key]).as_py()
    return json.encode(
        {"numRecords": len(rows), "minValues": {key: ends["min"]}, "maxValues": {key: ends["max"]},
         "nullCount": {key: 0}}
    ).decode()  # fmt: skip


def _storage_options(root: str) -> dict[str, str] | None:
    """Return settings of an object store that its client does not take from the environment; None for a folder."""
    if not is_address(root):
        return None
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    return {"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http://") else {}


@contextlib.contextmanager
def _in_one_sentence(place: str, kind: type[OutputError] | type[FormatError] = FormatError) -> Iterator[None]:
    """Convert errors of deltalake and pyarrow to a ``kind`` with one sentence; commit conflicts pass through."""
    module, pa = _deltalake(), arrow()
    try:
        yield
    except module.exceptions.CommitFailedError:
        raise
    except pa.ArrowMemoryError as error:
        raise MemoryError(str(error)) from None
    except (module.exceptions.DeltaError, pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        text = " ".join(str(error).split())[:500] or type(error).__name__
        raise kind(f"cannot write {place}: {text}" if kind is OutputError else f"{place}: damaged: {text}") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic in deltalake's Rust code is not an Exception
            raise
        raise kind(f"{place}: damaged: {str(error)[:500]}") from None
