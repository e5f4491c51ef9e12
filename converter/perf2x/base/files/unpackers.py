"""Recognizes compressed files, and finds the module for gzip, bzip2, xz or zstd, which a Python may lack."""

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
    """Return the kind of compression from the beginning of a file (six bytes suffice); "" if there is none."""
    return next((kind for magic, kind in _MAGICS.items() if head.startswith(magic)), "")


def open_compressed(kind: str, packed: IO[bytes]) -> Any:
    """Return a file that unpacks ``packed``. Raises ValueError if Python lacks the module."""
    return unpacker(kind, ValueError).open(packed)


def damage_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that reading a damaged compressed file raises."""
    errors: list[Any] = [OSError, EOFError, ValueError, zlib.error]
    for kind, name in (("xz", "LZMAError"), ("zstd", "ZstdError")):
        with suppress(ImportError):
            errors.append(getattr(import_module(_MODULES[kind]), name))
    return tuple(errors)
