"""Temporary folders; what a killed process leaves behind, the next one removes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

PREFIX = "perf2x-unpacked-"
_LOCK = "lock"


@contextlib.contextmanager
def private_directory() -> Iterator[Path]:
    """A folder that only the user can enter, removed at the end; first, those that killed processes left are removed.

    Its owner holds a lock on a file inside, which the system releases however the process ends. Where there are no
    such locks (Windows) nothing is swept.
    """
    import tempfile

    _sweep(Path(tempfile.gettempdir()))
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
        with contextlib.suppress(OSError):  # a disk without locks: nobody takes the folder for a stale one
            fcntl.flock(file, fcntl.LOCK_EX)
            (folder / f"new-{_LOCK}").rename(folder / _LOCK)
        yield


def _sweep(temporary: Path) -> None:
    """Remove the user's folders whose lock nobody holds."""
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
