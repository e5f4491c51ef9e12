"""Divides work among forked worker processes; the first process does a share itself and combines all results.

`Pieces` hands out parts of something uniform (the blocks of a recording), `run_tasks` tasks of very different cost
(objects to symbolize): an idle process takes the next one.

Forked workers have the index, the process history and the mapped file without a copy; only results travel. Where
numpy is not safe to use after a fork (macOS) or there is no fork (Windows), one process does all.
"""

from __future__ import annotations

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
"""Number of samples for each process: names and output, which the first one makes, are too much of fewer.

User stack dumps are no reason for more: hardly two are alike, so that names and output grow with them.
"""
_MANY = 5_000_000
"""From so many samples on, two processes take 3/4 of the time of one, if samples that are alike are summed."""
_FEW = 4
"""So many pay where sums are kept by thread, two do not; none do where every sample is drawn."""
MICROSECONDS_EACH = 150_000
"""Cost of other work from which a process pays."""

_WHOLE = 1 << 40
_HALVINGS = 7
"""Pieces get smaller so often."""
_NUMBER_SIZE = 4
"""Bytes of a number in a pipe."""
_MOST_CHUNKS = 1024
"""Numbers that every pipe can hold, however many pipes the user has: one page."""


def processes_for(samples: int, options: LoadOptions) -> int:
    """Number of processes for a pass over samples: the user's, or as many as are worth it, at most one per core."""
    if not can_fork():
        return 1
    if options.jobs:
        return options.jobs
    if samples < _MANY or options.needs_times or options.as_recorded:
        return 1
    count = min(available_cores(), samples // _SAMPLES_EACH)
    return count if count >= _FEW or not options.keeps_threads else 1


def processes_for_work(microseconds: int, tasks: int, requested: int) -> int:
    """Number of processes for ``tasks`` of known total cost; ``requested`` is the user's number, 0 for none."""
    if not can_fork():
        return 1
    return max(1, min(tasks, requested or min(available_cores(), microseconds // MICROSECONDS_EACH)))


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
    queue = _queue(len(chunks))
    done: dict[int, Result] = {}

    def there(process: int) -> tuple[dict[int, Result], float]:
        gc.disable()  # it would write to, and so copy, all inherited pages
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


class Pieces(Shard, frozen=True, eq=False, kw_only=True):
    """The pieces of a recording that one process takes, each time the next one that no other has taken.

    The first pieces are large, so that a process reads neighbouring blocks, which share stacks; later ones get smaller,
    so that all processes end together, also those that began late::

        |0              |1              |2     |3     |4  |5  |6|7|        two processes
    """

    bounds: list[int]
    """(pieces + 1,) where they begin, in parts of ``_WHOLE``."""
    queue: int
    """The pipe of their numbers, which all processes share."""
    taken: list[int]
    """Those of this process, rising; the last one may lie ahead."""

    @classmethod
    def among(cls, processes: int) -> Pieces:
        """Pieces for so many processes, of which none is taken yet."""
        each = min(processes, _MOST_CHUNKS)
        sizes: list[int] = []
        for halving in range(1, min(_HALVINGS, _MOST_CHUNKS // each)):
            sizes += [(_WHOLE >> halving) // each] * each
        bounds = list(accumulate(sizes, initial=0))
        rest = _WHOLE - bounds[-1]
        bounds += [_WHOLE - rest * left // each for left in range(each - 1, -1, -1)]
        return cls(of=processes, bounds=bounds, queue=_queue(len(bounds) - 1), taken=[])

    def holds(self, index: int, total: int) -> bool:
        """Tell whether block ``index`` of ``total`` is this process's, and take pieces up to there."""
        piece = bisect_right(self.bounds, index * _WHOLE // max(total, 1)) - 1
        while (not self.taken or self.taken[-1] < piece) and (number := os.read(self.queue, _NUMBER_SIZE)):
            self.taken.append(int.from_bytes(number, "little"))
        return piece in self.taken

    def lost(self, reported: Iterable[int]) -> Pieces | None:
        """Pieces of processes that died, None without any; ``reported`` are those of all that came to their end."""
        left = set(range(len(self.bounds) - 1)).difference(reported, _chunk_numbers(self.queue))
        return replace(self, taken=sorted(left)) if left else None

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.queue)


def _queue(count: int) -> int:
    """A pipe with the numbers below ``count``, at most ``_MOST_CHUNKS``, and nothing behind them."""
    queue, end = os.pipe()
    os.write(end, b"".join(number.to_bytes(_NUMBER_SIZE, "little") for number in range(count)))
    os.close(end)
    return queue


def _chunk_numbers(queue: int) -> Iterator[int]:
    """Chunk numbers from the pipe until it is empty; each is read by one process only."""
    while number := os.read(queue, _NUMBER_SIZE):
        yield int.from_bytes(number, "little")
