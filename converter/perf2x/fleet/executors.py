"""Executors of fleet tasks: this process, processes of this machine, or an existing Dask cluster.

All have the interface of ``concurrent.futures``.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from perf2x.base.files.operating_system import spawn_context
from perf2x.errors import OptionError, Perf2xError

Item = TypeVar("Item")
End = TypeVar("End")
_SETTINGS = {"distributed.comm.timeouts.connect": "10s", "distributed.comm.timeouts.tcp": "30s"}
_SAFE = frozenset(("tls", "wss"))
_AGAIN = "finished work is kept; run the same command again to continue"


class TaskTotals(Struct):
    """Counts of one task, or of all tasks so far."""

    of: int = 0
    """Number of items: recordings to add, or objects to name."""
    done: int = 0
    """Number of finished items, including failed ones."""
    failed: int = 0

    def add(self, task: Self) -> None:
        """Add the numbers, and lists, of a task."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(task, name))


class Here(Executor):
    """Runs each task immediately, in this process."""

    def submit(self, task: Callable[..., End], /, *values: Any, **named: Any) -> "Future[End]":
        """Run the task and return a completed future; an exception of the task is raised at once."""
        future: Future[End] = Future()
        future.set_result(task(*values, **named))
        return future


@contextlib.contextmanager
def executor(scheduler: str | None, count: int) -> Iterator[Executor]:
    """Provide the workers of a scheduler, or ``count`` processes of this machine; for one, this process.

    Raises Perf2xError if the scheduler does not answer, OptionError if it needs Dask, which is missing.
    """
    if scheduler is not None:
        with _connected(scheduler) as client:
            yield client.get_executor()
    elif count > 1:
        # a process that has used deltalake cannot be forked
        pool = ProcessPoolExecutor(count, spawn_context(), _begin_process)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
    else:
        yield Here()


def done(crew: Executor, task: Callable[..., End], items: Iterable[Item], job: object) -> Iterator[tuple[Item, End]]:
    """Run a task for each item, and yield results as they are completed. Raises Perf2xError if workers are gone."""
    running = {crew.submit(task, item, job): item for item in items}
    try:
        for future in as_completed(running):
            yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise Perf2xError(f"a worker was killed or ran out of memory; {_AGAIN}") from None
    except CancelledError:
        raise Perf2xError(f"the scheduler is gone; {_AGAIN}") from None
    except Exception as error:
        if type(error).__module__.startswith("distributed"):
            raise Perf2xError(f"{' '.join(str(error).split())}; {_AGAIN}") from None
        raise


def _begin_process() -> None:
    """Make a worker leave Ctrl-C to the command, and exit when the command exits, for whatever reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def is_open(scheduler: str) -> bool:
    """Return whether others can read and forge the traffic between this process and a scheduler on another host."""
    parts = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
    host = parts.hostname or ""
    is_here = host in ("localhost", "::1", socket.gethostname()) or host.startswith("127.")
    return parts.scheme not in _SAFE and not is_here


@contextlib.contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """Provide a client; certificates and keys come from Dask's own settings."""
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
    """Keep Dask's log off standard error, because its errors are raised as exceptions here."""
    for name in list(logging.root.manager.loggerDict):
        if name == "distributed" or name.startswith("distributed."):
            logging.getLogger(name).setLevel(logging.CRITICAL)
