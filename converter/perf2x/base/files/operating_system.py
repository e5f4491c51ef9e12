"""Calls that differ between operating systems: worker processes, locks, memory maps, unnamed files, cache folder."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

PROC_FILES = "/proc/self/fd"
"""Linux's directory with a link to each open file of this process, named by the file's descriptor."""
_CHUNK_SIZE = 16 << 20
"""Bytes to read at a time where a file cannot be mapped."""
O_TMPFILE: int | None = getattr(os, "O_TMPFILE", None) if sys.platform == "linux" else None
"""The flag of open(2) for unnamed files; None if the system cannot create them.

In a browser (Emscripten), the flag is defined, but open(2) with it opens the directory itself.
"""


def can_fork() -> bool:
    """Return whether worker processes may be forked.

    Windows has no fork. On macOS, system libraries may fail in a forked process.
    """
    return sys.platform == "linux"


def keep_freed_memory() -> None:
    """Make glibc keep freed memory for the next array of this process; other C libraries are left alone.

    By default, glibc returns the memory of a large array to the system, which must clear new pages for the next array.
    In measurements, keeping it took up to 20 MB, and saved a seventh of a conversion's CPU time.
    """
    if sys.platform == "linux":
        import_module("numpy")  # after the change, the import would take 3,000 more pages and 15 ms longer
        import ctypes  # numpy imports it anyway

        with contextlib.suppress(OSError, AttributeError):
            mallopt = ctypes.CDLL(None).mallopt
            for parameter, size in ((_MMAP_THRESHOLD, 32 << 20), (_TRIM_THRESHOLD, 64 << 20)):
                mallopt(parameter, size)


_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h; glibc accepts at most 32 MiB for the first."""


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def fork_context() -> ForkContext:
    """Return multiprocessing's fork context. Raises ValueError where there is none (see ``can_fork``)."""
    import multiprocessing  # loads sockets and OpenSSL, which small recordings need not wait for

    return multiprocessing.get_context("fork")


def widen_pipe(descriptor: int) -> None:
    """Enlarge a pipe's buffer to 1 MiB if the system supports it; large arrays are then sent five times as fast."""
    # OSError if the user has too many pipes already: the number of pages in all of them is limited
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 1 << 20)


def spawn_context() -> SpawnContext:
    """Return multiprocessing's spawn context, whose processes inherit nothing from this one."""
    import multiprocessing

    return multiprocessing.get_context("spawn")


def address_space_left() -> int | None:
    """Return how many more bytes this process may map (ulimit -v); None if there is no limit, or it is unknown."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        return limit - int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    except (ImportError, AttributeError, OSError):
        return None


@contextlib.contextmanager
def cpu_time_limited(seconds: float, error: Exception) -> Iterator[None]:
    """Raise ``error`` inside the block once this process has used ``seconds`` of user CPU time in the block.

    Outside the main thread, on Windows and in a browser, the time is not limited.
    """

    def raise_error(*_: object) -> None:
        raise error

    try:
        set_timer = signal.setitimer
        old_handler = signal.signal(signal.SIGVTALRM, raise_error)
    except (AttributeError, ValueError):
        yield
        return
    set_timer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        set_timer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old_handler or signal.SIG_DFL)


def has_file_locks() -> bool:
    """Return whether the system has flock(2), whose locks end with their process."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True


def lock(file: IO[bytes] | int, *, wait: bool) -> None:
    """Lock a file for this process alone.

    If another process holds the lock, wait until it is released; without ``wait``, raise OSError. Also raises OSError
    if the file cannot be locked at all.
    """
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_own(path: Path) -> bool:
    """Return whether a path belongs to this user and is not a link. Raises OSError if it does not exist."""
    return not path.is_symlink() and path.stat().st_uid == os.getuid()


def map_file(file: IO[bytes]) -> mmap.mmap | bytearray:
    """Map a whole file into memory for reading.

    Raises OSError or ValueError if the file cannot be mapped, such as a pipe or an empty file. In a browser, the file
    is read instead: maps are copies there, and a file that the user dropped on the page cannot be mapped.
    """
    if sys.platform != "emscripten":
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    content = bytearray(file.seek(0, os.SEEK_END))
    file.seek(0)
    offset = 0
    while chunk := file.read(_CHUNK_SIZE):
        content[offset : offset + len(chunk)] = chunk
        offset += len(chunk)
    if not content:
        raise ValueError("the file is empty")
    return content


def free_pages(mapping: mmap.mmap, start: int, stop: int) -> None:
    """Tell the system that bytes ``start`` to ``stop`` of a map will not be needed soon (madvise), if possible.

    The system frees whole pages, including the page that contains ``start``. The page that contains ``stop`` stays,
    because the next reader begins there.
    """
    advice = getattr(mmap, "MADV_DONTNEED", None)
    if advice is None:
        return
    page_start, page_stop = start // mmap.PAGESIZE * mmap.PAGESIZE, stop // mmap.PAGESIZE * mmap.PAGESIZE
    if page_start < page_stop:
        mapping.madvise(advice, page_start, page_stop - page_start)


def create_unnamed(directory: Path, mode: int) -> int:
    """Create an unnamed file in a directory and return its descriptor; -1 if that is impossible."""
    if O_TMPFILE is None or not Path(PROC_FILES).exists():
        return -1
    try:
        return os.open(directory, os.O_RDWR | O_TMPFILE, mode)
    except OSError:
        return -1


def temporary_file() -> IO[bytes]:
    """Open a temporary file that vanishes when it is closed.

    In a browser the file has a name, because maps of unnamed files are empty there.
    """
    import tempfile

    return tempfile.NamedTemporaryFile() if sys.platform == "emscripten" else tempfile.TemporaryFile()


def create_exclusively(path: Path, mode: int) -> int:
    """Create a file and return its descriptor. Raises FileExistsError if there is one already."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)


def name_unnamed(descriptor: int, path: Path) -> None:
    """Give an unnamed file the name ``path``. Raises OSError where links are forbidden (security modules, FUSE)."""
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        # os.link follows the link in /proc only if it is given a directory
        os.link(f"{PROC_FILES}/{descriptor}", path, src_dir_fd=directory, follow_symlinks=True)
    finally:
        os.close(directory)


def path_of_open_file(file: IO[bytes]) -> Path | None:
    """Return a path through which an open file can be opened a second time, even if the file has no name.

    Returns None if the system has no such paths.
    """
    path = Path(f"{PROC_FILES}/{file.fileno()}")
    # in a browser, such paths exist, but cannot be opened
    return path if sys.platform == "linux" and path.exists() else None


def user_cache_dir() -> Path | None:
    """Return the platform's directory for perf2x's cached files; None if the user has no home directory.

    The directory need not exist.
    """
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "perf2x" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "perf2x"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "perf2x"
