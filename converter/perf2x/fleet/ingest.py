"""Ingest of many recordings: hands out tasks and counts how they end; rows stay with the workers that write them."""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from perf2x.fleet.ingest_one import Job, Outcome, ingest_one, note_failure
from perf2x.fleet.task_attempt import Failed, Run

_NAMED = 20


class Totals(Struct):
    """Ends of the tasks so far."""

    of: int
    added: int = 0
    known: int = 0
    left: int = 0
    """Unfinished recordings that may still grow."""
    failed: int = 0
    unfinished: int = 0
    """Of those that were added; so are the undated."""
    undated: int = 0
    samples: int = 0
    errors: list[str] = field(default_factory=list)
    """The first few."""

    @property
    def done(self) -> int:
        """Number of tasks that have ended."""
        return self.added + self.known + self.left + self.failed

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        setattr(self, outcome.state, getattr(self, outcome.state) + 1)  # states are called as their numbers
        self.unfinished += outcome.unfinished
        self.undated += outcome.undated
        self.samples += outcome.samples
        if outcome.error and len(self.errors) < _NAMED:
            self.errors.append(outcome.error)


def ingest(run: Run, sources: Sequence[str], job: Job, report: Callable[[Totals], None]) -> Totals:
    """Add the recordings to the dataset of ``job``; ``report`` is called whenever one is done.

    OutputError when the dataset cannot be written, Perf2xError when the workers are gone.
    """
    totals = Totals(len(sources))
    for source, end in run(ingest_one, sources, job):
        totals.add(note_failure(source, f"{source}: {end.reason}", job) if isinstance(end, Failed) else end)
        report(totals)
    return totals
