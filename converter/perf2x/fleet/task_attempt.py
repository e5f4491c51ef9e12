"""One task on a worker, wherever that is: its result, or in words why there is none."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from perf2x.base.errors import Perf2xError, is_out_of_memory

Task = Callable[..., object]
Run = Callable[[Task, Iterable[Any], object], Iterator[tuple[Any, Any]]]
"""A way to do tasks: yields each item with the result of ``task(item, job)``, or with Failed, as they end. Perf2xError
where a task raised one: it ends the run."""


class Failed(Struct, frozen=True):
    """End of a task without a result."""

    reason: str


def attempt(task: Task, item: object, job: object) -> object:
    """Return the result of a task, or Failed. Perf2xError where the task raises one."""
    try:
        return task(item, job)
    except Perf2xError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever perf2x stumbles on, the fleet's other recordings are read
        return failed(error)


def failed(error: BaseException) -> Failed:
    """Say on one line of a bounded length what ended a task."""
    if is_out_of_memory(error):
        return Failed("not enough memory")
    text = " ".join(str(error).split())[:500]
    return Failed(f"perf2x cannot read it, which is a mistake worth a report ({type(error).__name__}: {text})")


def one_by_one(task: Task, items: Iterable[Any], job: object) -> Iterator[tuple[Any, Any]]:
    """Do tasks in this process (see Run)."""
    yield from ((one, attempt(task, one, job)) for one in items)
