"""Reads and writes the Delta tables of a dataset.

deltalake manages their logs. pyarrow reads and writes the Parquet files, because it alone checks their pages (CRC-32).

A dataset may be hostile: files outside a table are refused, and the sizes that a file states are checked before its
rows are read.
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
    RECORDING_TABLES,
    TABLES,
    arrow,
    description,
    schema_of,
)

if TYPE_CHECKING:
    import pyarrow

PartitionValues = tuple[str | None, ...]
"""Values of a table's partition columns, in their order; None for null."""
Result = TypeVar("Result")
_MAX_TRIES = 200
"""Attempts to change a table; one fails if another writer commits first."""
# of new tables: commits between summaries of the log, and how long its entries are kept
_SETTINGS = {"delta.checkpointInterval": "20", "delta.logRetentionDuration": "interval 1 days"}
_ROW_GROUP_SIZE = 1 << 17


def _deltalake() -> ModuleType:
    arrow()
    try:
        return import_module("deltalake")
    except ModuleNotFoundError:
        raise OptionError("datasets need deltalake: pip install 'perf2x[fleet]'") from None


def new_attempt() -> str:
    """Return a unique id of one task's rows; ids sort by time."""
    return f"{time.time_ns():016x}{os.urandom(8).hex()}"


def attempt_time_ns(attempt: str) -> int:
    """Return when an attempt began, in nanoseconds since the epoch; 0 for ids of another form."""
    return int(attempt[:16], 16) if re.fullmatch("[0-9a-f]{32}", attempt) else 0


class DataFile(Frozen):
    """Path of a data file in its table, size in bytes, and values of the partition columns."""

    path: str
    size: int
    partition: Mapping[str, str | None]


