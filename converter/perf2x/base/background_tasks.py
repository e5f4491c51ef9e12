"""Tasks that start in a thread before their results are needed; for work that is mostly done outside Python."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from perf2x.base.files.operating_system import address_space_left

Made = TypeVar("Made")


def begun(tasks: Mapping[str, Callable[[], Made]]) -> dict[str, Callable[[], Made]]:
    """Begin tasks, one after another; each function of the result waits for one, and returns or raises what it did.

    Where address space is limited, of which a thread takes some, tasks begin when they are asked for.
    """
    if address_space_left() is not None:
        return dict(tasks)
    pool = ThreadPoolExecutor(1)
    results: dict[str, Callable[[], Made]] = {
        name: pool.submit(copy_context().run, task).result for name, task in tasks.items()
    }
    pool.shutdown(wait=False)
    return results
