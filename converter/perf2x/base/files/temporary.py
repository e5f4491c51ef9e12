"""Makes temporary directories for copies of files, and removes those that killed processes left behind.

Messages call a copy by the name of the file that it was made from, so the module remembers these names.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from perf2x.base.files.operating_system import has_file_locks, is_own, lock

PREFIX = "perf2x-unpacked-"
_LOCK = "lock"
_name_by_copy: dict[str, str] = {}
"""Names to show in messages, by the paths of copies in temporary directories."""


def set_shown_name(copy: Path, name: str) -> Path:
    """Show ``name`` instead of the path of ``copy``, a file in a private directory, in messages; return ``copy``."""
    _name_by_copy[str(copy)] = name
    return copy


def shown_name(path: Path | str) -> str:
    """Return the name of a file for messages: the one given to `set_shown_name`, or for any other file the path."""
    return _name_by_copy.get(str(path), str(path))


@contextlib.contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Create a directory that only the user can enter, and remove it at the end of the block.

    The directory is created in ``parent``, by default in the system's folder for temporary files. Directories that
    killed processes left there are removed first. They are recognized by a lock: the process that made a directory
    holds a lock on a file in it, and the system releases that lock when the process ends in any way. Where the system
    has no such locks (Windows), no directory of another process is removed.
    """
    import tempfile

    parent = parent or Path(tempfile.gettempdir())
    _remove_stale(parent)
    directory = tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True)
    with directory as folder, _locked(Path(folder)):
        try:
            yield Path(folder)
        finally:
            for copy in [path for path in _name_by_copy if Path(path).is_relative_to(folder)]:
                del _name_by_copy[copy]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on a file in the folder.

    The file gets the name _LOCK only after it was locked, so that no other process finds it unlocked.
    """
    if not has_file_locks():
        yield
        return
    with (folder / f"new-{_LOCK}").open("wb") as file:
        # if locking fails, the file is not renamed to _LOCK, so other processes never remove the folder
        with contextlib.suppress(OSError):
            lock(file, wait=True)
            (folder / f"new-{_LOCK}").replace(folder / _LOCK)
        yield


def _remove_stale(parent: Path) -> None:
    """Remove the user's private directories in ``parent`` whose lock no process holds."""
    if not has_file_locks():
        return
    import shutil

    with contextlib.suppress(OSError):
        for folder in sorted(parent.glob(f"{PREFIX}*")):
            with contextlib.suppress(OSError):
                if not is_own(folder):
                    continue
                with (folder / _LOCK).open("rb") as file:
                    lock(file, wait=False)
                    shutil.rmtree(folder, ignore_errors=True)
