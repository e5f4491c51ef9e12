"""Makes temporary directories, and removes those that killed processes left behind."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from perf2x.base.files.operating_system import has_file_locks, is_own, lock

PREFIX = "perf2x-unpacked-"
_LOCK = "lock"
_shown: dict[str, str] = {}
"""For copies in temporary directories, by path: the name of the original, which messages show."""


def call_copy(copy: Path, name: str) -> Path:
    """Make messages about ``copy``, a file in a private directory, show ``name`` instead; return ``copy``."""
    _shown[str(copy)] = name
    return copy


def shown_name(path: Path | str) -> str:
    """Return the name of a file for messages: for a copy the name of its original, for any other file the path."""
    return _shown.get(str(path), str(path))


@contextlib.contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Create a directory that only the user can enter, and remove it at the end of the block.

    The directory is created in ``parent``, by default in the system's folder for temporary files. Directories that
    killed processes left there are removed first: the process that made a directory holds a lock on a file inside, and
    the system releases that lock however the process ends. Where the system has no such locks (Windows), no directory
    of another process is removed.
    """
    import tempfile

    parent = parent or Path(tempfile.gettempdir())
    _remove_stale(parent)
    made = tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True)
    with made as folder, _locked(Path(folder)):
        try:
            yield Path(folder)
        finally:
            for copy in [name for name in _shown if Path(name).is_relative_to(folder)]:
                del _shown[copy]


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    if not has_file_locks():
        yield
        return
    with (folder / f"new-{_LOCK}").open("wb") as file:
        with contextlib.suppress(OSError):  # a directory without a lock file is never considered stale
            lock(file, wait=True)
            (folder / f"new-{_LOCK}").replace(folder / _LOCK)
        yield


def _remove_stale(temporary: Path) -> None:
    """Remove the user's directories whose lock is free."""
    if not has_file_locks():
        return
    import shutil

    with contextlib.suppress(OSError):
        for folder in sorted(temporary.glob(f"{PREFIX}*")):
            with contextlib.suppress(OSError):
                if not is_own(folder):
                    continue
                with (folder / _LOCK).open("rb") as file:
                    lock(file, wait=False)
                    shutil.rmtree(folder, ignore_errors=True)
