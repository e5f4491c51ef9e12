"""Folders that hold a dataset: of this machine, or of an object store (``s3://bucket/profiles``).

Names are relative and have slashes: ``samples/service=web/0a1b….parquet``. A file appears under its name when it is
complete, or not at all: in a folder by its renaming, in a store because stores show an object when all of it is there.

Datasets of object stores as inputs: their logs are copied to this machine, and those files that are asked for.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from perf2x.base.errors import DamagedFileError, FormatError, NotReadError, OutputError, Perf2xError
from perf2x.base.files.atomic import atomic_file
from perf2x.base.files.remote import fsspec, is_address, told_apart
from perf2x.base.files.temporary import private_directory
from perf2x.storage.dataset.dataset_schema import LOG, TABLES, arrow
from perf2x.storage.dataset.table_log import TableLog, read_log


class Storage(Protocol):
    """Folder of a dataset. FormatError when a file cannot be read, OutputError when one cannot be written."""

    root: str
    """Its path or address."""

    def log(self, table: str) -> TableLog:
        """The files of a table, as its log has them now."""

    def path(self, name: str) -> str:
        """Name of a file for messages."""

    def open(self, name: str) -> Any:
        """Open a file for reading at any of its bytes, as a file of Arrow's."""

    def sizes(self, table: str) -> dict[str, int]:
        """Bytes of each file in the folder of a table, by its name there, whether or not its log has it."""

    def new_file(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """Give a file to write to, which has its name, and lasts, once the block ends without an error."""


class LocalFolder:
    """A folder of this machine; ``Storage``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = str(folder)

    def log(self, table: str) -> TableLog:
        """The files of a table."""
        return read_log(self.folder / table)

    def sizes(self, table: str) -> dict[str, int]:
        """Bytes of each file in the folder of a table; those that go meanwhile are left out."""
        found = {}
        for path in (self.folder / table).rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file():
                    found[path.relative_to(self.folder / table).as_posix()] = path.stat().st_size
        return found

    def path(self, name: str) -> str:
        """Path of a file."""
        return str(self.folder / name)

    def open(self, name: str) -> Any:
        """Open a file for reading."""
        with _present(self.path(name)):
            return arrow().OSFile(self.path(name), "rb")

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[BinaryIO]:
        """Give a file without a name, or with a hidden one; its bytes and its name are on the disk afterwards."""
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path) as new:
                yield new.file
                new.commit(durable=True)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


class ObjectStore:
    """Objects below an address; ``Storage``."""

    def __init__(self, address: str) -> None:
        """OutputError when nothing here knows such addresses."""
        self.root = self._address = address.rstrip("/")
        with told_apart(address, OutputError):
            system, root = fsspec().core.url_to_fs(self._address)
        self._system: Any = system
        self._below: str = root.rstrip("/")

    def log(self, table: str) -> TableLog:
        """The files of a table."""
        with private_directory() as folder:
            self.fetch_logs([table], folder)
            return read_log(folder / table)

    def fetch_logs(self, tables: Sequence[str], folder: Path) -> None:
        """Copy logs of tables into a folder of this machine, from their last checkpoints on."""
        names = [f"{table}/{name}" for table in tables for name in newest(self._listed(f"{table}/{LOG}"))]
        self.fetch(names, folder)

    def _listed(self, below: str) -> list[str]:
        """Paths of the objects below a folder, asked anew."""
        folder = f"{self._below}/{below}"
        with told_apart(self.path(below)):
            self._system.invalidate_cache()
            found = self._system.find(folder) if self._system.exists(folder) else []
        rest = (name[len(folder) :].lstrip("/") for name in found)
        return [f"{LOG}/{name}" for name in rest if "/" not in name]

    def sizes(self, table: str) -> dict[str, int]:
        """Bytes of each object below a table."""
        folder = f"{self._below}/{table}"
        with told_apart(self.path(table)):
            self._system.invalidate_cache()
            found = self._system.find(folder, detail=True) if self._system.exists(folder) else {}
        return {name[len(folder) :].lstrip("/"): facts["size"] for name, facts in found.items()}

    def path(self, name: str) -> str:
        """Address of an object."""
        return f"{self._address}/{name}"

    def open(self, name: str) -> Any:
        """Read an object whole: most bytes of a dataset's files are asked for."""
        with _present(self.path(name)):
            return arrow().BufferReader(self._system.cat_file(f"{self._below}/{name}"))

    def fetch(self, names: Sequence[str], folder: Path) -> None:
        """Copy objects into a folder of this machine, many at a time where the store's client can."""
        copies = [folder / name for name in names]
        for parent in {copy.parent for copy in copies}:
            parent.mkdir(parents=True, exist_ok=True)
        with told_apart(self._address):
            self._system.get([f"{self._below}/{name}" for name in names], [str(copy) for copy in copies])

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[BinaryIO]:
        """Give a file of this machine, which is put whole."""
        with private_directory() as folder:
            copy = folder / "object"
            with copy.open("wb") as file:
                yield file
            with told_apart(self.path(name), OutputError):
                self._system.put_file(str(copy), f"{self._below}/{name}")


@contextlib.contextmanager
def _present(path: str) -> Iterator[None]:
    """Tell a file that is missing from one that cannot be read now."""
    with told_apart(path, NotReadError):
        try:
            yield
        except FileNotFoundError:
            raise DamagedFileError(f"{path}: damaged: it is missing") from None


def storage_at(folder: str | Path) -> Storage:
    """Find the folder or the object store of a dataset by its name."""
    name = str(folder)
    if name.startswith("file://"):
        return LocalFolder(Path(unquote(urlsplit(name).path)))
    return ObjectStore(name) if is_address(name) else LocalFolder(Path(folder))


@contextlib.contextmanager
def fetched(names: Sequence[str]) -> Iterator[list[str]]:
    """Replace addresses among the inputs by folders with copies of their datasets; tags behind them stay.

    FormatError for an address without a dataset. Errors name addresses, not their copies.
    """
    addresses = list(dict.fromkeys(name.partition("?")[0] for name in names if is_address(name)))
    with contextlib.ExitStack() as stack:
        folders = {address: stack.enter_context(fetched_folder(address)) for address in addresses}
        yield [_moved(name, folders) for name in names]


def _moved(name: str, folders: dict[str, Path]) -> str:
    address, mark, tags = name.partition("?")
    return f"{folders[address]}{mark}{tags}" if is_address(name) else name


def newest(names: Sequence[str]) -> list[str]:
    """Those files of a log that tell how the table is: the last checkpoint, and the commits behind it."""
    stem = {name: name.rpartition("/")[2] for name in names}
    checkpoints = sorted(name[:20] for name in stem.values() if name[20:] == ".checkpoint.parquet")
    start = checkpoints[-1] if checkpoints else ""
    return [
        name for name, last in stem.items()
        if (last[20:] == ".json" and last[:20] > start) or last == f"{start}.checkpoint.parquet"
    ]  # fmt: skip


_COPIES: dict[Path, ObjectStore] = {}
"""Folders with copies of datasets, and where their files come from."""


@contextlib.contextmanager
def fetched_folder(name: str) -> Iterator[Path]:
    """Give the folder of a dataset: itself, or one with copies of its logs, removed at the end.

    Other files come when they are asked for (``fetch_files``).
    """
    storage = storage_at(name) if is_address(name) else None
    if not isinstance(storage, ObjectStore):
        yield storage.folder if isinstance(storage, LocalFolder) else Path(name)
        return
    with private_directory() as folder, _named(folder, name.rstrip("/")):
        storage.fetch_logs(TABLES, folder)
        if not (folder / "recordings" / LOG).is_dir():
            raise FormatError(f"{name}: not a dataset; perf2x fleet ingest reads recordings at addresses")
        _COPIES[folder] = storage
        try:
            yield folder
        finally:
            del _COPIES[folder]


def fetch_files(folder: Path, names: Sequence[str]) -> None:
    """Copy files of a dataset that is a copy itself; does nothing for others."""
    store = _COPIES.get(folder)
    missing = [name for name in names if not os.path.lexists(folder / name)] if store is not None else []
    if store is not None and missing:
        store.fetch(missing, folder)


def present(folder: Path, table: str, names: Sequence[str]) -> Sequence[str]:
    """Names of files that are on this machine: all of them, but for a dataset that is a copy."""
    return [name for name in names if os.path.lexists(folder / table / name)] if folder in _COPIES else names


@contextlib.contextmanager
def _named(folder: Path, address: str) -> Iterator[None]:
    """Name the address in errors that name its copy."""
    try:
        yield
    except Perf2xError as error:
        raise type(error)(*(part.replace(str(folder), address) for part in error.args)) from None
