"""Changes of a dataset that a kill at any moment leaves undone or done: new files first, a list of changes, then those.

New files are written below ``_upkeep/`` and take their places when the list is there. Whoever comes after a kill
removes new files without a list, and carries out a list, whose steps may be done twice. So readers find each recording,
and all that it refers to, at any moment.
"""

import contextlib
from collections.abc import Iterator

from msgspec import DecodeError, Struct, json

from perf2x.base.errors import FormatError, OutputError
from perf2x.base.files.operating_system import has_file_locks, locked_folder
from perf2x.storage.dataset.dataset_folder import LocalFolder, Storage
from perf2x.storage.dataset.dataset_schema import TABLES

FOLDER = "_upkeep"
_LIST = f"{FOLDER}/changes.json"


class Changes(Struct, frozen=True):
    """Names of files: those whose new versions lie below FOLDER, and those that go."""

    new: tuple[str, ...] = ()
    old: tuple[str, ...] = ()


def staged(name: str) -> str:
    """Name that a new file has until the changes are listed."""
    return f"{FOLDER}/{name}"


def carry_out(storage: Storage, changes: Changes) -> None:
    """List the changes, then make them; OutputError when a new file is gone, and then nothing was removed."""
    old = tuple(name for name in changes.old if name not in frozenset(changes.new))
    if not changes.new and not old:
        return
    listed = Changes(tuple(sorted(changes.new, key=_rank)), tuple(sorted(old, key=_rank, reverse=True)))
    with storage.new_file(_LIST) as file:
        file.write(json.encode(listed))
    _make(storage, listed)


def finish(storage: Storage) -> None:
    """Carry out or drop what a run before this one left behind."""
    if storage.exists(_LIST):
        with storage.open(_LIST) as file:
            raw = file.read()
        try:
            changes = json.decode(raw, type=Changes)
        except DecodeError as error:
            raise FormatError(f"{storage.path(_LIST)}: damaged: {error}") from None
        _make(storage, changes)
    for left in storage.files(FOLDER):
        storage.remove(left.name)


def _make(storage: Storage, changes: Changes) -> None:
    for name in changes.new:
        if storage.exists(staged(name)):
            storage.move(staged(name), name)
        elif not storage.exists(name):
            raise OutputError(f"{storage.path(name)}: another compact or gc changes this dataset; nothing was removed")
    for name in changes.old:
        storage.remove(name)
    storage.remove(_LIST)


def _rank(name: str) -> tuple[int, str]:
    """Order in which files come: whatever others refer to comes before them. They go in the reverse order."""
    table = name.partition("/")[0]
    return TABLES.index(table) if table in TABLES else len(TABLES), name


@contextlib.contextmanager
def alone(storage: Storage) -> Iterator[None]:
    """Keep other upkeep of this machine away from a folder; OutputError when there is some."""
    if not isinstance(storage, LocalFolder) or not has_file_locks() or not storage.root.is_dir():
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked_folder(storage.root))
        except BlockingIOError:
            raise OutputError(f"{storage.root}: another compact or gc changes this dataset") from None
        yield
