"""Temporary files and folders of which a killed process leaves nothing, or only what the next one removes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

PREFIX = "perf2x-unpacked-"
_LOCK = "lock"


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
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


class Appearing:
    """A file that is being written and has its name only from ``keep`` on."""

    def __init__(self, file: IO[bytes], path: Path, temporary: Path | None) -> None:
        self.file = file
        self._path, self._temporary = path, temporary

    def keep(self) -> None:
        """Give the file its name, whatever had that name before."""
        self.file.flush()
        if self._temporary is not None:
            self.file.close()  # Windows renames no open file
            self._temporary.replace(self._path)
            return
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            self._path.unlink(missing_ok=True)
            # only with a folder Python asks the system to follow the link
            os.link(f"/proc/self/fd/{self.file.fileno()}", self._path, src_dir_fd=folder, follow_symlinks=True)
        except FileExistsError:
            pass  # another process was quicker
        finally:
            os.close(folder)


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[Appearing]:
    """A file that has no name while it is written, or, where the system wants one, a hidden one beside ``path``."""
    descriptor = _unnamed(path.parent)
    if descriptor is not None:
        with os.fdopen(descriptor, "wb") as file:
            yield Appearing(file, path, None)
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield Appearing(file, path, temporary)
    finally:
        temporary.unlink(missing_ok=True)


def _unnamed(folder: Path) -> int | None:
    """A descriptor of a file without a name (Linux, most file systems)."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not Path("/proc/self/fd").exists():
        return None
    try:
        return os.open(folder, os.O_WRONLY | flag, 0o666)
    except OSError:
        return None
