"""Temporary directories; the next process removes those that a killed process left behind."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

PREFIX = "perf2x-unpacked-"
_LOCK = "lock"


@contextlib.contextmanager
def private_directory() -> Iterator[Path]:
    """Create a directory that only the user can enter, and remove it at the end; stale ones are removed first.

    Its owner holds a lock on a file inside, which the system releases however the process ends. Where there are no
    such locks (Windows) no stale directory is removed.
    """
    import tempfile

    _remove_stale(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder, _locked(Path(folder)):
        yield Path(folder)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / f"new-{_LOCK}").open("wb") as file:
        with contextlib.suppress(OSError):  # without locks no process takes the directory for a stale one
            fcntl.flock(file, fcntl.LOCK_EX)
            (folder / f"new-{_LOCK}").rename(folder / _LOCK)
        yield


def _remove_stale(temporary: Path) -> None:
    """Remove the user's directories whose lock no process holds."""
    try:
        import fcntl
    except ImportError:
        return
    import shutil

    with contextlib.suppress(OSError):
        for folder in sorted(temporary.glob(f"{PREFIX}*")):
            with contextlib.suppress(OSError):
                if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                    continue
                with (folder / _LOCK).open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
