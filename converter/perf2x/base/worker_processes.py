"""Runs work in forked processes, which share this process's memory without copying; only results are sent back.

Either this process receives the result of every worker, in order (`run_in_processes`), or workers merge their results
in pairs, so that this process receives a few large ones (`join_from_processes`). For eight processes, of which 0 is
this one, an arrow is a result that is sent::

    0 ◀─ 1     2 ◀─ 3     4 ◀─ 5     6 ◀─ 7        all four at once
    0 ◀─────── 2          4 ◀─────── 6
    0 ◀────────────────── 4
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from perf2x.base.files.operating_system import fork_context, widen_pipe
from perf2x.errors import Perf2xError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkContext, ForkProcess

Result = TypeVar("Result")
_ALIGNED = 16
"""Bytes; each array in a result begins at a multiple of this."""


def run_in_processes(count: int, here: Callable[[int], None], there: Callable[[int], Result]) -> Iterator[Result]:
    """Do ``count`` shares of work: share 0 by ``here(0)`` in this process, each other share by ``there`` in a worker.

    Yields the results of ``there``. A result must be picklable, must not be None, and must contain all that the worker
    found out, because other changes to its memory are lost. Raises the Perf2xError that a worker raises. If a worker
    dies (out of memory, say) or cannot be started, ``here`` does its share.
    """
    with _forked(count, lambda number, _: there(number)) as connections:
        here(0)
        for number in range(1, count):
            result = _received(connections, number)
            if result is None:
                here(number)
            else:
                yield result
            del result  # free the result before receiving the next one


def join_from_processes(
    count: int,
    work: Callable[[int], None],
    result: Callable[[], Result],
    absorb: Callable[[Result], None],
    replace: Callable[[range], None],
) -> None:
    """Do ``count`` shares of work in that many processes, including this one, and merge their results.

    Each process calls ``work`` with its number. Then, of every two processes, the first receives the ``result`` of the
    second, which must be picklable, and passes it to ``absorb``; this repeats until this process has everything. Raises
    the Perf2xError that a worker raises. If a process died or could not be started, its own result and those that it
    had absorbed are lost: ``replace`` gets the numbers of these shares.
    """

    def join(number: int, connections: Sequence[Connection]) -> None:
        work(number)
        for other in _partners(number, count):
            received = _received(connections, other)
            if received is None:
                replace(range(other, min(2 * other - number, count)))
            else:
                absorb(received)
            del received

    def there(number: int, connections: Sequence[Connection]) -> Result:
        join(number, connections)
        return result()

    with _forked(count, there) as connections:
        join(0, connections)


def _partners(number: int, count: int) -> Iterator[int]:
    """Yield, in order, the processes whose results process ``number`` receives."""
    step = 1
    while not number & step and number + step < count:
        yield number + step
        step *= 2


@contextlib.contextmanager
def _forked(count: int, there: Callable[[int, Sequence[Connection]], Any]) -> Iterator[Sequence[Connection]]:
    """Start workers 1 to ``count`` - 1, or as many as the system allows; yield their connections, and end them on exit.

    Each worker calls ``there`` with its number and the connections of all workers, from which it can receive results.
    Reading from the connection of a worker that could not be started raises EOFError.
    """
    context = fork_context()
    pipes: list[tuple[Connection, Connection]] = []
    processes: list[ForkProcess] = []
    try:
        with contextlib.suppress(OSError):  # out of file descriptors
            pipes += (_wide_pipe(context) for _ in range(1, count))
        with contextlib.suppress(OSError, MemoryError):  # out of processes
            for number in range(1, len(pipes) + 1):
                process = context.Process(target=_run, args=(number, pipes, there), daemon=True)
                process.start()
                processes.append(process)
        for _, theirs in pipes:
            theirs.close()
        yield [ours for ours, _ in pipes]
    finally:
        for process in processes:
            process.kill()  # not SIGTERM, for which a worker that has just started has this process's handler
        for process in processes:
            process.join()
        for ours, _ in pipes:
            ours.close()


def _wide_pipe(context: ForkContext) -> tuple[Connection, Connection]:
    """Create a pipe for large results: the end to read from, and the end to write to."""
    ours, theirs = context.Pipe(duplex=False)
    widen_pipe(ours.fileno())
    return ours, theirs


def _run(
    number: int,
    pipes: Sequence[tuple[Connection, Connection]],
    there: Callable[[int, Sequence[Connection]], Any],
) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # only the first process has something to clean up
    for kind in (signal.SIGINT, signal.SIGHUP):  # only the first process reports interruptions
        if signal.getsignal(kind) is not signal.SIG_IGN:  # under nohup, workers ignore SIGHUP, too
            signal.signal(kind, signal.SIG_DFL)
    connection = pipes[number - 1][1]
    partners = set(_partners(number, len(pipes) + 1))
    for other, (ours, theirs) in enumerate(pipes, 1):  # a pipe ends only when no process can write to it
        if other not in partners:
            ours.close()
        if theirs is not connection:
            theirs.close()
    # out of memory, or the receiver is gone: the first process, if it still runs, handles both
    with contextlib.suppress(MemoryError, OSError):
        try:
            _send(connection, there(number, [ours for ours, _ in pipes]))
        except Perf2xError as error:
            _send(connection, error)
    connection.close()


def _send(connection: Connection, result: Any) -> None:
    """Send a result: first its pickle, then the bytes of its arrays without copying, each padded to _ALIGNED."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    connection.send(([len(part) for part in parts], rest))
    for part in parts:
        for left in (part, memoryview(bytes(-len(part) % _ALIGNED))):
            while left:
                left = left[os.write(connection.fileno(), left) :]


def _received(connections: Sequence[Connection], number: int) -> Any:
    """Receive a worker's result, or raise its Perf2xError; None if the worker was never started or died."""
    try:
        result = _receive(connections[number - 1]) if number <= len(connections) else None
    except (EOFError, OSError):
        return None
    if isinstance(result, Perf2xError):
        raise result
    return result


def _receive(connection: Connection) -> Any:
    """Receive a result. Raises EOFError if the worker ended before it sent everything."""
    lengths, rest = connection.recv()
    begins = list(accumulate((-(-length // _ALIGNED) * _ALIGNED for length in lengths), initial=0))
    left = data = np.empty(begins[-1], np.uint8).data
    while left:
        count = os.readv(connection.fileno(), [left])
        if not count:
            raise EOFError
        left = left[count:]
    buffers = [data[begin : begin + length] for begin, length in zip(begins, lengths, strict=False)]
    return pickle.loads(rest, buffers=buffers)
