"""Limits how much compressed input may unpack to: one policy for recordings, archives, sections and downloads.

A few kilobytes can unpack to terabytes. So compressed input may unpack to FLOOR plus _RATIO times its size, and to MOST
at most; recordings compress to a hundredth of their size at best, which the ratio leaves room for. ``--max-unpacked``
replaces this limit. Some space of the disk always stays free, and the number of records is bounded by the size of the
input on disk, because tables in memory grow with it.
"""

import contextlib
import contextvars
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from perf2x.base.files.operating_system import path_of_open_file, temporary_file
from perf2x.errors import FormatError, SettingError

FLOOR = 256 << 20
"""Bytes that any input may unpack to on disk, in addition to _RATIO times its size: small inputs are harmless."""
_RATIO = 200
"""Bytes that each byte of input may unpack to."""
MOST = 64 << 30
"""Bytes that any input may unpack to on disk, however large it is."""
MOST_IN_MEMORY = 8 << 30
"""MOST for what is unpacked in memory: a section, a member of an archive, or a compressed object file."""
FLOOR_IN_MEMORY = 64 << 20
"""FLOOR for what is unpacked in memory."""
RECORDS = 500_000
"""Number of records that any input may have, in addition to one per byte on disk."""
_RESERVE = 1 << 30
"""Bytes of a disk to leave free; on a small disk, a twentieth of it."""
_STEP = 64 << 20
"""Bytes to write between two measurements of free space."""

_max_unpacked: contextvars.ContextVar[int | None] = contextvars.ContextVar("max_unpacked", default=None)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


@contextlib.contextmanager
def limit_unpacking(size: int | None) -> Iterator[None]:
    """Within the context, let every input unpack to ``size`` bytes, as --max-unpacked does; None changes nothing."""
    if size is None:
        yield
        return
    token = _max_unpacked.set(size)
    try:
        yield
    finally:
        _max_unpacked.reset(token)


def parse_size(text: str, setting: str = "max_unpacked") -> int:
    """Parse a size in bytes, with powers of 1024: ``20G``, ``1.5 TiB``, ``4096``.

    Raises SettingError for anything else.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise SettingError("", setting, f" {text}: expected a size like 500M, 20G or 1.5T")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def unpacked_limit(packed: int) -> int:
    """Return how many bytes ``packed`` bytes of input may unpack to on disk or in a stream."""
    return _overridden(min(MOST, FLOOR + _RATIO * packed))


def memory_limit(packed: int) -> int:
    """Return how many bytes ``packed`` bytes of an object may unpack to in memory."""
    return _overridden(min(MOST_IN_MEMORY, FLOOR_IN_MEMORY + _RATIO * packed))


def stream_limit() -> int:
    """Return how many bytes a pipe may send; unlike that of a file, its size is not known in advance."""
    return _overridden(MOST)


def download_limit() -> int:
    """Return how many bytes a download may have; its size is not known in advance."""
    return _overridden(MOST_IN_MEMORY)


def _overridden(limit: int) -> int:
    typed = _max_unpacked.get()
    return limit if typed is None else typed


def record_limit(on_disk: int) -> int:
    """Return how many records an input of ``on_disk`` bytes may have; only compressed input can reach the limit."""
    return max(RECORDS + on_disk, (_max_unpacked.get() or 0) // 1024)


RAISES_LIMIT = "max_unpacked", " raises the limit"
"""The last two arguments of an error about a limit: the setting to change, and the words that follow its name."""


def too_large(before: str, packed: int, limit: int) -> tuple[str, str, str]:
    """Return the arguments of the error for input that unpacks to more than ``limit``; ``before`` is its beginning."""
    return f"{before}its {format_size(packed)} unpack to more than {format_size(limit)}; ", *RAISES_LIMIT


def format_size(size: int) -> str:
    """Format a size: ``10.5 KiB``."""
    if size < 1024:
        return f"{size} bytes"
    step = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**step:.1f} {' KMGT'[step]}iB".replace(".0 ", " ")


class FreeSpace:
    """Checks before each write that enough space stays free in ``folder`` (None: the directory of temporary files)."""

    def __init__(
        self, name: str, folder: str | None = None, purpose: str = "a temporary copy; set TMPDIR to use another folder"
    ) -> None:
        self._name, self._folder, self._purpose, self._room = name, folder, purpose, 0

    def take(self, size: int) -> None:
        """Account for ``size`` bytes to be written. Raises FormatError if they would use up the reserve."""
        self._room -= size
        if self._room < 0:
            self._room = free_space(self._place()) - size
            if self._room < 0:
                raise self.full()
            self._room = min(self._room, _STEP)

    def full(self) -> FormatError:
        """Return the error for a full disk."""
        return FormatError(f"{self._name}: not enough space in {self._place()} for {self._purpose}")

    def _place(self) -> str:
        if self._folder is None:
            import tempfile

            self._folder = tempfile.gettempdir()
        return self._folder


def free_space(folder: str) -> int:
    """Return how many bytes may be written in a folder without touching the reserve of its disk."""
    import shutil

    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return _STEP
    return usage.free - min(_RESERVE, usage.total // 20)


class Spool:
    """A temporary file that is written once and then read.

    It has no name, so that nothing remains of it, however the process ends.
    """

    def __init__(self, name: str) -> None:
        self._disk = FreeSpace(name)
        try:
            self.file = temporary_file()
        except OSError as error:
            raise FormatError(f"{name}: cannot make a temporary file: {error.strerror or error}") from None

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, chunk: bytes) -> None:
        """Append a chunk. Raises FormatError when the disk is full."""
        self._disk.take(len(chunk))
        try:
            self.file.write(chunk)
        except OSError as error:
            import errno

            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._disk.full() from None
            raise

    def done(self) -> IO[bytes]:
        """Return the file, positioned at its beginning."""
        self.file.flush()
        self.file.seek(0)
        return self.file


def link_or_copy(file: IO[bytes], path: Path, *, link: bool = True) -> Path:
    """Make an unnamed file available at ``path``: as a link on Linux if ``link`` is set, otherwise as a copy."""
    unnamed = path_of_open_file(file) if link else None
    if unnamed is not None:
        path.symlink_to(unnamed)
        return path
    import shutil

    with path.open("wb") as out:
        shutil.copyfileobj(file, out)
    return path
