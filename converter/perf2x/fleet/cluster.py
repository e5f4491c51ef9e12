"""Whoever does the tasks: this process, processes of this machine, or a cluster of Dask that is there already.

A cluster does tasks in turn: any number of them, a bounded number of which is under way.
"""

import contextlib
import logging
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from perf2x.base.errors import OptionError, Perf2xError
from perf2x.fleet.local_processes import Run, Task, attempt, failed, one_by_one, processes

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


AHEAD = 4
"""Tasks of each thread that the scheduler knows: enough to keep it busy, few enough for any number of tasks."""

Item = TypeVar("Item")


def in_turn(client: Any, task: Task, items: Iterable[Item], job: object) -> Iterator[tuple[Item, Any]]:
    """Do tasks on a cluster (see Run); Perf2xError also when its scheduler is gone."""
    from distributed import as_completed

    completed: Any = as_completed
    rest = iter(items)
    ahead = AHEAD * max(2, sum(client.nthreads().values()))

    def submit(count: int) -> list[Any]:
        begun = [(client.submit(attempt, task, one, job, pure=False), one) for one in islice(rest, count)]
        known.update((future.key, one) for future, one in begun)
        return [future for future, _ in begun]

    known: dict[str, Item] = {}
    running = completed(submit(ahead))
    for future in running:
        yield known.pop(future.key), end_of(future)
        future.release()
        for more in submit(1):
            running.add(more)


def end_of(future: Any) -> Any:
    """Return the result of a task, or Failed; one whose worker has died since runs again and is waited for.

    Perf2xError when the scheduler is gone, or where the task raised one.
    """
    try:
        error = future.exception()
        found = future.result() if error is None else failed(error)
    except CancelledError:
        raise Perf2xError("the scheduler is gone; run the same command again to continue") from None
    if isinstance(error, Perf2xError):
        raise error
    return found
