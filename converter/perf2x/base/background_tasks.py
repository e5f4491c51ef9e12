"""Starts tasks in a thread before their results are needed.

This saves time if the tasks run outside the interpreter lock, as when pyarrow reads files.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from perf2x.base.files.operating_system import address_space_left

Result = TypeVar("Result")


def start_tasks(tasks: Mapping[str, Callable[[], Result]]) -> dict[str, Callable[[], Result]]:
    """Run tasks one after another in a background thread; return, for each, a function that waits for its result.

    The function raises what the task raised. If address space is limited (ulimit -v), no thread is started, because its
    stack would take some of it. Each task then runs when its function is called.
    """
    if address_space_left() is not None:
        return dict(tasks)
    pool = ThreadPoolExecutor(1)
    results: dict[str, Callable[[], Result]] = {
        name: pool.submit(copy_context().run, task).result for name, task in tasks.items()
    }
    pool.shutdown(wait=False)
    return results
