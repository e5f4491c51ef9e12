"""A queue of tasks of very different cost for several processes: an idle process takes the next task.

A fixed assignment would leave one process busy with the largest object while the others wait.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from perf2x.pipeline.stage_timer import Stages
from perf2x.pipeline.worker_pool import run_in_processes
from perf2x.tables.events import Share

Result = TypeVar("Result")

_SIZE = 4
"""Bytes of a chunk number in the pipe."""
_MOST_CHUNKS = 1024
"""Chunk numbers that every pipe can hold, however many pipes the user has: one page."""


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
    os.write(queue_end, b"".join(number.to_bytes(_SIZE, "little") for number in range(len(chunks))))
    os.close(queue_end)
    done: dict[int, Result] = {}

    def there(share: Share) -> tuple[dict[int, Result], float]:
        gc.disable()  # it would write to, and so copy, all inherited pages
        results = {number: work(number) for chunk in _chunk_numbers(queue) for number in chunks[chunk]}
        return results, time.process_time()

    def here(share: Share) -> None:
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
    while number := os.read(queue, _SIZE):
        yield int.from_bytes(number, "little")
