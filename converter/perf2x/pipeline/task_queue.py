"""Pieces of work of very different size, several processes: whoever is free takes the next one.

Shares that are cut beforehand would leave one process with the largest object, the others waiting.
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
"""Bytes of a ticket."""
_TICKETS_AT_MOST = 1024
"""What every pipe holds, however many pipes the user has: one page."""


def handed_out(
    processes: int, work: Callable[[int], Result], costs: Sequence[int], stages: Stages, stage: str
) -> Iterator[Result]:
    """``work(number)`` for the number of every cost, in order; the most costly are begun first.

    Results must be picklable and say everything: what ``work`` changes stays in its process. Raises the Perf2xError
    that it raises. What was taken by a process that died is done here. ``stages`` is told what other processes took.
    """
    order = sorted(range(len(costs)), key=lambda number: -costs[number])
    each = max(1, -(-len(order) // _TICKETS_AT_MOST))
    pieces = [order[first : first + each] for first in range(0, len(order), each)]
    tickets, giver = os.pipe()
    os.write(giver, b"".join(number.to_bytes(_SIZE, "little") for number in range(len(pieces))))
    os.close(giver)
    done: dict[int, Result] = {}

    def there(share: Share) -> tuple[dict[int, Result], float]:
        gc.disable()  # it would touch, and so copy, everything that was here before
        results = {number: work(number) for piece in _taken(tickets) for number in pieces[piece]}
        return results, time.process_time()

    def here(share: Share) -> None:
        done.update((number, work(number)) for piece in _taken(tickets) for number in pieces[piece])

    try:
        for others, seconds in run_in_processes(processes, here, there):
            done.update(others)
            stages.processor[stage] = stages.processor.get(stage, 0.0) + seconds
    finally:
        os.close(tickets)
    for number in range(len(costs)):
        yield done.pop(number) if number in done else work(number)


def _taken(tickets: int) -> Iterator[int]:
    """One ticket after the other, until there are none left; a pipe gives each of them once."""
    while ticket := os.read(tickets, _SIZE):
        yield int.from_bytes(ticket, "little")
