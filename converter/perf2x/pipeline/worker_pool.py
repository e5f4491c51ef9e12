"""Divides work among forked worker processes; the first process does a shard itself and combines all results.

`run_in_processes` gives each process one shard of something uniform (the blocks of a recording), `run_tasks` hands out
tasks of very different cost (objects to symbolize): an idle process takes the next one.

Forked workers have the index, the process history and the mapped file without a copy; only results travel. Where
numpy is not safe to use after a fork (macOS) or there is no fork (Windows), one process does all.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

from perf2x.base.errors import Perf2xError
from perf2x.base.files.operating_system import available_cores, can_fork, fork_context
from perf2x.model.recording.events import Shard
from perf2x.pipeline.stage_timer import Stages

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess

Result = TypeVar("Result")

SAMPLES_EACH = 2_000_000
"""Number of samples for each process: names and output, which the first one makes, are too much of fewer.

Copied stacks are no reason for more processes: two of them take a quarter more processor time for a tenth less waiting.
"""
_MANY, _FEW = 16_000_000, 4
"""Two pay from so many samples on, in five eighths of the time of one; so many processes pay below that, too."""
MICROSECONDS_EACH = 150_000
"""Cost of other work from which a process pays."""

_NUMBER_SIZE = 4
"""Bytes of a chunk number in the pipe."""
_MOST_CHUNKS = 1024
"""Chunk numbers that every pipe can hold, however many pipes the user has: one page."""


def processes_for(samples: int, requested: int) -> int:
    """Number of processes for a pass over samples.

    ``requested`` is the user's number, 0 for as many as are worth it, at most one per core.
    """
    if not can_fork():
        return 1
    if requested:
        return requested
    count = min(available_cores(), samples // SAMPLES_EACH)
    return count if count >= _FEW or samples >= _MANY else 1


def processes_for_work(microseconds: int, tasks: int, requested: int) -> int:
    """Number of processes for ``tasks`` of known total cost; ``requested`` as in ``processes_for``."""
    if not can_fork():
        return 1
    return max(1, min(tasks, requested or min(available_cores(), microseconds // MICROSECONDS_EACH)))


def run_in_processes(count: int, here: Callable[[Shard], None], there: Callable[[Shard], Result]) -> Iterator[Result]:
    """Process ``count`` shards: the first with ``here``, the others with ``there`` in a worker process each.

    Yields the results of ``there``, which must be picklable and complete: other changes stay in the worker. Raises the
    Perf2xError that a worker raises. The shard of a worker that dies (out of memory, say) or cannot be started is
    processed with ``here``.
    """
    shards = [Shard(number, count) for number in range(count)]
    with _forked(shards[1:], there) as others:
        here(shards[0])
        for shard, connection in zip_longest(shards[1:], others):
            try:
                result = _receive(connection)
            except (EOFError, OSError):
                here(shard)
                continue
            if isinstance(result, Perf2xError):
                raise result
            yield result
            del result  # free it before receiving the next


def run_tasks(
    processes: int, work: Callable[[int], Result], costs: Sequence[int], stages: Stages, stage: str
) -> Iterator[Result]:
    """Yield ``work(number)`` for the number of every cost, in order; the most expensive tasks start first.

    Results must be picklable and complete: changes that ``work`` makes stay in its process. Raises the Perf2xError
    that ``work`` raises. This process repeats the tasks of a process that died. The processor time of the others is
    added to ``stages``.
    """
    order = sorted(range(len(costs)), key=lambda number: -costs[number])
    each = max(1, -(-len(order) // _MOST_CHUNKS))
    chunks = [order[first : first + each] for first in range(0, len(order), each)]
    queue, queue_end = os.pipe()
    os.write(queue_end, b"".join(number.to_bytes(_NUMBER_SIZE, "little") for number in range(len(chunks))))
    os.close(queue_end)
    done: dict[int, Result] = {}

    def there(shard: Shard) -> tuple[dict[int, Result], float]:
        gc.disable()  # it would write to, and so copy, all inherited pages
        results = {number: work(number) for chunk in _chunk_numbers(queue) for number in chunks[chunk]}
        return results, time.process_time()

    def here(shard: Shard) -> None:
        done.update((number, work(number)) for chunk in _chunk_numbers(queue) for number in chunks[chunk])

    try:
        for others, seconds in run_in_processes(processes, here, there):
            done.update(others)
            stages.processor[stage] = stages.processor.get(stage, 0.0) + seconds
    finally:
        os.close(queue)
    for number in range(len(costs)):
        yield done.pop(number) if number in done else work(number)


def _chunk_numbers(queue: int) -> Iterator[int]:
    """Chunk numbers from the pipe until it is empty; each is read by one process only."""
    while number := os.read(queue, _NUMBER_SIZE):
        yield int.from_bytes(number, "little")


@contextlib.contextmanager
def _forked(shards: list[Shard], there: Callable[[Shard], Result]) -> Iterator[list[Connection]]:
    """Start a worker for each shard, as many as possible; yields their connections and ends them on exit."""
    context = fork_context()
    processes: list[ForkProcess] = []
    connections: list[Connection] = []
    try:
        for shard in shards:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(shard, there, theirs), daemon=True)
            try:
                process.start()
            except (OSError, MemoryError):  # no more processes available
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


def _run(shard: Shard, there: Callable[[Shard], Result], connection: Connection) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the first process ends workers with it
    for number in (signal.SIGINT, signal.SIGHUP):  # the first process reports interruptions
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup holds for all
            signal.signal(number, signal.SIG_DFL)
    # out of memory, or the first process is gone: the first process, if any, does the shard
    with contextlib.suppress(MemoryError, OSError):
        try:
            _send(connection, there(shard))
        except Perf2xError as error:
            _send(connection, error)
    connection.close()


def _send(connection: Connection, result: Any) -> None:
    """Send arrays out of band, so that neither side holds them twice."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(result, protocol=5, buffer_callback=buffers.append)
    connection.send((len(buffers), rest))
    for buffer in buffers:
        connection.send_bytes(buffer.raw())


def _receive(connection: Connection | None) -> Any:
    """Receive a result, with read-only arrays. Raises EOFError if there is no worker, or no longer."""
    if connection is None:
        raise EOFError
    count, rest = connection.recv()
    return pickle.loads(rest, buffers=[connection.recv_bytes() for _ in range(count)])
