"""Recognizes compressed files, and finds Python's module for gzip, bzip2, xz or zstd.

Any of these modules may be missing from a Python. Before Python 3.14, the module for zstd is a package, backports.zstd.
"""

import sys
import zlib
from contextlib import suppress
from importlib import import_module
from typing import IO, Any

_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma", "zstd": _ZSTD}


def unpacker(kind: str, error: type[Exception]) -> Any:
    """Import the module for ``gzip``, ``bzip2``, ``xz`` or ``zstd``. Raises ``error`` if Python lacks it."""
    try:
        return import_module(_MODULES[kind])
    except ImportError:
        raise error(f"{kind} data: this Python cannot unpack it, because it has no {_MODULES[kind]}") from None


_MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def compression_of(head: bytes) -> str:
    """Return how a file is compressed, ``gzip``, ``bzip2``, ``xz`` or ``zstd``; "" if it is not compressed.

    ``head`` is the beginning of the file, at least its first six bytes.
    """
    return next((kind for magic, kind in _MAGICS.items() if head.startswith(magic)), "")


def open_compressed(kind: str, packed: IO[bytes]) -> Any:
    """Return a file that unpacks ``packed``, which is positioned at its beginning, and compressed by ``kind``.

    Raises ValueError if Python lacks the module.
    """
    return unpacker(kind, ValueError).open(packed)


def damage_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that reading a damaged compressed file raises."""
    errors: list[Any] = [OSError, EOFError, ValueError, zlib.error]
    for kind, name in (("xz", "LZMAError"), ("zstd", "ZstdError")):
        with suppress(ImportError):
            errors.append(getattr(import_module(_MODULES[kind]), name))
    return tuple(errors)
