"""Named counters of everything that was skipped, lost or guessed.

A file that cannot be read raises; a record that cannot be read is counted here and the work goes on.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct, field

from perf2x.model.diagnostic_words import ENDS_EARLY, in_words


class Severity(StrEnum):
    """Effect of a kind of damage on the result."""

    INFO = "info"
    """Nothing is missing from the result."""
    GUESS = "guess"
    """The result rests on an assumption."""
    LOSS = "loss"
    """Something that was recorded, or should have been, is not in the result."""


class Count(Struct):
    """One kind of damage: how often, how bad, what to do, and where it was found first."""

    name: str
    severity: Severity
    advice: str
    count: int = 0
    first: str = ""

    @property
    def words(self) -> str:
        """Number and description in plain words: ``3 damaged records``."""
        return in_words(self.name, self.count)


class Diagnostics(Struct):
    """All counters of one conversion, in the order of their first occurrence."""

    counts: dict[str, Count] = field(default_factory=dict)

    def add(self, name: str, severity: Severity, advice: str, count: int = 1, where: str = "") -> None:
        """Add ``count`` to the counter ``name`` (snake_case), which keeps the first call's advice and ``where``."""
        if count <= 0:
            return
        entry = self.counts.setdefault(name, Count(name, severity, advice, 0, where))
        entry.count += count

    def absorb(self, counts: Iterable[Count]) -> None:
        """Add the counts of another Diagnostics."""
        for count in counts:
            self.add(count.name, count.severity, count.advice, count.count, count.first)

    def missing_ends(self) -> list[Count]:
        """Counts which say that the end of a recording is missing, so that nobody knows how many samples are."""
        return [count for count in self.counts.values() if count.name in ENDS_EARLY]

    @contextmanager
    def apart(self) -> Iterator[dict[str, Count]]:
        """Collect what is counted inside the block apart from all other counts, in the mapping that it is given."""
        others, self.counts = self.counts, {}
        try:
            yield self.counts
        finally:
            self.counts = others

    def __getitem__(self, name: str) -> int:
        entry = self.counts.get(name)
        return entry.count if entry else 0
