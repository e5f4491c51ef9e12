"""Logs of a dataset's tables, which are Delta tables: the files that a table has, and how that changes.

Readers replay a log themselves: it may be hostile, so what it says is checked, and no file outside the table is named.
deltalake commits changes: whole or not at all, beside other writers, on folders and on object stores.

The protocol: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from msgspec import DecodeError, Struct, ValidationError, field, json

from perf2x.base.errors import FormatError, OptionError, OutputError
from perf2x.base.files.operating_system import sync_folder
from perf2x.base.files.read_file import read_file
from perf2x.base.files.remote import is_address
from perf2x.storage.dataset.dataset_schema import LOG, PARTITIONED, SUFFIX, TABLES, arrow, schema_of

_VERSION = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_MOST = 1 << 28
"""Bytes of a commit."""
_SETTINGS = {"delta.checkpointInterval": "10", "delta.dataSkippingStatsColumns": "recording"}
_RETRIES = 1000
"""Other writers may commit as often before a commit gives up."""
_APP = "perf2x"
_KEPT_HOURS = 24
"""Files that are no longer part of a table are kept for so long: somebody may read them."""
_LONG = 100
"""Files that a commit replaces from which on a checkpoint is made behind it, a tenth as long for who reads the log."""
_ABSENT = ("__HIVE_DEFAULT_PARTITION__", "")


class DataFile(Struct, frozen=True):
    """A file of a table."""

    name: str
    """Its path below the table's folder, with slashes."""
    size: int
    """Bytes."""
    parts: Mapping[str, str | None]
    """Values of the columns that name folders."""
    rows: int = 0
    first: str = ""
    """The least and the greatest value of the column that rows are sorted by; both empty where nobody says."""
    last: str = ""
    modified_ns: int = 0

    def may_hold(self, key: str) -> bool:
        """Whether rows with this value of that column may be in the file."""
        return not self.last or self.first <= key <= self.last


class _Add(Struct):
    path: str
    size: int
    partition_values: dict[str, str | None] = field(name="partitionValues", default_factory=dict)
    modified: int = field(name="modificationTime", default=0)
    stats: str | None = None
    deletion_vector: object = field(name="deletionVector", default=None)


class _Stats(Struct):
    rows: int = field(name="numRecords", default=0)
    least: dict[str, object] = field(name="minValues", default_factory=dict)
    most: dict[str, object] = field(name="maxValues", default_factory=dict)


class _Remove(Struct):
    path: str


class _MetaData(Struct):
    columns: list[str] = field(name="partitionColumns", default_factory=list)


class _Protocol(Struct):
    reader: int = field(name="minReaderVersion", default=1)


class _Action(Struct):
    add: _Add | None = None
    remove: _Remove | None = None
    meta: _MetaData | None = field(name="metaData", default=None)
    protocol: _Protocol | None = None


class TableLog(Struct):
    """A table as its log has it at one moment."""

    version: int = -1
    """Number of the last commit; −1: there is no table."""
    partition: tuple[str, ...] = ()
    files: dict[str, DataFile] = field(default_factory=dict)
    """By name."""


def read_log(folder: Path) -> TableLog:
    """Replay the log of the table in ``folder``; FormatError when it is damaged, or of a kind that is not read."""
    names = [path.name for path in (folder / LOG).iterdir()] if (folder / LOG).is_dir() else []
    commits = {int(found[1]): name for name in names if (found := _VERSION.fullmatch(name))}
    checkpoints = [int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name))]
    if not commits and not checkpoints:
        return TableLog()
    log, start = TableLog(), max(checkpoints, default=-1)
    end = max([start, *commits])
    if start >= 0:
        _replay(log, folder, _checkpoint(folder / LOG / f"{start:020}.checkpoint.parquet"))
    for version in range(start + 1, end + 1):
        path = folder / LOG / f"{version:020}.json"
        if version not in commits:
            raise FormatError(f"{path}: damaged: this commit is missing")
        _replay(log, folder, _commit(path))
    log.version = end
    return log


