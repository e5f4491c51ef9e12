"""Where the bytes come from: a file or standard input, bare or inside .gz, .zst or .xz; always one read-only buffer.

Files are mapped, what cannot be mapped is spooled to an unlinked temporary file and mapped there, so that memory does
not grow with the input.
"""

import gzip
import lzma
import mmap
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from perf2x.model.arrays import U8
from perf2x.model.errors import FormatError
from perf2x.read.zstandard import open_zstd

CHUNK = 1 << 20
BOMB_FLOOR = 256 << 20
"""An unpacked wrapper may always be this large …"""
BOMB_RATIO = 1000
"""… and beyond it this many times its packed size; recordings that are compressed reach about 100."""

_WRAPPERS: tuple[tuple[bytes, Callable[[IO[bytes]], Any]], ...] = (
    (b"\x1f\x8b", lambda packed: gzip.GzipFile(fileobj=packed)),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", open_zstd),
)


def load(path: str) -> U8:
    """All bytes of ``path`` ("-" is standard input) without their outer compression, read-only and mostly unread yet.

    Raises FormatError for what is no readable file.
    """
    if path == "-":
        return _load_stream(sys.stdin.buffer, "standard input")
    try:
        with Path(path).open("rb") as file:
            return _load_stream(file, path)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from error


def _load_stream(file: BinaryIO, name: str) -> U8:
    data = _mapped(file)
    if data is None:
        data = _spooled(file, name, limit=None)
    for magic, opener in _WRAPPERS:
        if bytes(data[: len(magic)]) == magic:
            return _unwrapped(data, opener, name)
    return data


def _mapped(file: IO[bytes]) -> U8 | None:
    """The whole file as a buffer, None when it cannot be mapped (a pipe, a terminal)."""
    try:
        if file.tell() != 0:
            return None
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except (OSError, ValueError):
        return None


def _spooled(file: IO[bytes], name: str, limit: Callable[[], int] | None) -> U8:
    with tempfile.TemporaryFile() as spool:
        total = 0
        while chunk := file.read(CHUNK):
            total += len(chunk)
            if limit is not None and total > limit():
                raise FormatError(f"{name}: unpacks to more than {BOMB_RATIO} times its size, refused")
            spool.write(chunk)
        spool.flush()
        spool.seek(0)
        if total == 0:
            return np.zeros(0, np.uint8)
        data = _mapped(spool)
        if data is None:
            raise FormatError(f"{name}: the temporary copy cannot be mapped")
        return data


def _unwrapped(packed: U8, opener: Callable[[IO[bytes]], Any], name: str) -> U8:
    with tempfile.TemporaryFile() as copy:
        copy.write(packed.data)
        copy.seek(0)
        try:
            with opener(copy) as unpacked:
                return _spooled(unpacked, name, lambda: BOMB_FLOOR + BOMB_RATIO * len(packed))
        except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
            raise FormatError(f"{name}: the compressed wrapper cannot be unpacked: {error}") from error
