"""Modules for bzip2, xz and zstd, which a Python may be built without; before 3.14 zstd's is a backport."""

import sys
from importlib import import_module
from typing import Any

_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_NAMES = {"bzip2": "bz2", "xz": "lzma", "zstd": _ZSTD}


def unpacker(kind: str, error: type[Exception]) -> Any:
    """Return the module for ``bzip2``, ``xz`` or ``zstd``; ``error`` where there is none."""
    try:
        return import_module(_NAMES[kind])
    except ImportError:
        raise error(f"{kind} data: this Python has no {_NAMES[kind]} to unpack them") from None


def xz_error() -> type[Exception]:
    """Return what damaged xz data raise; EOFError where nothing unpacks them."""
    try:
        kind: type[Exception] = unpacker("xz", EOFError).LZMAError
    except EOFError:
        return EOFError
    return kind
