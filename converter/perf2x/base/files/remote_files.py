"""Helpers for files at URLs (``s3://…``, ``https://…``), which fsspec and its clients read and write.

A client is the package for one protocol, such as s3fs. An address is a URL.
"""

import contextlib
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import Any

from perf2x.errors import FormatError, OptionError


def fsspec() -> ModuleType:
    """Import fsspec. Raises OptionError with installation instructions if it is missing."""
    try:
        return import_module("fsspec")
    except ImportError:
        raise OptionError("addresses need fsspec: pip install 'perf2x[fleet]'") from None


def is_address(name: str) -> bool:
    """Return whether a name is a URL (``s3://…``, ``memory://…``) rather than the path of a local file."""
    return "://" in name


def modified_ns(info: dict[str, Any]) -> int:
    """Return a file's modification time in nanoseconds since the epoch, rounded down to a second; 0 if unknown.

    ``info`` is the result of fsspec's ``info`` for the file.
    """
    # the key differs between clients
    for key in ("LastModified", "last_modified", "updated", "mtime", "created"):
        time = info.get(key)
        if isinstance(time, datetime):
            return int(time.timestamp()) * 10**9
        if isinstance(time, int | float):
            return int(time) * 10**9
    return 0


@contextlib.contextmanager
def as_format_errors(address: str) -> Iterator[None]:
    """Turn any exception of fsspec or its clients that is raised inside the block into a FormatError about the URL."""
    try:
        yield
    except _client_errors() as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{address}: {text}") from None


def _client_errors() -> tuple[type[Exception], ...]:
    # fsspec raises ValueError for an unknown protocol, and ImportError for a client that is not installed
    errors: list[Any] = [OSError, ValueError, ImportError]
    clients = (("aiohttp", "ClientError"), ("botocore.exceptions", "BotoCoreError"),
               ("botocore.exceptions", "ClientError"))  # fmt: skip
    for module, name in clients:
        with contextlib.suppress(ImportError):
            errors.append(getattr(import_module(module), name))
    return tuple(errors)
