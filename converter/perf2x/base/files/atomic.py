"""Replaces files atomically: a file appears under its name when it is complete, or not at all.

On Linux, the new file has no name until it is complete (O_TMPFILE), so a killed process hardly ever leaves it behind.
Where this is impossible, it has a hidden name (``.NAME.xxxxxxxx.part``).

Cached files, which perf2x can recreate, end with a magic word and the CRC-32 of their contents. BLAKE2 would also
detect forgery, but takes four times as long, and anyone who can write to the user's cache can do worse.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast
from zlib import crc32

from perf2x.base.files.operating_system import create_exclusively, create_unnamed, name_unnamed
from perf2x.errors import OptionError, OutputError


class AtomicFile:
    """A new version of the file at ``path``; other processes see either the old version or the complete new one.

    Write to ``file``, which may be closed afterwards; then call ``commit`` to put the new version in place, or
    ``discard`` to remove it.
    """

    def __init__(self, path: Path, mode: int) -> None:
        """Create the new version with the permissions ``mode``, less the umask.

        Raises OSError if it cannot be created in the directory of ``path``.
        """
        self._path, self._mode = path, mode
        self._hidden_path = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
        self._descriptor = create_unnamed(path.parent, mode)
        self._is_unnamed = self._descriptor >= 0
        if not self._is_unnamed:
            self._descriptor = create_exclusively(self._hidden_path, mode)
        self.file: BinaryIO = os.fdopen(self._descriptor, "wb", closefd=False)

    def commit(self) -> None:
        """Put the file in place at ``path``; it gets the permissions of the file that it replaces, if any."""
        self.file.close()
        if not self._link_to_path():
            self._replace()

    def _link_to_path(self) -> bool:
        """Give the unnamed file the name ``path`` in one step; return False if that is impossible or a file exists."""
        if not self._is_unnamed:
            return False
        try:
            name_unnamed(self._descriptor, self._path)
        except OSError:
            return False
        return True

    def _replace(self) -> None:
        if self._is_unnamed:
            self._link_to_hidden_path()
        self._close()  # Windows cannot rename an open file
        with contextlib.suppress(FileNotFoundError):
            self._hidden_path.chmod(self._path.stat().st_mode & 0o7777)
        self._hidden_path.replace(self._path)

    def _link_to_hidden_path(self) -> None:
        try:
            name_unnamed(self._descriptor, self._hidden_path)
        except OSError:  # links are forbidden (security modules, FUSE): copy the file instead
            import shutil

            with (
                os.fdopen(self._descriptor, "rb", closefd=False) as source,
                os.fdopen(create_exclusively(self._hidden_path, self._mode), "wb") as copy,
            ):
                source.seek(0)
                shutil.copyfileobj(source, copy)

    def discard(self) -> None:
        """Close and remove the new version, unless it was committed."""
        try:
            with contextlib.suppress(OSError):  # closing writes buffered data, but the disk may be full
                self.file.close()
        finally:
            self._close()
            self._hidden_path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextlib.contextmanager
def atomic_file(path: Path, mode: int = 0o666) -> Iterator[AtomicFile]:
    """Create a new version of the file at ``path``; discard it at the end, unless the block commits it.

    It has at most the permissions of the old version, so that a user who may not read the old version cannot read the
    new one while it is being written. Raises OSError if the new version cannot be created.
    """
    with contextlib.suppress(OSError):
        mode &= path.stat().st_mode
    new_version = AtomicFile(path, mode)
    try:
        yield new_version
    finally:
        new_version.discard()


STDOUT = "-"
"""The path that stands for standard output."""


@contextlib.contextmanager
def open_output(path: str, *, inputs: tuple[str, ...], compress: bool = False) -> Iterator[BinaryIO]:
    """Open a binary output file; ``-`` is standard output.

    After an error, an existing file at ``path`` is unchanged. ``compress``: compress with gzip, so that equal contents
    give equal bytes. Raises OptionError if ``path`` is one of ``inputs``, OutputError if it cannot be written.
    """
    _refuse_inputs(path, inputs)
    try:
        with _open_plain(path) as plain, _compressed_if(compress, plain) as out:
            yield out
    except BrokenPipeError:  # the reader closed the pipe early
        raise
    except OSError as error:
        output = "to standard output" if path == STDOUT else Path(path)
        raise OutputError(f"cannot write {output}: {error.strerror or error}") from None


@contextlib.contextmanager
def _open_plain(path: str) -> Iterator[BinaryIO]:
    output = Path(path)
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif output.exists() and not output.is_file():  # a device or a named pipe, which renaming a file would replace
        with output.open("wb") as device:
            yield device
    else:
        with atomic_file(output.resolve() if output.is_symlink() else output) as new_version:
            yield new_version.file
            new_version.commit()


@contextlib.contextmanager
def _compressed_if(compress: bool, out: BinaryIO) -> Iterator[BinaryIO]:
    if not compress:
        yield out
        return
    from perf2x.base.files.background_writer import BackgroundGzipWriter

    with BackgroundGzipWriter(out) as compressing:
        yield cast(BinaryIO, compressing)


def _refuse_inputs(path: str, inputs: tuple[str, ...]) -> None:
    for name in inputs:
        with contextlib.suppress(OSError):
            if STDOUT not in (name, path) and Path(name).samefile(path):
                raise OptionError(f"the output {path} is also an input; choose another with -o")


_INPUT_SUFFIXES = (".gz", ".zst", ".xz", ".bz2", ".tar", ".data")


def default_output(source: str, suffix: str) -> str:
    """Return the default output path, in the current directory, for the input ``source``.

    For ``perf.data`` it is ``perf`` plus ``suffix``; suffixes of compressed files are removed, too.
    """
    name = "perf" if source == "-" else Path(source).resolve().name
    for ending in _INPUT_SUFFIXES:
        name = name.removesuffix(ending)
    return (name or "perf") + suffix


def wants_gzip(output: str, suffix: str) -> bool:
    """Return whether ``open_output`` should compress; a format whose suffix ends with ``.gz`` compresses by itself."""
    return output.endswith(".gz") and not suffix.endswith(".gz")


_MAGIC = b"p2x-crc\n"
"""Stands between the contents and their CRC-32, which is stored as a 64-bit little-endian number."""


def write_checksummed(path: Path, data: bytes) -> bool:
    """Write ``data`` and its checksum atomically; return False if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, 0o600) as new_version:
            new_version.file.write(with_checksum(data))
            new_version.commit()
    except OSError:
        return False
    return True


def with_checksum(data: bytes) -> bytes:
    """Return ``data`` followed by the magic word and the checksum, 16 bytes together."""
    return data + _MAGIC + crc32(data).to_bytes(8, "little")


def read_checksummed(path: Path) -> bytes | None:
    """Return the data of a file that ``write_checksummed`` wrote; None if it is missing or damaged."""
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    data = content[:-16]
    return data if content and with_checksum(data) == content else None
