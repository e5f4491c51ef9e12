"""Divides work among forked worker processes; the first process takes a share and combines all results.

`ShardQueue` hands out shards of uniform work (the blocks of a recording), `run_tasks` hands out tasks of very different
cost (objects to symbolize): an idle process takes the next one.

Forked workers inherit the index, the process history and the mapped file without a copy; only results are sent. Where
numpy is not safe after a fork (macOS) or there is no fork (Windows), one process does all the work.
"""

import gc
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

from msgspec.structs import replace

from perf2x.base.files.operating_system import available_cores, can_fork
from perf2x.base.worker_processes import run_in_processes
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.stage_timer import Stages
from perf2x.model.recording import Shard

Result = TypeVar("Result")

_SAMPLES_EACH = 2_000_000
"""Samples per process: with fewer, the first process's own work on names and output dominates.

User stack dumps do not lower this number: their stacks are nearly all distinct, so names and output grow with them.
"""
_MANY = 5_000_000
"""Number of samples above which two processes take 3/4 of the time of one, if equal samples are summed."""
_FEW = 4
"""Number of processes that is worthwhile if sums are kept by thread. If every sample is drawn, none is."""
MICROSECONDS_EACH = 150_000
"""Cost of other tasks above which another process is worthwhile."""

_WHOLE = 1 << 40
_HALVINGS = 7
"""The number of times that the size of shards is halved."""
_NUMBER_SIZE = 4
"""Bytes of a shard number in the pipe."""
_MOST_CHUNKS = 1024
"""The numbers that fit into any pipe, even if the user has too many pipes: one page."""


def processes_for(samples: int, options: LoadOptions) -> int:
    """Return the number of processes for a pass over samples.

    It is the user's number or else as many as are worthwhile, at most one per core.
    """
    if not can_fork():
        return 1
    if options.jobs:
        return options.jobs
    if samples < _MANY or options.needs_times or options.as_recorded:
        return 1
    count = min(available_cores(), samples // _SAMPLES_EACH)
    return count if count >= _FEW or not options.keeps_threads else 1


def processes_for_work(microseconds: int, tasks: int, requested: int) -> int:
    """Return the number of processes for ``tasks`` of known total cost.

    ``requested`` is the user's number, 0 for none.
    """
    if not can_fork():
        return 1
    return max(1, min(tasks, requested or min(available_cores(), microseconds // MICROSECONDS_EACH)))


def run_tasks(
    processes: int, work: Callable[[int], Result], costs: Sequence[int], stages: Stages, stage: str
) -> Iterator[Result]:
    """Yield ``work(number)`` for the number of every cost, in order; the most expensive tasks start first.

    Results must be picklable and complete: changes that ``work`` makes stay in its process. Raises the Perf2xError that
    ``work`` raises. This process repeats the tasks of a process that died. The CPU time of the other processes is added
    to ``stages``.
    """
    order = sorted(range(len(costs)), key=lambda number: -costs[number])
    each = max(1, -(-len(order) // _MOST_CHUNKS))
    chunks = [order[first : first + each] for first in range(0, len(order), each)]
    queue = _queue(len(chunks))
    done: dict[int, Result] = {}

    def there(process: int) -> tuple[dict[int, Result], float]:
        gc.disable()  # a garbage collection would write to all inherited pages, and so copy them
        results = {number: work(number) for chunk in _chunk_numbers(queue) for number in chunks[chunk]}
        return results, time.process_time()

    def here(process: int) -> None:
        done.update((number, work(number)) for chunk in _chunk_numbers(queue) for number in chunks[chunk])

    try:
        for others, seconds in run_in_processes(processes, here, there):
            done.update(others)
            stages.processor[stage] = stages.processor.get(stage, 0.0) + seconds
    finally:
        os.close(queue)
    for number in range(len(costs)):
        yield done.pop(number) if number in done else work(number)


class ShardQueue(Shard, eq=False, kw_only=True):
    """The shards that one process takes from a queue shared with the others: each time, the next in line.

    The first shards are large, because neighbouring blocks share stacks; later ones get smaller, so that all processes
    finish together, even those that started late::

        |0              |1              |2     |3     |4  |5  |6|7|        two processes
    """

    bounds: list[int]
    """(shards + 1,) where each shard begins and the last one ends, in units of 1 / ``_WHOLE`` of the recording."""
    pipe: int
    """Read end of the pipe with the numbers of the remaining shards; all processes share it."""
    taken: list[int]
    """Numbers of this process's shards, ascending; it may not have reached the last one yet."""

    @classmethod
    def among(cls, processes: int) -> "ShardQueue":
        """Create a queue for this number of processes; no shard is taken yet."""
        each = min(processes, _MOST_CHUNKS)
        sizes: list[int] = []
        for halving in range(1, min(_HALVINGS, _MOST_CHUNKS // each)):
            sizes += [(_WHOLE >> halving) // each] * each
        bounds = list(accumulate(sizes, initial=0))
        rest = _WHOLE - bounds[-1]
        bounds += [_WHOLE - rest * left // each for left in range(each - 1, -1, -1)]
        return cls(of=processes, bounds=bounds, pipe=_queue(len(bounds) - 1), taken=[])

    def holds(self, index: int, total: int) -> bool:
        """Return whether block ``index`` of ``total`` belongs to this process.

        Takes shards from the queue up to that block.
        """
        shard = bisect_right(self.bounds, index * _WHOLE // max(total, 1)) - 1
        while (not self.taken or self.taken[-1] < shard) and (number := os.read(self.pipe, _NUMBER_SIZE)):
            self.taken.append(int.from_bytes(number, "little"))
        return shard in self.taken

    def lost(self, reported: Iterable[int]) -> "ShardQueue | None":
        """Return the shards of processes that died, None if there are none.

        ``reported`` are the finished shards.
        """
        left = set(range(len(self.bounds) - 1)).difference(reported, _chunk_numbers(self.pipe))
        return replace(self, taken=sorted(left)) if left else None

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.pipe)


def _queue(count: int) -> int:
    """Return a pipe that contains the numbers below ``count``, at most ``_MOST_CHUNKS``, and then ends."""
    queue, end = os.pipe()
    os.write(end, b"".join(number.to_bytes(_NUMBER_SIZE, "little") for number in range(count)))
    os.close(end)
    return queue


def _chunk_numbers(queue: int) -> Iterator[int]:
    """Yield chunk numbers until the pipe is empty; each is read by one process only."""
    while number := os.read(queue, _NUMBER_SIZE):
        yield int.from_bytes(number, "little")
