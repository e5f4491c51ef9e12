"""Starts tasks in a thread before their results are needed; for work that is mostly done outside Python."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from perf2x.base.files.operating_system import address_space_left

Made = TypeVar("Made")


def started(tasks: Mapping[str, Callable[[], Made]]) -> dict[str, Callable[[], Made]]:
    """Start tasks, which run one after another; each function of the result waits for its task and returns its result.

    It raises what the task raised. Where address space is limited (a thread needs some), a task runs when its result is
    first requested.
    """
    if address_space_left() is not None:
        return dict(tasks)
    pool = ThreadPoolExecutor(1)
    results: dict[str, Callable[[], Made]] = {
        name: pool.submit(copy_context().run, task).result for name, task in tasks.items()
    }
    pool.shutdown(wait=False)
    return results