class DeltaTables:
    """The tables of the dataset in a folder or at a URL."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") if is_address(root) else str(Path(root))
        self.options = _storage_options(root)

    def address(self, table: str) -> str:
        """Return the path or URL of a table."""
        return f"{self.root}/{table}"

    def open(self, table: str) -> Any:
        """Return the current state of a table, as a deltalake.DeltaTable; None if the table does not exist.

        Raises FormatError for another schema version, or features of Delta that perf2x does not read.
        """
        module, address = _deltalake(), self.address(table)
        if not is_address(address) and not Path(address, "_delta_log").is_dir():
            return None
        with _errors_in_one_sentence(address):
            try:
                opened = module.DeltaTable(address, storage_options=self.options)
            except module.exceptions.TableNotFoundError:
                return None
            text = opened.metadata().description
            if text != description(table):
                raise FormatError(
                    f"{address}: {text or 'not part of a dataset'}; this perf2x reads {description(table)}"
                )
            if opened.protocol().min_reader_version > 1:
                raise FormatError(f"{address}: it has features of Delta that perf2x does not read (deletion vectors?)")
        return opened

    def require(self, table: str) -> Any:
        """Open a table. Raises FormatError if it does not exist."""
        opened = self.open(table)
        if opened is None:
            missing = f"not a dataset: it has no table of {table} (docs/parquet.md)"
            why = (
                "no recordings yet" if table == TABLES[-1] and _was_interrupted(Path(self.address(table))) else missing
            )
            raise FormatError(f"{self.root}: {why}")
        return opened

    def make(self, partitions: Sequence[str]) -> tuple[str, ...]:
        """Create the tables of the dataset that do not exist; return its partition columns: tags, then the day.

        Raises SettingError if an existing dataset has other ones, or a tag has the name of a column; OutputError if the
        dataset cannot be written.
        """
        module, keys = _deltalake(), (*(key for key in partitions if key != DATE), DATE)
        reserved = [key for key in keys[:-1] if any(key in COLUMNS[table] for table in RECORDING_TABLES)]
        if reserved:
            raise SettingError("", "partition", f" {reserved[0]}: tables have a column of this name")
        for table in reversed(TABLES):
            opened = self.open(table)
            if opened is None:
                columns = list(keys) if table in RECORDING_TABLES else []
                with _errors_in_one_sentence(self.address(table), OutputError):
                    if not is_address(self.root):
                        Path(self.address(table)).mkdir(parents=True, exist_ok=True)
                    module.DeltaTable.create(
                        self.address(table), schema_of(table, tuple(columns)), "ignore", columns, name=table,
                        description=description(table), storage_options=self.options,
                        configuration={**_SETTINGS, "delta.dataSkippingStatsColumns": KEY[0] if not columns
                                       else "recording"},
                    )  # fmt: skip
            if table == "recordings":
                existing = partition_columns(self.require(table))
                if partitions and existing != keys:
                    raise SettingError(
                        f"{self.root}: partitioned by {', '.join(existing)}; ",
                        "partition",
                        f" asks for {', '.join(keys)}",
                    )
                keys = existing
        return keys

    def files(self, opened: Any) -> list[DataFile]:
        """Return the data files of an open table, sorted by path."""
        columns = partition_columns(opened)
        with _errors_in_one_sentence(opened.table_uri):
            pa = arrow()
            actions = pa.RecordBatchReader.from_stream(opened.get_add_actions(flatten=True))  # pa.table imports pandas
            files = [
                DataFile(unquote(row["path"]), row["size_bytes"], {key: row.get(f"partition.{key}") for key in columns})
                for row in actions.read_all().to_pylist()
            ]
            if any(".." in PurePath(file.path).parts for file in files):
                raise pa.ArrowInvalid("one of its files lies outside it")
        return sorted(files, key=lambda file: file.path)

    def read(self, table: str, opened: Any, files: Sequence[DataFile], columns: Sequence[str] = ()) -> "pyarrow.Table":
        """Read ``columns`` of the rows of some files, all columns if none are named; strings are dictionary-encoded.

        Raises FormatError for files that are damaged, or would take more memory than their size allows.
        """
        address, source = self.address(table), self.scan(table, opened, files)
        with _errors_in_one_sentence(address):
            # a single thread takes a fifth less CPU time, and other threads read other tables meanwhile
            rows = source.to_table(list(columns or source.schema.names), use_threads=False)
            damaged = [field.name for field in rows.schema if not field.nullable and rows[field.name].null_count]
            if damaged:
                raise arrow().ArrowInvalid(f"values are missing in {', '.join(damaged)}")
            rows = rows.unify_dictionaries().combine_chunks()
            _check_decoded_size(address, rows, sum(file.size for file in files))
            return rows

    def scan(self, table: str, opened: Any, files: Sequence[DataFile]) -> Any:
        """Return rows as a pyarrow dataset, which reads on demand; strings are dictionary-encoded.

        Raises FormatError for a file that lacks a column, which pyarrow would fill with nulls.
        """
        module, pa, address = import_module("pyarrow.dataset"), arrow(), self.address(table)
        with _errors_in_one_sentence(address):
            schema, filesystem = schema_of(table, partition_columns(opened)), self._reading_filesystem(address)
            string_names = [
                field.name for field in schema if field.name in COLUMNS[table] and field.type == pa.string()
            ]
            file_format = module.ParquetFileFormat(
                read_options=module.ParquetReadOptions(dictionary_columns=string_names),
                default_fragment_scan_options=module.ParquetFragmentScanOptions(
                    page_checksum_verification=True, pre_buffer=False
                ),
            )
            encoded = pa.dictionary(pa.int32(), pa.string())
            read_schema = pa.schema(
                [field.with_type(encoded) if field.name in string_names else field for field in schema]
            )
            fragments = []
            for file in files:
                partition = _expression(tuple(file.partition.items()))
                fragment = file_format.make_fragment(file.path, filesystem, partition)
                _check_metadata(table, address, file, fragment.metadata)
                fragments.append(fragment)
            return module.FileSystemDataset(fragments, read_schema, file_format, filesystem)

    def _reading_filesystem(self, address: str) -> Any:
        """Folders are read by pyarrow's own filesystem, which takes half the time of deltalake's."""
        fs = import_module("pyarrow.fs")
        return self._filesystem(address) if is_address(address) else fs.SubTreeFileSystem(address, fs.LocalFileSystem())

    def _filesystem(self, address: str) -> Any:
        handler = import_module("deltalake.fs").DeltaStorageHandler
        return import_module("pyarrow.fs").PyFileSystem(handler(address, self.options))

    def append(self, table: str, rows: "Mapping[PartitionValues, pyarrow.Table]", attempt: str) -> None:
        """Add rows by partition in one commit, a new file for each. Raises OutputError if writing fails."""
        module, parquet = _deltalake(), import_module("pyarrow.parquet")
        opened = self.require(table)
        columns, filesystem, actions = partition_columns(opened), self._filesystem(self.address(table)), []
        add = import_module("deltalake.transaction").AddAction
        with _errors_in_one_sentence(self.address(table), OutputError):
            for parts, rows_of_file in rows.items():
                path = "/".join([*map(_folder, columns, parts), f"{attempt}-{os.urandom(4).hex()}.parquet"])
                with filesystem.open_output_stream(path) as out:
                    # Snappy: with zstd, many small columns take twice the time to read. No statistics: they have no
                    # checksum, so damaged ones would make a reader skip rows.
                    parquet.write_table(
                        rows_of_file,
                        out,
                        write_page_checksum=True,
                        row_group_size=_ROW_GROUP_SIZE,
                        write_statistics=False,
                    )
                    size = out.tell()
                actions.append(add(path, size, dict(zip(columns, parts, strict=True)), time.time_ns() // 10**6, True,
                                   _stats(rows_of_file)))  # fmt: skip
            properties = module.CommitProperties(max_commit_retries=_MAX_TRIES)
            opened.create_write_transaction(
                actions, "append", opened.schema(), list(columns), commit_properties=properties
            )

    def change(self, table: str, act: Callable[[Any], Result]) -> Result:
        """Return the result of ``act``, which changes the open table that it gets.

        After a conflict with another writer, ``act`` is called again. Raises OutputError if it fails, or after too many
        conflicts.
        """
        conflict = _deltalake().exceptions.CommitFailedError
        for number in range(_MAX_TRIES):
            with _errors_in_one_sentence(self.address(table), OutputError), contextlib.suppress(conflict):
                return act(self.require(table))
            time.sleep(min(0.01 * (number + 1), 0.5))
        raise OutputError(f"cannot write {self.address(table)}: other commands keep changing it")

    def merge(self, table: str, rows: "pyarrow.Table", is_same: str, replaces: str) -> None:
        """Add rows to a table, or replace rows of the table by them.

        ``is_same`` and ``replaces`` are SQL conditions on a new row ``s`` and a row ``t`` of the table. A new row is
        added if no ``t`` is the same; otherwise it replaces ``t`` if ``replaces`` holds. Raises OutputError if writing
        fails.
        """

        def act(opened: Any) -> None:
            merger = opened.merge(rows, is_same, source_alias="s", target_alias="t", **no_retries())
            merger.when_matched_update_all(replaces).when_not_matched_insert_all().execute()

        self.change(table, act)


def no_retries() -> dict[str, Any]:
    """Return arguments that keep deltalake from retrying, because ``DeltaTables.change`` retries."""
    return {"commit_properties": _deltalake().CommitProperties(max_commit_retries=0)}


def _was_interrupted(folder: Path) -> bool:
    """Return whether the folder is of a command that was killed before its first commit."""
    return folder.is_dir() and {entry.name for entry in folder.iterdir()} <= {"_delta_log"}


def partition_columns(opened: Any) -> tuple[str, ...]:
    """Return the partition columns of an open table."""
    return tuple(opened.metadata().partition_columns)


@lru_cache
def _expression(parts: tuple[tuple[str, str | None], ...]) -> Any:
    """Cached, because making an expression takes half a millisecond."""
    module = import_module("pyarrow.dataset")
    conditions = (
        module.field(key) == value if value is not None else module.field(key).is_null() for key, value in parts
    )
    return reduce(and_, conditions, module.scalar(True))


def _check_metadata(table: str, address: str, file: DataFile, metadata: Any) -> None:
    """Raises FormatError if the decompressed rows would take more memory than the file's size allows.

    Raises ArrowInvalid if the file lacks a column.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    limit = memory_limit(file.size)
    bytes_of_rows = sum(group.total_byte_size for group in groups) + metadata.num_rows
    if bytes_of_rows > limit or any(group.total_byte_size < 0 for group in groups):
        raise FormatError(*too_large(f"{address}/{file.path}: ", file.size, limit))
    if missing := COLUMNS[table].keys() - set(metadata.schema.to_arrow_schema().names):
        raise arrow().ArrowInvalid(f"{file.path} has no {', '.join(sorted(missing))}")


