"""Limits how much compressed input may unpack to: one policy for recordings, archives, sections and downloads.

A few kilobytes can unpack to terabytes. Recordings compress to a hundredth of their size at best.
"""

import contextlib
import contextvars
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from perf2x.base.files.operating_system import path_of_open_file, temporary_file
from perf2x.errors import FormatError, SettingError

# Bytes that any input may unpack to on disk, in addition to _RATIO times its size, but at most MOST.
FLOOR = 256 << 20
# Bytes to which each byte of input may unpack.
_RATIO = 200
# The most bytes to which any input may unpack on disk, unless the user sets a limit.
MOST = 64 << 30
# Like MOST, for what is unpacked in memory.
MOST_IN_MEMORY = 8 << 30
# Like FLOOR, for what is unpacked in memory.
FLOOR_IN_MEMORY = 64 << 20
# An input may have this many records, and one more for each of its bytes on disk.
RECORDS = 500_000
# Bytes to leave free; on a disk of less than 20 GiB, a twentieth of it.
_RESERVE = 1 << 30
_BYTES_PER_CHECK = 64 << 20  # bytes to write between two measurements of free space

_max_unpacked: contextvars.ContextVar[int | None] = contextvars.ContextVar("max_unpacked", default=None)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


@contextlib.contextmanager
def limit_unpacking(size: int | None) -> Iterator[None]:
    """Let every input unpack to ``size`` bytes (--max-unpacked) inside the block; None keeps the default limits."""
    if size is None:
        yield
        return
    token = _max_unpacked.set(size)
    try:
        yield
    finally:
        _max_unpacked.reset(token)


def parse_size(text: str, setting: str = "max_unpacked") -> int:
    """Parse a size with powers of 1024, such as ``20G``, ``1.5 TiB`` or ``4096``, into bytes.

    Raises SettingError for anything else.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise SettingError("", setting, f" {text}: expected a size like 500M, 20G or 1.5T")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def unpacked_limit(packed_size: int) -> int:
    """Return how many bytes an input of ``packed_size`` bytes may unpack to on disk or in a stream."""
    return _users_limit_or(min(MOST, FLOOR + _RATIO * packed_size))


def memory_limit(packed_size: int) -> int:
    """Return how many bytes an object of ``packed_size`` bytes may unpack to in memory."""
    return _users_limit_or(min(MOST_IN_MEMORY, FLOOR_IN_MEMORY + _RATIO * packed_size))


def stream_limit() -> int:
    """Return how many bytes a pipe may send."""
    return _users_limit_or(MOST)


def download_limit() -> int:
    """Return how many bytes a download may have."""
    return _users_limit_or(MOST_IN_MEMORY)


def _users_limit_or(limit: int) -> int:
    users_limit = _max_unpacked.get()
    return limit if users_limit is None else users_limit


def record_limit(size_on_disk: int) -> int:
    """Return how many records an input may have; tables in memory grow with that number.

    A record has at least eight bytes, so only compressed input can reach the limit.
    """
    return max(RECORDS + size_on_disk, (_max_unpacked.get() or 0) // 1024)


RAISES_LIMIT = "max_unpacked", " raises the limit"
"""The last two arguments of an error about a limit: the setting to change, and the words that follow its name.

The command line replaces the name by that of its option (see Perf2xError).
"""


def too_large(prefix: str, packed_size: int, limit: int) -> tuple[str, str, str]:
    """Return the arguments of the error for input that unpacks to more than ``limit``."""
    return f"{prefix}its {format_size(packed_size)} unpack to more than {format_size(limit)}; ", *RAISES_LIMIT


def format_size(size: int) -> str:
    """Format a size in bytes: ``10.5 KiB``."""
    if size < 1024:
        return f"{size} bytes"
    power = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**power:.1f} {' KMGT'[power]}iB".replace(".0 ", " ")


class FreeSpace:
    """Checks before each write that some space of the disk stays free."""

    def __init__(
        self, name: str, folder: str | None = None, purpose: str = "a temporary copy; set TMPDIR to use another folder"
    ) -> None:
        """``name`` is the input's, for the error; ``folder`` None is the directory of temporary files."""
        self._name, self._folder, self._purpose = name, folder, purpose
        self._bytes_before_check = 0

    def take(self, size: int) -> None:
        """Call this before writing ``size`` bytes. Raises FormatError if they would use up the reserve."""
        self._bytes_before_check -= size
        if self._bytes_before_check < 0:
            left = free_space(self._folder_name()) - size
            if left < 0:
                raise self.full()
            self._bytes_before_check = min(left, _BYTES_PER_CHECK)

    def full(self) -> FormatError:
        """Return the error for a full disk."""
        return FormatError(f"{self._name}: not enough space in {self._folder_name()} for {self._purpose}")

    def _folder_name(self) -> str:
        if self._folder is None:
            import tempfile

            self._folder = tempfile.gettempdir()
        return self._folder


def free_space(folder: str) -> int:
    """Return how many bytes may be written in a folder without touching the reserve of its disk; may be negative."""
    import shutil

    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return _BYTES_PER_CHECK
    return usage.free - min(_RESERVE, usage.total // 20)


class Spool:
    """A temporary file without a name, so that nothing remains of it, however the process ends."""

    def __init__(self, name: str) -> None:
        """``name`` is the input's, for errors. Raises FormatError if no temporary file can be made."""
        self._free_space = FreeSpace(name)
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
        self._free_space.take(len(chunk))
        try:
            self.file.write(chunk)
        except OSError as error:
            import errno

            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._free_space.full() from None
            raise

    def done(self) -> IO[bytes]:
        """Return the file, positioned at its beginning."""
        self.file.flush()
        self.file.seek(0)
        return self.file


def link_or_copy(file: IO[bytes], path: Path, *, link: bool = True) -> Path:
    """Make an unnamed file, positioned at its beginning, available at ``path``, and return ``path``."""
    path_of_file = path_of_open_file(file) if link else None
    if path_of_file is not None:
        path.symlink_to(path_of_file)
        return path
    import shutil

    with path.open("wb") as out:
        shutil.copyfileobj(file, out)
    return path
