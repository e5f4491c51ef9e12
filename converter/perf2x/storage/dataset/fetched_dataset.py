"""Datasets of object stores as inputs: their files are copied to this machine for as long as they are read."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from perf2x.base.errors import FormatError, Perf2xError
from perf2x.base.files.remote import is_address
from perf2x.base.files.temporary import private_directory
from perf2x.storage.dataset.dataset_folder import LocalFolder, ObjectStore, storage_at
from perf2x.storage.dataset.dataset_schema import TABLES


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
