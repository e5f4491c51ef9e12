"""Tasks of Dask in turn: any number of them, a bounded number of which is under way."""

from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from itertools import islice
from typing import Any, TypeVar

from perf2x.base.errors import Perf2xError
from perf2x.fleet.task_attempt import Task, attempt, failed

AHEAD = 4
"""Tasks of each thread that the scheduler knows: enough to keep it busy, few enough for any number of tasks."""

Item = TypeVar("Item")


def in_turn(client: Any, task: Task, items: Iterable[Item], job: object) -> Iterator[tuple[Item, Any]]:
    """Do tasks on a cluster (see Run); Perf2xError also when its scheduler is gone."""
    from distributed import as_completed

    completed: Any = as_completed
    rest = iter(items)
    ahead = AHEAD * max(2, sum(client.nthreads().values()))

    def submit(count: int) -> list[Any]:
        begun = [(client.submit(attempt, task, one, job, pure=False), one) for one in islice(rest, count)]
        known.update((future.key, one) for future, one in begun)
        return [future for future, _ in begun]

    known: dict[str, Item] = {}
    running = completed(submit(ahead))
    for future in running:
        yield known.pop(future.key), end_of(future)
        future.release()
        for more in submit(1):
            running.add(more)


def end_of(future: Any) -> Any:
    """Return the result of a task, or Failed; one whose worker has died since runs again and is waited for.

    Perf2xError when the scheduler is gone, or where the task raised one.
    """
    try:
        error = future.exception()
        found = future.result() if error is None else failed(error)
    except CancelledError:
        raise Perf2xError("the scheduler is gone; run the same command again to continue") from None
    if isinstance(error, Perf2xError):
        raise error
    return found
