"""Runs work in forked processes, which share this process's memory without copying; only results are sent back.

Process 0 calls this module; the others are workers. `join_from_processes` sends results in pairs::

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
_ALIGNMENT = 16
"""Bytes; each array in a result begins at a multiple of this."""


def run_in_processes(
    count: int, in_this_process: Callable[[int], None], in_worker: Callable[[int], Result]
) -> Iterator[Result]:
    """Do share 0 of the work in this process, each other share in a worker; yield the workers' results in order.

    A result must be picklable and not None. Raises the Perf2xError that a worker raises. Calls ``in_this_process`` with
    the number of each worker that dies or cannot be started.
    """
    with _forked(count, lambda number, _: in_worker(number)) as connections:
        in_this_process(0)
        for number in range(1, count):
            result = _result_from(connections, number)
            if result is None:
                in_this_process(number)
            else:
                yield result
            del result  # free memory before receiving the next one


def join_from_processes(
    count: int,
    work: Callable[[int], None],
    result: Callable[[], Result],
    absorb: Callable[[Result], None],
    replace: Callable[[range], None],
) -> None:
    """Do a share of the work in each of ``count`` processes, including this one, and merge their results in pairs.

    Every process calls ``work`` with its number. Then each receiver passes the sender's ``result()``, which must be
    picklable, to ``absorb``. Raises the Perf2xError that a worker raises. Where a worker died, the receiver calls
    ``replace`` with the numbers of the lost shares.
    """

    def join(number: int, connections: Sequence[Connection]) -> None:
        work(number)
        for other in _senders_to(number, count):
            received = _result_from(connections, other)
            if received is None:
                # the sender's own share and those that it should have absorbed
                replace(range(other, min(2 * other - number, count)))
            else:
                absorb(received)
            del received  # free memory before receiving the next one

    def in_worker(number: int, connections: Sequence[Connection]) -> Result:
        join(number, connections)
        return result()

    with _forked(count, in_worker) as connections:
        join(0, connections)


def _senders_to(number: int, count: int) -> Iterator[int]:
    """Yield, in order, the processes whose results process ``number`` receives: 5, 6 for process 4 of 8."""
    step = 1
    while not number & step and number + step < count:
        yield number + step
        step *= 2


@contextlib.contextmanager
def _forked(count: int, work: Callable[[int, Sequence[Connection]], Any]) -> Iterator[Sequence[Connection]]:
    context = fork_context()
    pipes: list[tuple[Connection, Connection]] = []
    processes: list[ForkProcess] = []
    try:
        with contextlib.suppress(OSError):  # out of file descriptors
            pipes += (_wide_pipe(context) for _ in range(1, count))
        with contextlib.suppress(OSError, MemoryError):  # out of processes
            for number in range(1, len(pipes) + 1):
                process = context.Process(target=_run_worker, args=(number, pipes, work), daemon=True)
                process.start()
                processes.append(process)
        for _, write_end in pipes:
            write_end.close()
        yield [read_end for read_end, _ in pipes]
    finally:
        for process in processes:
            process.kill()  # not SIGTERM: a worker that has just started has this process's handler for it
        for process in processes:
            process.join()
        for read_end, _ in pipes:
            read_end.close()


def _wide_pipe(context: ForkContext) -> tuple[Connection, Connection]:
    read_end, write_end = context.Pipe(duplex=False)
    widen_pipe(read_end.fileno())
    return read_end, write_end


def _run_worker(
    number: int,
    pipes: Sequence[tuple[Connection, Connection]],
    work: Callable[[int, Sequence[Connection]], Any],
) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # only the first process has something to clean up
    for signal_number in (signal.SIGINT, signal.SIGHUP):  # the first process reports interruptions
        if signal.getsignal(signal_number) is not signal.SIG_IGN:  # under nohup, workers ignore SIGHUP, too
            signal.signal(signal_number, signal.SIG_DFL)
    connection = pipes[number - 1][1]
    senders = set(_senders_to(number, len(pipes) + 1))
    # a pipe ends only when no process can write to it
    for other, (read_end, write_end) in enumerate(pipes, 1):
        if other not in senders:
            read_end.close()
        if write_end is not connection:
            write_end.close()
    # the receiver does the work of a worker that sends nothing
    with contextlib.suppress(MemoryError, OSError):
        try:
            _send(connection, work(number, [read_end for read_end, _ in pipes]))
        except Perf2xError as error:
            _send(connection, error)
    connection.close()


def _send(connection: Connection, result: Any) -> None:
    """Send the lengths of all arrays with the pickle of the rest, then each array, padded; arrays are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    connection.send(([len(array) for array in arrays], pickled))
    for array in arrays:
        for unsent in (array, memoryview(bytes(-len(array) % _ALIGNMENT))):
            while unsent:
                unsent = unsent[os.write(connection.fileno(), unsent) :]


def _result_from(connections: Sequence[Connection], number: int) -> Any:
    """Receive a worker's result, or raise its Perf2xError; None if the worker was never started or died."""
    try:
        result = _receive(connections[number - 1]) if number <= len(connections) else None
    except (EOFError, OSError):
        return None
    if isinstance(result, Perf2xError):
        raise result
    return result


def _receive(connection: Connection) -> Any:
    lengths, pickled = connection.recv()
    begins = list(accumulate((-(-length // _ALIGNMENT) * _ALIGNMENT for length in lengths), initial=0))
    unfilled = data = np.empty(begins[-1], np.uint8).data
    while unfilled:
        count = os.readv(connection.fileno(), [unfilled])
        if not count:
            raise EOFError
        unfilled = unfilled[count:]
    buffers = [data[begin : begin + length] for begin, length in zip(begins, lengths, strict=False)]
    return pickle.loads(pickled, buffers=buffers)
