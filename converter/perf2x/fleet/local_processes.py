"""Workers of this machine: processes that hear the first one alone, by pipes that have no names.

Nothing listens, so nobody else on the machine can reach them. One that dies is replaced, and what it had begun is
begun again. When the first process is killed they finish their tasks and end.

One task on a worker, wherever that is: its result, or in words why there is none.
"""

import contextlib
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from msgspec import Struct

from perf2x.base.errors import Perf2xError, is_out_of_memory
from perf2x.base.files.operating_system import interruptions_held, spawn_context

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


_TRIES = 5
"""Processes that may die of one item."""
_STARTS = 20
"""Processes in a row that may die while they start."""
_GRACE_S = 10
"""Seconds in which a worker that is told to end may remove its temporary files."""


class _Begun(Struct):
    item: Any
    deaths: int = 0


class _Worker:
    """A process, and what it does: nothing while it starts."""

    def __init__(self, task: Task, job: object) -> None:
        context = spawn_context()  # forked, it would inherit locks of DuckDB's threads and of stores' clients
        self.connection, theirs = context.Pipe()
        self.begun: _Begun | None = None
        self.process = context.Process(target=_work, args=(theirs, task, job), daemon=True)
        with theirs, interruptions_held():
            self.process.start()

    def begin(self, begun: _Begun) -> None:
        """Hand out an item; that the worker has died is noticed when its end is read."""
        self.begun = begun
        with contextlib.suppress(OSError):
            self.connection.send(begun.item)

    def tell_to_end(self) -> None:
        self.connection.close()
        self.process.terminate()

    def ended(self) -> str:
        """Wait until the process has ended, and say how."""
        self.process.join(_GRACE_S)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


class _Crew:
    """Workers that do one task, and the items that they have not ended."""

    def __init__(self, count: int, task: Task, items: Iterable[Any], job: object) -> None:
        self.count, self.start = count, partial(_Worker, task, job)
        self.todo = map(_Begun, items)
        self.again: deque[_Begun] = deque()
        self.all: list[_Worker] = []
        self.busy: dict[Any, _Worker] = {}
        self.failed_starts = 0

    def ends(self) -> Iterator[tuple[Any, Any]]:
        """Yield each item with its end."""
        for _ in range(self.count):
            self.hire()
        while self.busy:
            for ready in wait(list(self.busy)):
                worker = self.busy[ready]
                begun = worker.begun
                try:
                    end = worker.connection.recv()
                except (EOFError, OSError):
                    end = self.replace(worker)
                else:
                    self.failed_starts = 0
                    self.hand_out(worker)
                if isinstance(end, Perf2xError):
                    raise end
                if begun is not None and end is not None:
                    yield begun.item, end

    def hire(self) -> None:
        """Start one more worker; Perf2xError when there are none at all."""
        try:
            worker = self.start()
        except OSError as error:
            if not self.busy:
                raise Perf2xError(f"worker processes cannot be started: {error.strerror}") from None
            return
        self.all.append(worker)
        self.busy[worker.connection] = worker

    def hand_out(self, worker: _Worker) -> None:
        """Give a worker the next item, or let it go."""
        begun = self.again.popleft() if self.again else next(self.todo, None)
        if begun is None:
            del self.busy[worker.connection]
            worker.connection.close()
        else:
            worker.begin(begun)

    def replace(self, worker: _Worker) -> Failed | None:
        """Take another worker for one that died, which may have killed it once too often."""
        del self.busy[worker.connection]
        self.all.remove(worker)
        how, begun = worker.ended(), worker.begun
        failed = None
        if begun is None:
            self.failed_starts += 1
            if self.failed_starts == _STARTS:
                raise Perf2xError(f"worker processes end while they start ({how}): is there enough memory?")
        elif begun.deaths + 1 < _TRIES:
            self.again.append(_Begun(begun.item, begun.deaths + 1))
        else:
            failed = Failed(f"{_TRIES} worker processes ended while they read it ({how}): is there enough memory?")
        self.hire()
        return failed

    def end(self) -> None:
        """End all workers, whatever they do."""
        for worker in self.all:
            worker.tell_to_end()
        for worker in self.all:
            worker.ended()


@contextlib.contextmanager
def processes(count: int) -> Iterator[Run]:
    """Give a way to do tasks in so many processes, which are gone at the end.

    Tasks return something that is not None. Perf2xError also when no process can be started.
    """
    with contextlib.ExitStack() as stack:

        def run(task: Task, items: Iterable[Any], job: object) -> Iterator[tuple[Any, Any]]:
            crew = _Crew(count, task, items, job)
            stack.callback(crew.end)
            return crew.ends()

        yield run


def _work(connection: Connection, task: Task, job: object) -> None:
    """Do items until there are no more, or the first process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process reports it, and ends its workers
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ended_by = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    for number in ended_by:
        signal.signal(number, _leave)
    with contextlib.suppress(EOFError, OSError, MemoryError):
        connection.send(None)  # started
        while True:
            connection.send(_end_of(task, connection.recv(), job))
    for number in ended_by:  # Python's own end is not to be interrupted
        signal.signal(number, signal.SIG_IGN)


def _end_of(task: Task, item: object, job: object) -> object:
    try:
        return attempt(task, item, job)
    except Perf2xError as error:
        return error


def _leave(number: int, _: object) -> NoReturn:
    """End with the temporary files removed."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)
