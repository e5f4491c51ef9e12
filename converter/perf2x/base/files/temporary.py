"""Temporary directories; each process removes those that killed processes left behind."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from perf2x.base.files.operating_system import has_file_locks, is_own, lock

PREFIX = "perf2x-unpacked-"
_LOCK = "lock"
_shown: dict[str, str] = {}
"""The user's names for temporary files, by path."""


def call_copy(copy: Path, name: str) -> Path:
    """Make messages about ``copy``, in a private directory, show ``name`` instead; return the path of the copy."""
    _shown[str(copy)] = name
    return copy


def shown_name(path: Path | str) -> str:
    """Return the user's name for a file: that of the original for a copy, otherwise the path."""
    return _shown.get(str(path), str(path))


@contextlib.contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Create a directory that only the user can enter, and remove it at the end; stale ones are removed first.

    It lies in ``parent``, by default among the system's temporary files.

    Its owner holds a lock on a file inside, which the system releases however the process ends. Where the system lacks
    these locks (Windows), no stale directory is removed.
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
        with contextlib.suppress(OSError):  # without locks no process may consider the directory stale
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
