"""Replaces files atomically: a file appears under its name when it is complete, or not at all.

Outputs, downloads and caches are written through this module. Where the system has files without a name (Linux,
O_TMPFILE), a killed process leaves nothing behind; elsewhere the new file has a hidden name until it is complete.

Files that perf2x can recreate end with a magic word and the CRC-32 of their contents, which detects every flipped bit
and takes 0.4 ms per megabyte. BLAKE2 would also detect forgery, but takes four times as long, and anyone who can write
to the user's cache can do worse than forge a cached file.
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
    """A new version of ``path``: write to ``file``, then call ``commit``, or else ``discard``.

    ``file`` may be closed before the commit. Other processes see either the old version or the complete new one.
    """

    def __init__(self, path: Path, mode: int) -> None:
        """Create the file with the permissions ``mode``, less the umask.

        Raises OSError when the directory refuses it.
        """
        self._path, self._mode = path, mode
        self._hidden = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
        self._descriptor = create_unnamed(path.parent, mode)
        self._is_unnamed = self._descriptor >= 0
        if not self._is_unnamed:
            self._descriptor = create_exclusively(self._hidden, mode)
        self.file: BinaryIO = os.fdopen(self._descriptor, "wb", closefd=False)

    def commit(self) -> None:
        """Put the file in place at ``path``; it gets the permissions of the file that it replaces, if any."""
        self.file.close()
        if not self._named_directly():
            self._replace()

    def _named_directly(self) -> bool:
        """Name the unnamed file ``path`` at once, without a hidden file that a killed process would leave.

        Returns False if that fails, for example because there is a file at ``path``.
        """
        if not self._is_unnamed:
            return False
        try:
            name_unnamed(self._descriptor, self._path)
        except OSError:
            return False
        return True

    def _replace(self) -> None:
        if self._is_unnamed:
            self._name_unnamed()
        self._close()  # Windows cannot rename an open file
        with contextlib.suppress(FileNotFoundError):
            self._hidden.chmod(self._path.stat().st_mode & 0o7777)
        self._hidden.replace(self._path)

    def _name_unnamed(self) -> None:
        """Give the unnamed file the hidden name, or copy it there if links are forbidden (security modules, FUSE)."""
        try:
            name_unnamed(self._descriptor, self._hidden)
        except OSError:
            import shutil

            with (
                os.fdopen(self._descriptor, "rb", closefd=False) as source,
                os.fdopen(create_exclusively(self._hidden, self._mode), "wb") as copy,
            ):
                source.seek(0)
                shutil.copyfileobj(source, copy)

    def discard(self) -> None:
        """Remove the file unless it was committed."""
        try:
            with contextlib.suppress(OSError):  # the disk is full: buffered data cannot be written
                self.file.close()
        finally:
            self._close()
            self._hidden.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextlib.contextmanager
def atomic_file(path: Path, mode: int = 0o666) -> Iterator[AtomicFile]:
    """Create a new version of ``path``, which is discarded at the end of the block unless it was committed.

    Until then, users who may not read the old version cannot read the new one either. Raises OSError when the new
    version cannot be created.
    """
    with contextlib.suppress(OSError):
        mode &= path.stat().st_mode
    new = AtomicFile(path, mode)
    try:
        yield new
    finally:
        new.discard()


STDOUT = "-"
"""The path that stands for standard output."""


@contextlib.contextmanager
def open_output(path: str, *, inputs: tuple[str, ...], compress: bool = False) -> Iterator[BinaryIO]:
    """Open a binary output file; ``-`` is standard output.

    On an error the new file is discarded, and an existing file at ``path`` stays unchanged. ``compress``: compress with
    gzip, without a name or time, so that equal contents give equal bytes. Raises OptionError when ``path`` is one of
    ``inputs``, OutputError when it cannot be written.
    """
    _refuse_inputs(path, inputs)
    try:
        with _open_target(path) as plain, _with_gzip(plain, compress) as out:
            yield out
    except BrokenPipeError:  # the reader closed the pipe early
        raise
    except OSError as error:
        target = "to standard output" if path == STDOUT else Path(path)
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from None


@contextlib.contextmanager
def _open_target(path: str) -> Iterator[BinaryIO]:
    target = Path(path)
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif target.exists() and not target.is_file():  # renaming would replace a device or a named pipe
        with target.open("wb") as device:
            yield device
    else:
        with atomic_file(target.resolve() if target.is_symlink() else target) as new:
            yield new.file
            new.commit()


@contextlib.contextmanager
def _with_gzip(out: BinaryIO, compress: bool) -> Iterator[BinaryIO]:
    if not compress:
        yield out
        return
    from perf2x.base.files.background_writer import BackgroundGzipWriter

    with BackgroundGzipWriter(out) as packed:
        yield cast(BinaryIO, packed)


def _refuse_inputs(path: str, inputs: tuple[str, ...]) -> None:
    for name in inputs:
        with contextlib.suppress(OSError):
            if STDOUT not in (name, path) and Path(name).samefile(path):
                raise OptionError(f"the output {path} is also an input; choose another with -o")


_INPUT_SUFFIXES = (".gz", ".zst", ".xz", ".bz2", ".tar", ".data")


def default_output(source: str, suffix: str) -> str:
    """Return the default output path, in the current directory: for ``perf.data``, it is ``perf`` plus ``suffix``."""
    name = "perf" if source == "-" else Path(source).resolve().name
    for ending in _INPUT_SUFFIXES:
        name = name.removesuffix(ending)
    return (name or "perf") + suffix


def wants_gzip(target: str, suffix: str) -> bool:
    """Return whether to compress the output: its name ends with ``.gz``, and the format is not compressed already.

    A format that compresses its own output has a ``suffix`` with ``.gz``.
    """
    return target.endswith(".gz") and not suffix.endswith(".gz")


_MAGIC = b"p2x-crc\n"
"""Stands between the contents and their CRC-32, which is stored as a 64-bit little-endian number."""


def write_checksummed(path: Path, data: bytes) -> bool:
    """Write ``data`` and its checksum atomically; False if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, 0o600) as new:
            new.file.write(sealed(data))
            new.commit()
    except OSError:
        return False
    return True


def sealed(data: bytes) -> bytes:
    """Return ``data`` followed by the magic word and the checksum."""
    return data + _MAGIC + crc32(data).to_bytes(8, "little")


def read_checksummed(path: Path) -> bytes | None:
    """Return the data of a file that ``write_checksummed`` wrote; None if it is missing or damaged."""
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    data = content[:-16]
    return data if content and sealed(data) == content else None