def _commit(path: Path) -> Iterator[_Action]:
    try:
        lines = read_file(path, _MOST).splitlines()
        yield from (json.decode(line, type=_Action) for line in lines if line.strip())
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from None
    except (DecodeError, ValidationError, ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged: {error}") from None


def _checkpoint(path: Path) -> Iterator[_Action]:
    from msgspec import convert

    from perf2x.storage.dataset.parquet_files import read_checked

    found = read_checked(path, ("add", "metaData", "protocol"))
    try:
        for name in found.column_names:
            column = found[name]
            for row in column.filter(column.is_valid()).to_pylist(maps_as_pydicts="lossy"):
                yield convert({name: {key: value for key, value in row.items() if value is not None}}, _Action)
    except (ValidationError, ValueError, arrow().ArrowException) as error:
        raise FormatError(f"{path}: damaged: {error}") from None


def _replay(log: TableLog, folder: Path, actions: Iterator[_Action]) -> None:
    for action in actions:
        if action.remove is not None:
            log.files.pop(unquote(action.remove.path), None)
        if action.add is not None:
            file = _data_file(folder, action.add)
            log.files[file.name] = file
        if action.meta is not None:
            log.partition = tuple(action.meta.columns)
        if action.protocol is not None and action.protocol.reader > 1:
            raise FormatError(f"{folder}: a Delta table of version {action.protocol.reader}; perf2x reads version 1")


def _data_file(folder: Path, add: _Add) -> DataFile:
    name = unquote(add.path)
    parts = name.split("/")
    is_inside = not {"", ".", ".."} & set(parts) and not set(":\\\0") & set(name)
    if not is_inside or not name.endswith(SUFFIX) or add.deletion_vector is not None or add.size < 0:
        raise FormatError(f"{folder / LOG}: damaged: it names what is no file of this table: {name[:200]!r}")
    try:
        stats = json.decode(add.stats, type=_Stats) if add.stats else _Stats()
    except (DecodeError, ValidationError) as error:
        raise FormatError(f"{folder / LOG}: damaged: statistics of {name}: {error}") from None
    values = {key: None if value in _ABSENT else value for key, value in add.partition_values.items()}
    first, last = (next((str(value) for value in side.values()), "") for side in (stats.least, stats.most))
    return DataFile(name, add.size, values, stats.rows, first, last if first else "", add.modified * 10**6)


_first_process: list[int] = []
"""The process whose threads of deltalake live; they do not live on in its forks, and their lack ends a process."""


def check_packages() -> Any:
    """Return deltalake, before anything is written.

    OptionError where this Python has not all packages that write datasets, OutputError in a fork of a process that
    wrote one.
    """
    arrow()
    try:
        module = import_module("deltalake")
    except ImportError:
        raise OptionError("writing datasets needs deltalake: pip install 'perf2x[fleet]'") from None
    if _first_process not in ([], [os.getpid()]):
        raise OutputError("datasets cannot be written after a fork by a process that wrote one: spawn it")
    return module


def _deltalake() -> Any:
    """Return deltalake, whose threads this process has from now on."""
    module = check_packages()
    _first_process[:] = [os.getpid()]
    return module


def commit(
    root: str, table: str, partition: Sequence[str], adds: Sequence[DataFile], removes: Sequence[DataFile] = (),
    *, moves: bool = False, since: int | None = None,
) -> None:  # fmt: skip
    """Change the files of a table of the dataset at ``root``, a path or an address, all at once; made where missing.

    ``moves``: the new files have the rows of the old ones. ``since``: the version that the change was made up by; since
    then no such change may have been made. OutputError when one was, and when the table cannot be written.
    """
    if not adds and not removes:
        return
    module = _deltalake()
    place, options = _place_of(root, table), _storage_options(root)
    columns = list(partition) if table in PARTITIONED else []
    actions = [_remove_action(file, not moves) for file in removes] + [_add_action(file, not moves) for file in adds]
    try:
        found = _open_or_make(module, place, table, columns, options)
        alone = None
        if since is not None:
            found = module.DeltaTable(place, version=since, storage_options=options)
            alone = [module.Transaction(_APP, (found.transaction_version(_APP) or 0) + 1)]
        properties = module.CommitProperties(max_commit_retries=_RETRIES, app_transactions=alone)
        found.create_write_transaction(actions, "append", found.schema(), columns, commit_properties=properties)
        if len(removes) >= _LONG:
            module.DeltaTable(place, storage_options=options).create_checkpoint()
    except module.exceptions.CommitFailedError as error:
        raise OutputError(f"cannot write {place}: another command changed it meanwhile ({_sentence(error)})") from None
    except (module.exceptions.DeltaError, OSError, ValueError) as error:
        raise OutputError(f"cannot write {place}: {_sentence(error)}") from None
    if not is_address(root):
        _make_lasting(Path(place) / LOG)


def vacuum(root: str, *, orphans: bool = False) -> int:
    """Remove files that no version since yesterday has; returns their number. OutputError when that fails.

    ``orphans``: also files that never were part of a table, as kills leave them; the whole folder is listed.
    """
    module, count = _deltalake(), 0
    for table in TABLES:
        place, options = _place_of(root, table), _storage_options(root)
        try:
            if module.DeltaTable.is_deltatable(place, options):
                found = module.DeltaTable(place, storage_options=options)
                count += len(found.vacuum(_KEPT_HOURS, dry_run=False, enforce_retention_duration=False, full=orphans))
        except (module.exceptions.DeltaError, OSError, ValueError) as error:
            raise OutputError(f"cannot write {place}: {_sentence(error)}") from None
    return count


def _place_of(root: str, table: str) -> str:
    return f"{root.rstrip('/')}/{table}" if is_address(root) else str(Path(root).absolute() / table)


def _open_or_make(module: Any, place: str, table: str, columns: Sequence[str], options: Any) -> Any:
    schema = schema_of(table).remove_metadata()
    for name in columns:
        schema = schema.append(arrow().field(name, arrow().string()))
    for _ in range(_RETRIES):
        try:
            return module.DeltaTable(place, storage_options=options)
        except module.exceptions.TableNotFoundError:
            if not is_address(place):
                Path(place).mkdir(parents=True, exist_ok=True)
        try:
            return module.DeltaTable.create(
                place, schema, "error", list(columns), name=table, configuration=_SETTINGS, storage_options=options
            )
        except module.exceptions.DeltaError:  # somebody else made it just now
            if not module.DeltaTable.is_deltatable(place, options):
                raise
    raise OutputError(f"cannot write {place}: it cannot be made")


def _add_action(file: DataFile, is_new: bool) -> Any:
    stats: dict[str, object] = {"numRecords": file.rows}
    if file.last:
        stats |= {"minValues": {_key_of(file): file.first}, "maxValues": {_key_of(file): file.last},
                  "nullCount": {_key_of(file): 0}}  # fmt: skip
    action = import_module("deltalake.transaction").AddAction
    return action(
        file.name, file.size, dict(file.parts), file.modified_ns // 10**6, is_new, json.encode(stats).decode()
    )


def _key_of(file: DataFile) -> str:
    """The column that rows of a file are sorted by: symbols are of objects, all others of recordings."""
    return "recording" if file.parts else "object_id"


def _remove_action(file: DataFile, is_change: bool) -> Any:
    action = import_module("deltalake.transaction").RemoveAction
    return action(file.name, is_change, int(time.time() * 1000), file.size, dict(file.parts))


def _storage_options(root: str) -> dict[str, str] | None:
    """Settings of a store that its other client takes from the environment as they are; None for a folder."""
    if not is_address(root):
        return None
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
    return {"AWS_ALLOW_HTTP": "true"} if endpoint.startswith("http://") else {}


def _make_lasting(log: Path) -> None:
    """Have the newest commits on the disk; the files that they name are there already."""
    names = sorted(path.name for path in log.iterdir() if _VERSION.fullmatch(path.name))
    for name in names[-2:]:
        descriptor = os.open(log / name, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(log)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())[:500] or type(error).__name__
