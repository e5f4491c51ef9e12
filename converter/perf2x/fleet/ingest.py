"""Ingest of many recordings: hands out tasks and counts how they end; rows stay with the workers that write them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct, field

from perf2x.fleet.ingest_one import ADDED, FAILED, KNOWN, Job, Outcome, ingest_one, note_failure
from perf2x.tables.errors import Perf2xError

AHEAD = 4
"""Tasks of each thread that the scheduler knows: enough to keep it busy, few enough for any number of recordings."""
_NAMED = 20


class Totals(Struct):
    """Ends of the tasks so far."""

    of: int
    added: int = 0
    known: int = 0
    failed: int = 0
    samples: int = 0
    errors: list[str] = field(default_factory=list)
    """The first few."""

    @property
    def done(self) -> int:
        """Number of tasks that have ended."""
        return self.added + self.known + self.failed

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        self.added += outcome.state == ADDED
        self.known += outcome.state == KNOWN
        self.failed += outcome.state == FAILED
        self.samples += outcome.samples
        if outcome.error and len(self.errors) < _NAMED:
            self.errors.append(outcome.error)


def ingest(client: Any, sources: Sequence[str], job: Job, report: Callable[[Totals], None]) -> Totals:
    """Add the recordings to the dataset of ``job``; ``report`` is called whenever one is done.

    OutputError when the dataset cannot be written, Perf2xError when the scheduler is gone.
    """
    totals = Totals(len(sources))
    for source, future in _in_turn(client, sources, job):
        totals.add(_outcome(source, future, job))
        report(totals)
    return totals


def _in_turn(client: Any, sources: Sequence[str], job: Job) -> Iterator[tuple[str, Any]]:
    """Yield each source with its finished task, a bounded number of which is under way."""
    from distributed import as_completed

    in_turn: Any = as_completed
    rest = iter(sources)
    ahead = AHEAD * max(2, sum(client.nthreads().values()))

    def submit(count: int) -> list[Any]:
        begun = [(client.submit(ingest_one, one, job, pure=False), one) for one in islice(rest, count)]
        names.update((future.key, one) for future, one in begun)
        return [future for future, _ in begun]

    names: dict[str, str] = {}
    running = in_turn(submit(ahead))
    for future in running:
        yield names.pop(future.key), future
        future.release()
        for more in submit(1):
            running.add(more)


def _outcome(source: str, future: Any, job: Job) -> Outcome:
    if future.status in ("cancelled", "lost"):
        raise Perf2xError("the scheduler is gone; the same command goes on where this one ended")
    error = future.exception()
    if error is None:
        found: Outcome = future.result()
        return found
    if isinstance(error, Perf2xError):
        raise error
    text = " ".join(str(error).split())[:500]
    return note_failure(source, f"{source}: {type(error).__name__}: {text}", job)
