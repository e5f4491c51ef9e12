"""Executors of fleet commands' tasks: this process, processes of this machine, or an existing Dask cluster."""

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
Result = TypeVar("Result")
_DASK_SETTINGS = {"distributed.comm.timeouts.connect": "10s", "distributed.comm.timeouts.tcp": "30s"}
_ENCRYPTED = frozenset(("tls", "wss"))  # schemes of a scheduler's address
_HOW_TO_CONTINUE = "finished work is kept; run the same command again to continue"


class TaskTotals(Struct):
    """Counts of one task, or of all finished tasks of a command."""

    total: int = 0
    """Number of items of the command: recordings to add, or objects to name; 0 in the counts of one task."""
    done: int = 0  # finished items, including failed ones
    failed: int = 0

    def add(self, task_totals: Self) -> None:
        """Add the counts of a finished task to these; fields that are lists are appended."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(task_totals, name))


class InProcessExecutor(Executor):
    """Runs each task at once, in this process."""

    def submit(self, task: Callable[..., Result], /, *values: Any, **named: Any) -> "Future[Result]":
        """Run the task and return a completed future; exceptions of the task are raised here."""
        future: Future[Result] = Future()
        future.set_result(task(*values, **named))
        return future


@contextlib.contextmanager
def executor(scheduler: str | None, process_count: int) -> Iterator[Executor]:
    """Provide an executor: the workers of the Dask scheduler at the address ``scheduler``, or else local processes.

    With a ``process_count`` of 1, tasks run in this process. Raises Perf2xError if the scheduler does not answer,
    OptionError if Dask is not installed.
    """
    if scheduler is not None:
        with _connected(scheduler) as client:
            yield client.get_executor()
    elif process_count > 1:
        # spawned, because a process that has used deltalake cannot be forked
        pool = ProcessPoolExecutor(process_count, spawn_context(), _prepare_worker)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
    else:
        yield InProcessExecutor()


def results_of(
    pool: Executor, task: Callable[..., Result], items: Iterable[Item], job: object
) -> Iterator[tuple[Item, Result]]:
    """Run ``task(item, job)`` for each item; yield (item, result) in the order in which tasks finish.

    Raises Perf2xError if the workers or the scheduler are gone.
    """
    running = {pool.submit(task, item, job): item for item in items}
    try:
        for future in as_completed(running):
            yield running.pop(future), future.result()
    except BrokenProcessPool:
        raise Perf2xError(f"a worker was killed or ran out of memory; {_HOW_TO_CONTINUE}") from None
    except CancelledError:
        raise Perf2xError(f"the scheduler is gone; {_HOW_TO_CONTINUE}") from None
    except Exception as error:
        if type(error).__module__.startswith("distributed"):
            raise Perf2xError(f"{' '.join(str(error).split())}; {_HOW_TO_CONTINUE}") from None
        raise


def _prepare_worker() -> None:
    # the command handles Ctrl-C
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def is_unprotected(scheduler: str) -> bool:
    """Return whether others may read and forge the traffic to a scheduler: unencrypted, and to another host."""
    parts = urlsplit(scheduler if "://" in scheduler else f"tcp://{scheduler}")
    host = parts.hostname or ""
    is_this_host = host in ("localhost", "::1", socket.gethostname()) or host.startswith("127.")
    return parts.scheme not in _ENCRYPTED and not is_this_host


@contextlib.contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """Certificates and keys come from Dask's own settings."""
    try:
        distributed, dask = import_module("distributed"), import_module("dask")
    except ImportError:
        raise OptionError("clusters need Dask: pip install 'perf2x[fleet]'") from None
    with dask.config.set(_DASK_SETTINGS), contextlib.ExitStack() as connections:
        _silence_dask()
        try:
            client = connections.enter_context(distributed.Client(scheduler, timeout=10))
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise Perf2xError(f"{scheduler}: {error}") from None
        yield client


def _silence_dask() -> None:
    for name in list(logging.root.manager.loggerDict):
        if name == "distributed" or name.startswith("distributed."):
            logging.getLogger(name).setLevel(logging.CRITICAL)
