"""``--fail-above`` of ``perf2x diff``: limits to the growth of functions, objects and the whole.

::

    5%                  every line of the table, and the whole
    total=5%            the whole alone
    function=2%         any function; object=2% any object
    function:parse*=1%  functions by name or glob; object:libc.so.6=1%
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.errors import OptionError
from perf2x.cli.quality_gates import parse_percentage
from perf2x.model.number_format import format_change
from perf2x.transforms.filters.unmatched_filters import no_such

if TYPE_CHECKING:
    from perf2x.analysis.diff.changes import Change, Comparison
    from perf2x.analysis.diff.noise import Interval


class GrowthLimit(Struct, frozen=True):
    """One limit, in percent of the whole before."""

    percent: float
    kind: str = ""
    """function or object; "" for the lines of the table that is shown."""
    pattern: str = "*"
    whole: bool = True
    lines: bool = True


def parse_limits(texts: Sequence[str]) -> list[GrowthLimit]:
    """Parse the values of --fail-above; OptionError for one that is not a limit."""
    return [_parse_limit(text) for text in texts]


def _parse_limit(text: str) -> GrowthLimit:
    what, equals, share = text.rpartition("=")
    percent = parse_percentage("fail_above", share) or 0.0
    if not equals:
        return GrowthLimit(percent)
    if what == "total":
        return GrowthLimit(percent, lines=False)
    kind, colon, pattern = what.partition(":")
    if kind not in ("function", "object") or (colon and not pattern):
        raise OptionError(
            f"--fail-above {text}: expected 5%, total=5%, function=5%, object=5%, function:NAME=5% or object:NAME=5%"
        )
    return GrowthLimit(percent, kind, pattern or "*", whole=False)


def parse_confidence(text: str) -> float:
    """Parse ``0.95`` or ``95%``; OptionError for a value outside (0, 1)."""
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise OptionError(f"--confidence {text}: expected a number between 0 and 1 such as 0.95, or 95%")
    return value


class DiffGate(Struct, frozen=True):
    """All limits, and the rule that tells a change from noise."""

    limits: Sequence[GrowthLimit]
    sort: str
    """self or total: the column that limits are held against."""
    confidence: float
    any_change: bool = False
    """Count changes that sampling noise explains, too."""

    def verdict(self, by: str, compared: Callable[[str], "Comparison"]) -> "GateVerdict":
        """Check every limit against the tables that ``compared`` gives for ``function``, ``object`` and ``thread``.

        ``by`` is the table of a limit that names none.
        """
        checks = [_Check.of(one, one.kind or by, compared(one.kind or by), self.sort) for one in self.limits]
        rows = {(check.kind, row.name, row.object) for check in checks for row in check.rows}
        comparisons = len(rows) + any(check.whole for check in checks)
        verdict = GateVerdict([check.unmatched for check in checks if check.unmatched])
        for check in checks:
            self._judge(check, comparisons, verdict)
        return verdict

    def _judge(self, check: "_Check", comparisons: int, verdict: "GateVerdict") -> None:
        """Add the outcome of one limit."""
        judged = check.comparison.judged(check.rows, self.confidence, comparisons)
        for row in judged:
            verdict.intervals[check.kind, row.name, row.object] = row.interval(self.sort)
        growths = [*check.whole_growth(self.confidence, comparisons), *_row_growths(judged, self.sort)]
        noise = []
        for growth in (growth for growth in growths if growth.change > check.allowed):
            if not self.any_change and growth.interval[0] <= 0:
                noise.append(growth.name)
            elif (sentence := self._failure(growth, check)) not in verdict.failures:
                verdict.failures.append(sentence)
        if noise:
            more = f" and {len(noise) - _NAMED} more" if len(noise) > _NAMED else ""
            verdict.notes.append(
                f"{', '.join(noise[:_NAMED])}{more} grew by more than {check.limit.percent:g} %, but sampling noise "
                "explains it (--fail-above); record more samples to be sure"
            )

    def _failure(self, growth: "_Growth", check: "_Check") -> str:
        whole, (low, high) = check.comparison.before.whole, growth.interval
        span = "" if self.any_change else f" ({format_change(low, whole)} to {format_change(high, whole)})"
        grew = f"{growth.name} grew by {format_change(growth.change, whole)}{growth.of}{span}"
        return f"{grew}, more than {check.limit.percent:g} % (--fail-above)"


_NAMED = 3
"""Number of changes within noise that are named."""


class GateVerdict(Struct, frozen=True):
    """Outcome of all limits."""

    unmatched: list[str]
    """A sentence for each limit whose pattern matches no row."""
    failures: list[str] = field(default_factory=list)
    """A sentence for each change that is too large; the gate fails if there is any."""
    notes: list[str] = field(default_factory=list)
    """Sentences on changes that would be too large if noise did not explain them."""
    intervals: dict[tuple[str, str, str], "Interval"] = field(default_factory=dict)
    """Interval of every row (kind, name, object) that a limit was held against."""

    def with_intervals(self, rows: Iterable["Change"], kind: str, sort: str) -> Iterator["Change"]:
        """The rows, those that a limit was held against with its interval, so that table and gate agree."""
        for row in rows:
            interval = self.intervals.get((kind, row.name, row.object))
            yield row if interval is None else row.with_interval(sort, interval)


class _Growth(Struct, frozen=True):
    """A change of a row or of the whole, in the event's unit, and its interval."""

    name: str
    of: str
    change: int
    interval: "Interval"


def _row_growths(rows: Iterable["Change"], sort: str) -> Iterator[_Growth]:
    """Changes of rows, the largest first."""
    for row in sorted(rows, key=lambda row: (-row.moved(sort), row.name, row.object)):
        name = f"{row.name} in {row.object}" if row.object else row.name
        yield _Growth(name, " of the whole", row.moved(sort), row.interval(sort))


class _Check(Struct, frozen=True):
    """One limit and the rows that could exceed it.

    The sum of a function's values in both recordings says nothing about its change, so leaving small ones out favours
    neither answer; and fewer comparisons have narrower intervals.
    """

    limit: GrowthLimit
    kind: str
    comparison: "Comparison"
    allowed: float
    """Largest change that passes, in the event's unit."""
    rows: Sequence["Change"] = ()
    whole: bool = False
    """Whether the limit holds for the whole, too."""
    unmatched: str = ""
    """A sentence when the limit's pattern matches no row."""

    @classmethod
    def of(cls, limit: GrowthLimit, kind: str, comparison: "Comparison", sort: str) -> "_Check":
        """Choose the rows. Nothing grows by a share of nothing, and normalized wholes are equal."""
        check = cls(limit, kind, comparison, limit.percent / 100 * comparison.before.whole)
        if not comparison.before.whole:
            return check
        changes = comparison.changes() if limit.lines else []
        matching = [row for row in changes if row.name == limit.pattern or fnmatchcase(row.name, limit.pattern)]
        unmatched = ""
        if limit.lines and not matching and limit.pattern != "*":
            unmatched = f"--fail-above: {no_such(limit.kind, limit.pattern, [row.name for row in changes])}"
        rows = [row for row in matching if row.together(sort) > check.allowed]
        return replace(check, rows=rows, whole=limit.whole and not comparison.normalize, unmatched=unmatched)

    def whole_growth(self, confidence: float, comparisons: int) -> Iterator[_Growth]:
        """The change of the whole, if the limit holds for it."""
        if self.whole:
            change = self.comparison.after.whole - self.comparison.before.whole
            yield _Growth("the whole", "", change, self.comparison.whole_interval(confidence, comparisons))
