"""The files of a dataset at one moment, as the logs of its tables have them, each checked once before it is read.

Earlier states of recordings among the rows of a dataset: they are left out (``table_views.py`` does in SQL).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.base.errors import FormatError
from perf2x.storage.dataset.dataset_folder import fetch_files, present
from perf2x.storage.dataset.dataset_schema import LOG, TABLES
from perf2x.storage.dataset.file_names import is_merged
from perf2x.storage.dataset.parquet_files import check_for_engine
from perf2x.storage.dataset.table_log import DataFile, read_log

if TYPE_CHECKING:
    import pyarrow


class State(Struct, frozen=True):
    """A row of the table of recordings, as far as it tells states of one recording apart."""

    recording: str
    session: str | None
    unfinished: bool
    samples: int

    @property
    def rank(self) -> tuple[bool, int, str]:
        """The finished one is the greatest, then that with most samples."""
        return not self.unfinished, self.samples, self.recording


def superseded(states: Iterable[State]) -> frozenset[str]:
    """Ids of unfinished recordings that the dataset has finished, or with more samples."""
    states = [state for state in states if state.session is not None]
    best = {state.session: state.recording for state in sorted(states, key=lambda state: state.rank)}
    return frozenset(one.recording for one in states if one.unfinished and best[one.session] != one.recording)


def states_of(recordings: "pyarrow.Table") -> Iterator[State]:
    """Yield what rows of the table of recordings say of their states."""
    yield from map(State, *(recordings[name].to_pylist() for name in State.__struct_fields__))


class Listing:
    """Files of each table, by name below its folder."""

    def __init__(self, folder: Path, tags: Mapping[str, str] | None = None) -> None:
        """``tags``: only files of partitions that may hold recordings with them.

        FormatError when a log is damaged, or there is none: of datasets of versions 1 and 2, too.
        """
        self.folder = folder.absolute()
        if not (folder / "recordings" / LOG).is_dir():
            raise FormatError(no_dataset(folder))
        logs = {table: read_log(folder / table) for table in reversed(TABLES)}  # all they refer to comes later
        self.partition = logs["recordings"].partition
        self.files: Mapping[str, Mapping[str, DataFile]] = {
            table: {name: file for name, file in sorted(log.files.items()) if may_have(file, tags or {})}
            for table, log in logs.items()
        }
        self._checked: set[tuple[str, str]] = set()

    def names(self, table: str) -> Sequence[str]:
        """Files of a table, sorted."""
        return list(self.files[table])

    def fetch(self, table: str, names: Iterable[str]) -> None:
        """Have files of a table on this machine."""
        fetch_files(self.folder, [f"{table}/{name}" for name in names])

    def here(self, table: str) -> Sequence[str]:
        """Files of a table but for those of a store that nobody has asked for."""
        return present(self.folder, table, self.names(table))

    def check(self, table: str, names: Iterable[str] | None = None) -> None:
        """FormatError when a file is damaged, or one of a bomb. None: all files."""
        wanted = [name for name in (names or self.names(table)) if (table, name) not in self._checked]
        self.fetch(table, wanted)
        for name in wanted:
            check_for_engine(self.folder / table / name)
            self._checked.add((table, name))

    def of_recording(self, table: str, name: str, recording: str) -> list[str]:
        """Files of a table in which rows of a recording may be; ``name`` is its file in the table of recordings."""
        files = self.files[table]
        if name in files and not is_merged(name):
            return [name]
        return [one for one, file in files.items() if file.may_hold(recording)]


def no_dataset(folder: Path) -> str:
    """Say why a folder is no dataset that is read."""
    if any((folder / "recordings").rglob("*.parquet")):
        return f"{folder}: a dataset of an earlier version; perf2x fleet convert-dataset makes a new one of it"
    return f"{folder}: not a dataset: it has no table of recordings (docs/parquet.md)"


def may_have(file: DataFile, tags: Mapping[str, str]) -> bool:
    """Whether recordings with these tags may be in a file."""
    return all(tags.get(key, value or "") == (value or "") for key, value in file.parts.items())
