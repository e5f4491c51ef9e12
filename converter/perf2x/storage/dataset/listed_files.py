"""The files of a dataset at one moment, each checked once before an engine reads it.

Earlier states of recordings among the rows of a dataset: they are left out (``table_views.py`` does in SQL).
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from perf2x.storage.dataset.dataset_schema import TABLES
from perf2x.storage.dataset.parquet_files import ReplacedError, check_for_engine, files_of

if TYPE_CHECKING:
    import pyarrow


class State(Struct, frozen=True):
    """A row of the table of recordings, as far as it tells states of one recording apart."""

    recording: bytes
    session: bytes | None
    unfinished: bool
    samples: int

    @property
    def rank(self) -> tuple[bool, int, bytes]:
        """The finished one is the greatest, then that with most samples."""
        return not self.unfinished, self.samples, self.recording


def superseded(states: Iterable[State]) -> frozenset[bytes]:
    """Ids of unfinished recordings that the dataset has finished, or with more samples."""
    states = [state for state in states if state.session is not None]
    best = {state.session: state.recording for state in sorted(states, key=lambda state: state.rank)}
    return frozenset(one.recording for one in states if one.unfinished and best[one.session] != one.recording)


def states_of(recordings: "pyarrow.Table") -> Iterator[State]:
    """Yield what rows of the table of recordings say of their states."""
    yield from map(State, *(recordings[name].to_pylist() for name in State.__struct_fields__))


_TRIES = 5
Read = TypeVar("Read")


def until_whole(read: Callable[[], Read]) -> Read:
    """Read what lies in files of a dataset, again where some were replaced; ReplacedError when that does not end."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(ReplacedError):
            return read()
    return read()


class Listing:
    """Names of the files of each table, below its folder, as they were when the dataset was whole."""

    def __init__(self, folder: Path) -> None:
        """ReplacedError when files are replaced faster than they are listed."""
        self.folder = folder.absolute()
        self._names = _names_of(self.folder)
        self._checked: set[tuple[str, str]] = set()

    def names(self, table: str) -> Sequence[str]:
        """Files of a table, sorted."""
        return self._names[table]

    def check(self, table: str, names: Iterable[str] | None = None) -> None:
        """FormatError when a file is damaged, or one of a bomb; ReplacedError when one is gone. None: all files."""
        for name in self.names(table) if names is None else names:
            if (table, name) not in self._checked:
                check_for_engine(self.folder / table / name)
                self._checked.add((table, name))


def _names_of(folder: Path) -> dict[str, list[str]]:
    """Recordings first, and once more: those that are there still had all they refer to when it was listed."""
    for _ in range(_TRIES):
        rows = _table(folder, "recordings")
        found = {table: _table(folder, table) for table in TABLES} | {"recordings": rows}
        if set(rows) <= set(_table(folder, "recordings")):
            return found
    raise ReplacedError(f"{folder}: its files keep changing; try again")


def _table(folder: Path, table: str) -> list[str]:
    return [path.relative_to(folder / table).as_posix() for path in files_of(folder, table)]
