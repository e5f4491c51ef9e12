"""Addresses (``s3://…``, ``https://…``), which fsspec and the clients below it read and write."""

import contextlib
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import Any

from perf2x.errors import FormatError, OptionError


def fsspec() -> ModuleType:
    """Import fsspec; OptionError says how to install it."""
    try:
        return import_module("fsspec")
    except ImportError:
        raise OptionError("addresses need fsspec: pip install 'perf2x[fleet]'") from None


def is_address(name: str) -> bool:
    """True for ``s3://…``, ``https://…`` and the like, and for ``memory://…``."""
    return "://" in name


def modified_ns(facts: dict[str, Any]) -> int:
    """Return an object's modification time in nanoseconds since the epoch; clients name it differently.

    0 if unknown.
    """
    for name in ("LastModified", "last_modified", "updated", "mtime", "created"):
        moment = facts.get(name)
        if isinstance(moment, datetime):
            return int(moment.timestamp()) * 10**9
        if isinstance(moment, int | float):
            return int(moment) * 10**9
    return 0


@contextlib.contextmanager
def told_apart(address: str) -> Iterator[None]:
    """Turn what fsspec and the clients below it raise for an address into one FormatError."""
    try:
        yield
    except _client_errors() as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{address}: {text}") from None


def _client_errors() -> tuple[type[Exception], ...]:
    """OSError, a protocol or a client that is not there, and what the clients of stores derive their errors from."""
    found: list[Any] = [OSError, ValueError, ImportError]
    clients = (("aiohttp", "ClientError"), ("botocore.exceptions", "BotoCoreError"),
               ("botocore.exceptions", "ClientError"))  # fmt: skip
    for module, name in clients:
        with contextlib.suppress(ImportError):
            found.append(getattr(import_module(module), name))
    return tuple(found)
