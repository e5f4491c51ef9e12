"""One recording, several processes: each does a share of the blocks, then the first adds up what came of all.

Processes are forked, so that they have the index, the pictures of all processes and the mapped file without a copy;
only results travel. Where there is no fork that numpy can be trusted with (macOS, Windows), one process does all.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

from perf2x.tables.errors import Perf2xError
from perf2x.tables.events import Share

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

Result = TypeVar("Result")

SAMPLES_EACH = 200_000
"""A process is worth its start and the adding up from about this many samples on."""
STACKS_EACH = 10_000
"""The same for samples whose stacks have to be unwound."""
MICROSECONDS_EACH = 150_000
"""The same for other work."""


def processes_for(samples: int, unwinds: bool, asked: int) -> int:
    """How many processes to use; ``asked`` is the user's number, 0 for as many as pay, at most one a core."""
    if sys.platform != "linux":
        return 1
    if asked:
        return asked
    return max(1, min(len(os.sched_getaffinity(0)), samples // (STACKS_EACH if unwinds else SAMPLES_EACH)))


def processes_for_work(microseconds: int, pieces: int, asked: int) -> int:
    """The same for work that is known by what it costs, in so many pieces."""
    if sys.platform != "linux":
        return 1
    return max(1, min(pieces, asked or min(len(os.sched_getaffinity(0)), microseconds // MICROSECONDS_EACH)))


def run_in_processes(count: int, here: Callable[[Share], None], there: Callable[[Share], Result]) -> Iterator[Result]:
    """All shares of a recording: the first is done ``here``, the others by ``there`` in processes of their own.

    Yields what those return, which must be picklable and say everything: what they change stays in their process.
    Raises the Perf2xError that a share raises. A process that dies (for want of memory, say), or cannot be had at all,
    is made good for here.
    """
    shares = [Share(number, count) for number in range(count)]
    with _forked(shares[1:], there) as others:
        here(shares[0])
        for share, connection in zip_longest(shares[1:], others):
            try:
                result = _received(connection)
            except (EOFError, OSError):
                here(share)
                continue
            if isinstance(result, Perf2xError):
                raise result
            yield result
            del result  # before the next one comes


@contextlib.contextmanager
def _forked(shares: list[Share], there: Callable[[Share], Result]) -> Iterator[list[Connection]]:
    """A process for each share, as far as there are any, and where its result comes from; all are gone afterwards."""
    import multiprocessing  # with sockets and OpenSSL, and most recordings are too small for it

    context = multiprocessing.get_context("fork")
    processes: list[ForkProcess] = []
    connections: list[Connection] = []
    try:
        for share in shares:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(share, there, theirs), daemon=True)
            try:
                process.start()
            except (OSError, MemoryError):  # no more processes to be had
                break
            finally:
                theirs.close()
            processes.append(process)
            connections.append(ours)
        yield connections
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _run(share: Share, there: Callable[[Share], Result], connection: Connection) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the first process says what there is to say
        signal.signal(number, signal.SIG_DFL)
    # without memory, or without a first process, there is nothing to be said here: the share is done there
    with contextlib.suppress(MemoryError, OSError):
        try:
            _send(connection, there(share))
        except Perf2xError as error:
            _send(connection, error)
    connection.close()


def _send(connection: Connection, result: Any) -> None:
    """Arrays travel beside the rest, so that neither side holds them twice."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
    connection.send((len(buffers), rest))
    for buffer in buffers:
        connection.send_bytes(buffer.raw())


def _received(connection: Connection | None) -> Any:
    """What the other process sent; its arrays are read-only. EOFError where there is no process, or not any more."""
    if connection is None:
        raise EOFError
    count, rest = connection.recv()
    return pickle.loads(rest, buffers=[connection.recv_bytes() for _ in range(count)])
