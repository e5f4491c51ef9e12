"""How much may be unpacked: one policy for wrappers, compressed records, bundles, archives, sections and downloads.

A few kilobytes can unpack to terabytes. What comes out of compressed input is bounded by what went in: recordings
compress to a hundredth at best, so RATIO leaves room, FLOOR lets small inputs be, MOST bounds the large ones.
``--max-unpacked`` replaces all three. Disks are filled up to a reserve, tables in memory grow with the bytes that the
input has on disk, however many records come out of them.
"""

import contextlib
import contextvars
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from perf2x.tables.errors import FormatError, OptionError

FLOOR = 256 << 20
RATIO = 200
MOST = 64 << 30
MOST_IN_MEMORY = 8 << 30
"""A section, a member of an archive, or a compressed object, which are held in memory while they are read."""
FLOOR_IN_MEMORY = 64 << 20
RECORDS = 500_000
"""Records that any input may hold; beyond it one for each byte that it has on disk."""
RESERVE = 1 << 30
"""Bytes of a disk that stay free, or a twentieth of a small one."""
STEP = 64 << 20
"""So often it is looked at how much is free."""

_max_unpacked: contextvars.ContextVar[int | None] = contextvars.ContextVar("max_unpacked", default=None)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


@contextlib.contextmanager
def limit_unpacking(size: int | None) -> Iterator[None]:
    """Let every input unpack to ``size`` bytes inside; None leaves it at what holds already."""
    if size is None:
        yield
        return
    token = _max_unpacked.set(size)
    try:
        yield
    finally:
        _max_unpacked.reset(token)


def parse_size(text: str) -> int:
    """``20G``, ``1.5 TiB``, ``4096``: bytes, in powers of 1024. OptionError for what is no size."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"--max-unpacked {text}: expected a size like 500M, 20G or 1.5T")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def unpacked_limit(packed: int) -> int:
    """The most bytes that ``packed`` bytes of input may become on disk or in passing."""
    said = _max_unpacked.get()
    return min(MOST, FLOOR + RATIO * packed) if said is None else said


def memory_limit(packed: int) -> int:
    """The most bytes that ``packed`` bytes of an object may become in memory."""
    said = _max_unpacked.get()
    return min(MOST_IN_MEMORY, FLOOR_IN_MEMORY + RATIO * packed) if said is None else said


def download_limit() -> int:
    """The most bytes of one file from a server, whose size is known only when it is there."""
    said = _max_unpacked.get()
    return MOST_IN_MEMORY if said is None else said


def record_limit(on_disk: int) -> int:
    """The most records that an input of so many bytes may hold; what is not compressed holds fewer by itself."""
    return max(RECORDS + on_disk, (_max_unpacked.get() or 0) // 1024)


def too_large(packed: int, limit: int) -> str:
    """The reason of a refusal, to stand behind the input's name."""
    return f"its {format_size(packed)} unpack to more than {format_size(limit)}; --max-unpacked SIZE raises the limit"


def format_size(size: int) -> str:
    """``10.5 KiB``."""
    if size < 1024:
        return f"{size} bytes"
    step = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**step:.1f} {' KMGT'[step]}iB".replace(".0 ", " ")


class FreeSpace:
    """Looks whether there is room before something is written in ``folder`` (None: where temporary files go)."""

    def __init__(
        self, name: str, folder: str | None = None, purpose: str = "a temporary copy; TMPDIR names another place"
    ) -> None:
        self._name, self._folder, self._purpose, self._room = name, folder, purpose, 0

    def take(self, size: int) -> None:
        """``size`` more bytes will be written; FormatError when that would leave less than the reserve."""
        self._room -= size
        if self._room < 0:
            self._room = self._free() - size
            if self._room < 0:
                raise self.full()
            self._room = min(self._room, STEP)

    def full(self) -> FormatError:
        """The error that says so."""
        return FormatError(f"{self._name}: too little room in {self._place()} for {self._purpose}")

    def _place(self) -> str:
        if self._folder is None:
            import tempfile

            self._folder = tempfile.gettempdir()
        return self._folder

    def _free(self) -> int:
        import shutil

        try:
            usage = shutil.disk_usage(self._place())
        except OSError:
            return STEP
        return usage.free - min(RESERVE, usage.total // 20)


@contextlib.contextmanager
def spool(name: str) -> Iterator["Spool"]:
    """A temporary file without a name: whatever ends the process, nothing stays behind."""
    import tempfile

    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed below; errors of what is done with it are not ours
    except OSError as error:
        raise FormatError(f"{name}: cannot make a temporary copy: {error.strerror or error}") from None
    with file:
        yield Spool(file, FreeSpace(name))


class Spool:
    """A temporary file that is filled once and then read."""

    def __init__(self, file: IO[bytes], disk: FreeSpace) -> None:
        self.file = file
        self._disk = disk

    def write(self, chunk: bytes) -> None:
        """Append; FormatError when the disk has no room for it."""
        self._disk.take(len(chunk))
        try:
            self.file.write(chunk)
        except OSError as error:
            import errno

            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._disk.full() from None
            raise

    def done(self) -> IO[bytes]:
        """The file, at its beginning."""
        self.file.flush()
        self.file.seek(0)
        return self.file


def link_or_copy(file: IO[bytes], path: Path) -> Path:
    """``path``, leading to a file without a name; where the system has no such links (not Linux), a copy of it."""
    unnamed = Path(f"/proc/self/fd/{file.fileno()}")
    if unnamed.exists():
        path.symlink_to(unnamed)
        return path
    import shutil

    with path.open("wb") as out:
        shutil.copyfileobj(file, out)
    return path
