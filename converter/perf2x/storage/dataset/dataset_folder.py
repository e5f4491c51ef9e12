"""Folders that hold a dataset: of this machine, or of an object store (``s3://bucket/profiles``).

Names are relative and have slashes: ``samples/service=web/0a1b….parquet``. A file appears under its name when it is
complete, or not at all: in a folder by its renaming, in a store because stores show an object when all of it is there.

Datasets of object stores as inputs: their files are copied to this machine for as long as they are read.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from perf2x.base.errors import FormatError, OutputError, Perf2xError
from perf2x.base.files.atomic import atomic_file
from perf2x.base.files.operating_system import replace_file, sync_folder
from perf2x.base.files.remote import fsspec, is_address, modified_ns, told_apart
from perf2x.base.files.temporary import private_directory
from perf2x.storage.dataset.dataset_schema import SUFFIX, TABLES, arrow


class StoredFile(Struct, frozen=True):
    """A file of a table."""

    name: str
    size: int
    """Bytes."""
    modified_ns: int
    """Nanoseconds since the epoch."""


class Storage(Protocol):
    """Folder of a dataset. FormatError when a file cannot be read, OutputError when one cannot be written."""

    def files(self, below: str) -> list[StoredFile]:
        """All Parquet files below a folder, by name."""

    def path(self, name: str) -> str:
        """Name of a file for messages."""

    def open(self, name: str) -> Any:
        """Open a file for reading at any of its bytes, as a file of Arrow's."""

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

    def new_file(self, name: str) -> contextlib.AbstractContextManager[BinaryIO]:
        """Give a file to write to, which has its name, and lasts, once the block ends without an error."""

    def move(self, old: str, new: str) -> None:
        """Give a file another name, and replace the file that had it."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""


class LocalFolder:
    """A folder of this machine; ``Storage``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def files(self, below: str) -> list[StoredFile]:
        """All Parquet files below a folder; those that go meanwhile are left out."""
        return list(self._files(below))

    def _files(self, below: str) -> Iterator[StoredFile]:
        names = sorted(path.relative_to(self.root).as_posix() for path in (self.root / below).rglob(f"*{SUFFIX}"))
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                status = (self.root / name).stat()
                yield StoredFile(name, status.st_size, status.st_mtime_ns)

    def path(self, name: str) -> str:
        """Path of a file."""
        return str(self.root / name)

    def open(self, name: str) -> Any:
        """Open a file for reading."""
        with told_apart(self.path(name)):
            return arrow().OSFile(self.path(name), "rb")

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.root / name).is_file()

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[BinaryIO]:
        """Give a file without a name, or with a hidden one; its bytes and its name are on the disk afterwards."""
        path = self.root / name
        with self._written(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path) as new:
                yield new.file
                new.commit(durable=True)

    def move(self, old: str, new: str) -> None:
        """Rename a file."""
        path = self.root / new
        with self._written(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.root / old, path)
            sync_folder(path.parent)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._written(self.root / name):
            (self.root / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _written(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


class ObjectStore:
    """Objects below an address; ``Storage``."""

    def __init__(self, address: str) -> None:
        """OutputError when nothing here knows such addresses."""
        self._address = address.rstrip("/")
        with told_apart(address, OutputError):
            system, root = fsspec().core.url_to_fs(self._address)
        self._system: Any = system
        self._root: str = root.rstrip("/")

    def files(self, below: str) -> list[StoredFile]:
        """All Parquet files below a folder, asked anew."""
        folder = f"{self._root}/{below}"
        with told_apart(self.path(below)):
            self._system.invalidate_cache()
            found = self._system.find(folder, detail=True) if self._system.exists(folder) else {}
        named = ((name[len(self._root) :].lstrip("/"), facts) for name, facts in sorted(found.items()))
        return [StoredFile(name, facts["size"], modified_ns(facts)) for name, facts in named if name.endswith(SUFFIX)]

    def path(self, name: str) -> str:
        """Address of an object."""
        return f"{self._address}/{name}"

    def open(self, name: str) -> Any:
        """Read an object whole: most bytes of a dataset's files are asked for."""
        with told_apart(self.path(name)):
            return arrow().BufferReader(self._system.cat_file(f"{self._root}/{name}"))

    def fetch(self, names: Sequence[str], folder: Path) -> None:
        """Copy objects into a folder of this machine, many at a time where the store's client can."""
        copies = [folder / name for name in names]
        for parent in {copy.parent for copy in copies}:
            parent.mkdir(parents=True, exist_ok=True)
        with told_apart(self._address):
            self._system.get([f"{self._root}/{name}" for name in names], [str(copy) for copy in copies])

    def exists(self, name: str) -> bool:
        """Whether there is such an object."""
        with told_apart(self.path(name)):
            self._system.invalidate_cache()
            return bool(self._system.exists(f"{self._root}/{name}"))

    @contextlib.contextmanager
    def new_file(self, name: str) -> Iterator[BinaryIO]:
        """Give a file of this machine, which is put whole."""
        from perf2x.base.files.temporary import private_directory

        with private_directory() as folder:
            copy = folder / "object"
            with copy.open("wb") as file:
                yield file
            with told_apart(self.path(name), OutputError):
                self._system.put_file(str(copy), f"{self._root}/{name}")

    def move(self, old: str, new: str) -> None:
        """Copy an object within the store, and remove the old one."""
        with told_apart(self.path(new), OutputError):
            self._system.cp_file(f"{self._root}/{old}", f"{self._root}/{new}")
        self.remove(old)

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        with told_apart(self.path(name), OutputError), contextlib.suppress(FileNotFoundError):
            self._system.rm_file(f"{self._root}/{name}")


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


@contextlib.contextmanager
def fetched_folder(name: str, tables: Sequence[str] = TABLES) -> Iterator[Path]:
    """Give the folder of a dataset: itself, or one with copies of some of its tables, removed at the end."""
    storage = storage_at(name) if is_address(name) else None
    if not isinstance(storage, ObjectStore):
        yield storage.root if isinstance(storage, LocalFolder) else Path(name)
        return
    files = [file.name for table in tables for file in storage.files(table)]
    if not any(file.startswith("recordings/") for file in files):
        raise FormatError(f"{name}: not a dataset; perf2x fleet ingest reads recordings at addresses")
    unsafe = next((file for file in files if ".." in PurePosixPath(file).parts), None)
    if unsafe is not None:
        raise FormatError(f"{name}: the name of an object leads out of the dataset: {unsafe}")
    with private_directory() as folder, _named(folder, name.rstrip("/")):
        storage.fetch(files, folder)
        yield folder


@contextlib.contextmanager
def _named(folder: Path, address: str) -> Iterator[None]:
    """Name the address in errors that name its copy."""
    try:
        yield
    except Perf2xError as error:
        raise type(error)(*(part.replace(str(folder), address) for part in error.args)) from None
