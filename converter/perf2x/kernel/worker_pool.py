"""Divides work among forked worker processes and the first process, which combines all results.

`ShardQueue` divides the blocks of a recording; `run_tasks` divides tasks of very different cost. An idle process takes
the next number from a queue: a pipe that is filled with all numbers beforehand, so that only one process reads each.

Workers inherit the index, the process history and the mapped file without a copy. Where numpy is not safe after a fork
(macOS) or there is no fork (Windows), one process does all the work.
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

_SAMPLES_PER_PROCESS = 2_000_000
"""Samples for which one more process is worthwhile.

With fewer, a conversion spends most of its time on names and output, which more processes for this pass do not speed
up. The number is the same for user stack dumps, although unwinding takes time: nearly all their stacks are distinct,
so names and output take longer in the same proportion.
"""
# Minimum of samples for several processes. If equal samples are summed, two processes then take 3/4 of the time.
_MIN_SAMPLES_TO_FORK = 5_000_000
# Minimum of processes if threads are kept separate, which makes sums and output larger.
_MIN_PROCESSES_BY_THREAD = 4
# Estimated cost of tasks, in microseconds, for which one more process is worthwhile.
MICROSECONDS_PER_PROCESS = 150_000

_RECORDING_LENGTH = 1 << 40  # in the unit of ShardQueue.bounds
# Number of shards for each process. Each is half as large as the one before; the last two are equal.
_SHARDS_PER_PROCESS = 7
_NUMBER_SIZE = 4
# Numbers that fit into any pipe: the kernel limits pipes to one page if the user has too many of them.
_MAX_QUEUED = 1024


def processes_for_samples(samples: int, options: LoadOptions) -> int:
    """Choose the number of processes for a pass over ``samples`` samples.

    Without ``LoadOptions.jobs``, it is as many as are worthwhile, at most one per core; 1 for output that keeps single
    samples, because writing takes most of the time.
    """
    if not can_fork():
        return 1
    if options.jobs:
        return options.jobs
    if samples < _MIN_SAMPLES_TO_FORK or options.needs_times or options.as_recorded:
        return 1
    count = min(available_cores(), samples // _SAMPLES_PER_PROCESS)
    return count if count >= _MIN_PROCESSES_BY_THREAD or not options.keeps_threads else 1


def processes_for_work(microseconds: int, tasks: int, requested: int) -> int:
    """Choose the number of processes for ``tasks`` with a total cost of ``microseconds``.

    ``requested`` is the user's number; 0: as many as are worthwhile.
    """
    if not can_fork():
        return 1
    return max(1, min(tasks, requested or min(available_cores(), microseconds // MICROSECONDS_PER_PROCESS)))


def run_tasks(
    processes: int, work: Callable[[int], Result], costs: Sequence[int], stages: Stages, stage: str
) -> Iterator[Result]:
    """Yield ``work(task)`` for every task, in order. Tasks are numbered from 0; ``costs`` has the cost of each.

    The most expensive tasks start first. Results must be picklable; other changes that ``work`` makes stay in its
    process. The other processes' CPU time is added to ``stage``. Raises the Perf2xError that ``work`` raises.
    """
    order = sorted(range(len(costs)), key=lambda task: -costs[task])
    chunk_size = max(1, -(-len(order) // _MAX_QUEUED))  # 1 unless the queue cannot hold a number for each task
    chunks = [order[first : first + chunk_size] for first in range(0, len(order), chunk_size)]
    queue = _queue_of_numbers(len(chunks))
    results: dict[int, Result] = {}

    def in_worker(process: int) -> tuple[dict[int, Result], float]:
        gc.disable()  # a collection writes to inherited pages, and so copies them
        results = {task: work(task) for chunk in _take_numbers(queue) for task in chunks[chunk]}
        return results, time.process_time()

    def in_this_process(process: int) -> None:
        results.update((task, work(task)) for chunk in _take_numbers(queue) for task in chunks[chunk])

    try:
        for worker_results, cpu_seconds in run_in_processes(processes, in_this_process, in_worker):
            results.update(worker_results)
            stages.cpu[stage] = stages.cpu.get(stage, 0.0) + cpu_seconds
    finally:
        os.close(queue)
    for task in range(len(costs)):
        yield results.pop(task) if task in results else work(task)


class ShardQueue(Shard, eq=False, kw_only=True):
    """The shards of one process, which takes them from a queue that all processes share.

    The first shards are large, because neighbouring blocks share stacks. Later ones get smaller, so that all processes
    end at about the same time. For two processes::

        |0              |1              |2      |3      |4  |5  |6|7| …
    """

    bounds: list[int]
    """(shards + 1,) the boundaries of shards, from 0 to ``_RECORDING_LENGTH``; shard i ends at ``bounds[i + 1]``."""
    pipe: int
    """File descriptor of the queue: the read end of a pipe with the numbers of the shards that nobody has taken."""
    taken: list[int]
    """Numbers of the shards that this process took, ascending; it may not have reached the last of these yet."""

    @classmethod
    def for_processes(cls, processes: int) -> "ShardQueue":
        """Create a queue for this number of processes."""
        round_size = min(processes, _MAX_QUEUED)  # a round has a shard of one size for each process
        sizes: list[int] = []
        for halving in range(1, min(_SHARDS_PER_PROCESS, _MAX_QUEUED // round_size)):
            sizes += [(_RECORDING_LENGTH >> halving) // round_size] * round_size  # half of what is left
        bounds = list(accumulate(sizes, initial=0))
        # the last round is counted from the end, so that nothing is lost by rounding
        length_left = _RECORDING_LENGTH - bounds[-1]
        bounds += [_RECORDING_LENGTH - length_left * after // round_size for after in range(round_size - 1, -1, -1)]
        return cls(count=processes, bounds=bounds, pipe=_queue_of_numbers(len(bounds) - 1), taken=[])

    def holds(self, index: int, total: int) -> bool:
        """Take shards up to that of block ``index`` of ``total``, and return whether this one was taken.

        Ask for blocks in ascending order.
        """
        shard = bisect_right(self.bounds, index * _RECORDING_LENGTH // max(total, 1)) - 1
        while (not self.taken or self.taken[-1] < shard) and (number := os.read(self.pipe, _NUMBER_SIZE)):
            self.taken.append(int.from_bytes(number, "little"))
        return shard in self.taken

    def lost(self, finished: Iterable[int]) -> "ShardQueue | None":
        """Return the shards of processes that died, or None. Call it after all other processes ended.

        Shards whose results have arrived are ``finished``; those that are still in the queue have no blocks.
        """
        lost = set(range(len(self.bounds) - 1)).difference(finished, _take_numbers(self.pipe))
        return replace(self, taken=sorted(lost)) if lost else None

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.pipe)


def _queue_of_numbers(count: int) -> int:
    read_end, write_end = os.pipe()
    os.write(write_end, b"".join(number.to_bytes(_NUMBER_SIZE, "little") for number in range(count)))
    os.close(write_end)
    return read_end


def _take_numbers(queue: int) -> Iterator[int]:
    while number := os.read(queue, _NUMBER_SIZE):
        yield int.from_bytes(number, "little")