def _check_decoded_size(path: str, rows: "pyarrow.Table", size: int) -> None:
    """Raises FormatError if dictionary-encoded strings would take too much memory when repeated in each row."""
    compute: Any = import_module("pyarrow.compute")
    rows.validate(full=True)
    limit = memory_limit(size)
    chunks = (chunk for column in rows.columns for chunk in column.chunks if arrow().types.is_dictionary(column.type))
    lengths = (compute.binary_length(chunk.dictionary).take(chunk.indices) for chunk in chunks)
    if sum(compute.sum(length).as_py() or 0 for length in lengths) > limit:
        raise FormatError(*too_large(f"{path}: ", size, limit))


def _folder(column: str, value: str | None) -> str:
    """Unsafe characters may be replaced, because readers take the value from the log."""
    return re.sub(r"[^\w.=-]", "_", f"{column}={value or '__HIVE_DEFAULT_PARTITION__'}"[:100], flags=re.ASCII)


def _stats(rows: "pyarrow.Table") -> str:
    key = rows.column_names[0]
    limits = import_module("pyarrow.compute").min_max(rows[key]).as_py()
    return json.encode(
        {"numRecords": len(rows), "minValues": {key: limits["min"]}, "maxValues": {key: limits["max"]},
         "nullCount": {key: 0}}
    ).decode()  # fmt: skip


def _storage_options(root: str) -> dict[str, str] | None:
    """Allow an endpoint without TLS, such as a local MinIO: the client does not read this from the environment."""
    if not is_address(root):
        return None
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    return {"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http://") else {}


@contextlib.contextmanager
def _errors_in_one_sentence(address: str, kind: type[OutputError] | type[FormatError] = FormatError) -> Iterator[None]:
    """Turn errors of deltalake and pyarrow in the block into an error of ``kind``, whose message is one sentence.

    Conflicts of commits stay as they are; pyarrow's lack of memory becomes a MemoryError.
    """
    module, pa = _deltalake(), arrow()
    try:
        yield
    except module.exceptions.CommitFailedError:
        raise
    except pa.ArrowMemoryError as error:
        raise MemoryError(str(error)) from None
    except (module.exceptions.DeltaError, pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        text = " ".join(str(error).split())[:500] or type(error).__name__
        raise kind(
            f"cannot write {address}: {text}" if kind is OutputError else f"{address}: damaged: {text}"
        ) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic in deltalake's Rust code is not an Exception
            raise
        raise kind(f"{address}: damaged: {str(error)[:500]}") from None
