"""Finds Python's module for gzip, bzip2, xz or zstd; one may be missing, and before 3.14 that of zstd is a backport."""

import sys
import zlib
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_NAMES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma", "zstd": _ZSTD}


def unpacker(kind: str, error: type[Exception]) -> Any:
    """Import the module for ``gzip``, ``bzip2``, ``xz`` or ``zstd``. Raises ``error`` if Python lacks it."""
    try:
        return import_module(_NAMES[kind])
    except ImportError:
        raise error(f"{kind} data: this Python cannot unpack it, because it has no {_NAMES[kind]}") from None


_MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def packing(head: bytes) -> str:
    """Return the compression of a file that begins with ``head``; "" if it is not compressed."""
    return next((kind for magic, kind in _MAGICS.items() if head.startswith(magic)), "")


def open_packed(kind: str, packed: IO[bytes]) -> Any:
    """Open a compressed file, positioned at its beginning, to read its contents; ``kind`` is its ``packing``.

    Raises ValueError if Python lacks the module for it.
    """
    return unpacker(kind, ValueError).open(packed)


def damage_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that reading a damaged compressed file raises."""
    found: list[Any] = [OSError, EOFError, ValueError, zlib.error]
    for kind, name in (("xz", "LZMAError"), ("zstd", "ZstdError")):
        with suppress(ImportError):
            found.append(getattr(import_module(_NAMES[kind]), name))
    return tuple(found)
