"""Helpers for files at addresses (``s3://…``, ``https://…``), which fsspec and its clients read and write."""

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
    """Return whether a name is an address (``s3://…``, ``memory://…``) and not the path of a local file."""
    return "://" in name


def modified_ns(facts: dict[str, Any]) -> int:
    """Return an object's modification time in nanoseconds since the epoch, 0 if unknown.

    ``facts`` is what fsspec says about the object; each client uses another name for the time.
    """
    for name in ("LastModified", "last_modified", "updated", "mtime", "created"):
        moment = facts.get(name)
        if isinstance(moment, datetime):
            return int(moment.timestamp()) * 10**9
        if isinstance(moment, int | float):
            return int(moment) * 10**9
    return 0


@contextlib.contextmanager
def format_errors(address: str) -> Iterator[None]:
    """Within the context, turn any exception of fsspec and its clients into a FormatError about ``address``."""
    try:
        yield
    except _client_errors() as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{address}: {text}") from None


def _client_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that fsspec and the installed clients raise.

    ValueError stands for an unknown protocol, ImportError for a client that is not installed.
    """
    found: list[Any] = [OSError, ValueError, ImportError]
    clients = (("aiohttp", "ClientError"), ("botocore.exceptions", "BotoCoreError"),
               ("botocore.exceptions", "ClientError"))  # fmt: skip
    for module, name in clients:
        with contextlib.suppress(ImportError):
            found.append(getattr(import_module(module), name))
    return tuple(found)
