"""Names of a whole dataset: hands out a task per object; rows stay with the workers that write them."""

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from perf2x.fleet.symbolize_object import Named, NamingJob, symbolize_one
from perf2x.fleet.task_attempt import Failed, Run
from perf2x.model.printable_text import base_name
from perf2x.storage.dataset.names.unnamed_places import CodeObject


class NamingTotals(Struct):
    """Ends of the tasks so far."""

    of: int
    """Number of objects."""
    done: int = 0
    failed: int = 0
    places: int = 0
    named: int = 0
    unnamed: list[Named] = field(default_factory=list)
    """Objects of which places stay without names."""

    def add(self, one: Named) -> None:
        """Count one more."""
        self.done += 1
        self.places += one.places
        self.named += one.named
        if one.reason:
            self.unnamed.append(one)


def symbolize(
    run: Run, objects: Iterator[CodeObject], job: NamingJob, report: Callable[[NamingTotals], None], count: int
) -> NamingTotals:
    """Name the places of ``count`` objects; ``report`` is called after each.

    OutputError when the dataset cannot be written, Perf2xError when the workers are gone.
    """
    totals = NamingTotals(count)
    for code, end in run(symbolize_one, objects, job):
        if isinstance(end, Failed):
            totals.failed += 1
            end = Named(base_name(str(code.mappings[-1]["file"])), len(code.offset), 0, end.reason)
        totals.add(end)
        report(totals)
    return totals
