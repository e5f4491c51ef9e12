"""Makes temporary directories for copies of files, and removes those that killed processes left behind."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from perf2x.base.files.operating_system import has_file_locks, is_own, lock

PREFIX = "perf2x-unpacked-"
_LOCK = "lock"
_name_by_copy: dict[str, str] = {}
"""Names to show in messages, by the paths of copies in temporary directories."""


def set_shown_name(copy: Path, name: str) -> Path:
    """Show ``name`` in messages instead of the path of ``copy``; return ``copy``."""
    _name_by_copy[str(copy)] = name
    return copy


def shown_name(path: Path | str) -> str:
    """Return the name that `set_shown_name` gave a file; its path if it gave none."""
    return _name_by_copy.get(str(path), str(path))


@contextlib.contextmanager
def private_directory(parent: Path | None = None) -> Iterator[Path]:
    """Create a directory that only the user can enter, and remove it at the end of the block.

    ``parent`` is by default the system's folder for temporary files. Directories that killed processes left there are
    removed first, except on Windows.
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
    if not has_file_locks():
        yield
        return
    with (folder / f"new-{_LOCK}").open("wb") as file:
        # other processes remove no folder without a file _LOCK, so the file gets that name only once it is locked
        with contextlib.suppress(OSError):
            lock(file, wait=True)
            (folder / f"new-{_LOCK}").replace(folder / _LOCK)
        yield


def _remove_stale(parent: Path) -> None:
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
