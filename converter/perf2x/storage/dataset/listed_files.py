"""The files of a dataset at one moment, as the logs of its tables have them, each checked once before it is read.

Earlier states of recordings among the rows of a dataset: they are left out (``table_views.py`` does in SQL).
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import dirname
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.base.errors import FormatError
from perf2x.storage.dataset.dataset_folder import fetch_files, present
from perf2x.storage.dataset.dataset_schema import LOG, PARTITIONED, TABLES
from perf2x.storage.dataset.file_names import is_merged, recording_of
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

        FormatError when a log is damaged, or there is none.
        """
        self.folder = folder.absolute()
        if not (folder / "recordings" / LOG).is_dir():
            raise FormatError(no_dataset(folder))
        logs = {table: read_log(folder / table) for table in reversed(TABLES)}  # all they refer to comes later
        self.partition = logs["recordings"].partition
        self.files: dict[str, dict[str, DataFile]] = {
            table: {name: file for name, file in sorted(log.files.items()) if may_have(file, tags or {})}
            for table, log in logs.items()
        }
        self._checked: set[tuple[str, str]] = set()

    def keep_folders(self, folders: Collection[str]) -> None:
        """Leave out files of recordings in other folders."""
        self._keep(PARTITIONED, lambda file: dirname(file.name) in folders)

    def keep_recordings(self, chosen: Iterable[tuple[str, str]]) -> None:
        """Leave out files without rows of recordings, each an id and its folder, but for those of their own rows."""
        of_folder: dict[str, set[str]] = {}
        for ident, folder in chosen:
            of_folder.setdefault(folder, set()).add(ident)

        def may_hold(file: DataFile) -> bool:
            idents, own = of_folder.get(dirname(file.name), set()), recording_of(file.name)
            return own in idents if own else any(map(file.may_hold, idents))

        self._keep((table for table in PARTITIONED if table != "recordings"), may_hold)

    def keep_objects(self, objects: Iterable[str]) -> None:
        """Leave out files without names of objects."""
        known = sorted(objects)

        def may_hold(file: DataFile) -> bool:
            at = bisect_left(known, file.first)
            return not file.last or (at < len(known) and known[at] <= file.last)

        self._keep(["symbols"], may_hold)

    def _keep(self, tables: Iterable[str], wanted: Callable[[DataFile], bool]) -> None:
        for table in tables:
            self.files[table] = {name: file for name, file in self.files[table].items() if wanted(file)}

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
        home = dirname(name)
        return [one for one, file in files.items() if dirname(one) == home and file.may_hold(recording)]


def no_dataset(folder: Path) -> str:
    """Say why a folder is no dataset that is read."""
    return f"{folder}: not a dataset: it has no table of recordings (docs/parquet.md)"


def may_have(file: DataFile, tags: Mapping[str, str]) -> bool:
    """Whether recordings with these tags may be in a file."""
    return all(tags.get(key, value or "") == (value or "") for key, value in file.parts.items())
