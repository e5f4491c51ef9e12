"""Whoever does the tasks: this process, processes of this machine, or a cluster of Dask that is there already."""

import contextlib
import logging
import socket
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from perf2x.base.errors import OptionError, Perf2xError
from perf2x.fleet.local_processes import processes
from perf2x.fleet.task_attempt import Run, one_by_one
from perf2x.fleet.tasks_in_turn import in_turn

_SETTINGS = {"distributed.comm.timeouts.connect": "10s", "distributed.comm.timeouts.tcp": "30s"}
_SAFE = frozenset(("tls", "wss"))


class Workers(Struct, frozen=True):
    """A way to do tasks, and the address of the page that shows how a cluster does them."""

    run: Run
    dashboard: str = ""


@contextlib.contextmanager
def workers(scheduler: str | None, count: int) -> Iterator[Workers]:
    """Give the workers of a scheduler, or ``count`` processes of this machine; for 0 this process works itself.

    Perf2xError when the scheduler does not answer, OptionError when it needs Dask, which is missing.
    """
    if scheduler is not None:
        with _connected(scheduler) as client:
            yield Workers(partial(in_turn, client), client.dashboard_link)
    elif count:
        with processes(count) as run:
            yield Workers(run)
    else:
        yield Workers(one_by_one)


def is_open(scheduler: str) -> bool:
    """Whether others may hear and tell what this process and a scheduler on another host say to each other."""
    parts = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
    host = parts.hostname or ""
    is_here = host in ("localhost", "::1", socket.gethostname()) or host.startswith("127.")
    return parts.scheme not in _SAFE and not is_here


@contextlib.contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """Give a client; certificates and keys are those of Dask's own settings."""
    try:
        distributed, dask = import_module("distributed"), import_module("dask")
    except ImportError:
        raise OptionError("clusters need Dask: pip install 'perf2x[fleet]'") from None
    with dask.config.set(_SETTINGS), contextlib.ExitStack() as stack:
        _silence()
        try:
            client = stack.enter_context(distributed.Client(scheduler, timeout=10))
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise Perf2xError(f"{scheduler}: {error}") from None
        yield client


def _silence() -> None:
    """Keep Dask's log off standard error: its errors come back as exceptions, and some loggers have own levels."""
    for name in list(logging.root.manager.loggerDict):
        if name == "distributed" or name.startswith("distributed."):
            logging.getLogger(name).setLevel(logging.CRITICAL)
