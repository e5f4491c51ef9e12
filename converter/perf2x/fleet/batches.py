"""Ends of tasks that are written down together: a commit for each would cost more than the tasks."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import TypeVar

_TOGETHER, _SECONDS = 64, 10.0
"""Ends of a batch, and how long the first of them waits at most."""
End = TypeVar("End")


@contextlib.contextmanager
def batches(write: Callable[[Sequence[End]], None]) -> Iterator[Callable[[End], None]]:
    """Give a function that takes an end; ``write`` gets them by the batch, the last ones whatever ends the block."""
    waiting: list[End] = []
    since = monotonic()

    def add(end: End) -> None:
        nonlocal waiting, since
        since = since if waiting else monotonic()
        waiting.append(end)
        if len(waiting) >= _TOGETHER or monotonic() - since > _SECONDS:
            done, waiting = waiting, []
            write(done)

    try:
        yield add
    finally:
        if waiting:
            write(waiting)
