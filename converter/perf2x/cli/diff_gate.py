"""``--fail-above`` of ``perf2x diff``: how much a function, an object or the whole may grow.

::

    5%                  every line of the table, and the whole
    total=5%            the whole alone
    function=2%         any function; object=2% any object
    function:parse*=1%  functions by name or glob; object:libc.so.6=1%
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

from perf2x.cli import progress as console
from perf2x.cli.gates import limit
from perf2x.cli.render.plain_table import signed
from perf2x.tables.errors import OptionError
from perf2x.transform.choice import no_such

if TYPE_CHECKING:
    from perf2x.analysis.diff import Change, Comparison
    from perf2x.analysis.noise import Interval


class Bar(Struct, frozen=True):
    """One limit."""

    percent: float
    kind: str = ""
    """function or object; "" for the lines of the table that is shown."""
    pattern: str = "*"
    whole: bool = True
    lines: bool = True


def bars_of(texts: Sequence[str]) -> list[Bar]:
    """What was said; OptionError for what is no limit."""
    return [_bar(text) for text in texts]


def _bar(text: str) -> Bar:
    what, equals, share = text.rpartition("=")
    percent = limit("fail_above", share) or 0.0
    if not equals:
        return Bar(percent)
    if what == "total":
        return Bar(percent, lines=False)
    kind, colon, pattern = what.partition(":")
    if kind not in ("function", "object") or (colon and not pattern):
        raise OptionError(
            f"--fail-above {text}: expected 5%, total=5%, function=5%, object=5%, function:NAME=5% or object:NAME=5%"
        )
    return Bar(percent, kind, pattern or "*", whole=False)


def confidence_of(text: str) -> float:
    """``0.95`` or ``95%``; OptionError for what is no confidence."""
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise OptionError(f"--confidence {text}: expected a number between 0 and 1 such as 0.95, or 95%")
    return value


class Gate(Struct, frozen=True):
    """All limits, and what counts as a change."""

    bars: Sequence[Bar]
    sort: str
    """self or total."""
    confidence: float
    any_change: bool = False
    """Count changes that sampling noise explains, too."""

    def verdict(self, by: str, compared: Callable[[str], "Comparison"]) -> "Verdict":
        """Hold every limit against the tables that ``compared`` gives for ``function``, ``object`` and ``thread``.

        ``by`` is the kind of a bar that names none.
        """
        looks = [Look.at(bar, bar.kind or by, compared(bar.kind or by), self.sort) for bar in self.bars]
        rows = {(look.kind, row.name, row.object) for look in looks for row in look.rows}
        comparisons = len(rows) + any(look.whole for look in looks)
        verdict = Verdict([], [], {})
        for look in looks:
            self._judge(look, comparisons, verdict)
        return verdict

    def _judge(self, look: "Look", comparisons: int, verdict: "Verdict") -> None:
        """Add what one limit says."""
        comparison, explained = look.comparison, list[str]()
        if look.whole:
            limits = comparison.whole_interval(self.confidence, comparisons)
            risen = comparison.after.whole - comparison.before.whole
            self._weigh("the whole", "", risen, limits, look, verdict.sentences, explained)
        judged = comparison.judged(look.rows, self.confidence, comparisons)
        for row in sorted(judged, key=lambda row: (-row.moved(self.sort), row.name, row.object)):
            limits = row.interval(self.sort)
            verdict.intervals[look.kind, row.name, row.object] = limits
            name = f"{row.name} in {row.object}" if row.object else row.name
            self._weigh(name, " of the whole", row.moved(self.sort), limits, look, verdict.sentences, explained)
        if explained:
            more = f" and {len(explained) - _NAMED} more" if len(explained) > _NAMED else ""
            verdict.notes.append(
                f"{', '.join(explained[:_NAMED])}{more} grew by more than {look.bar.percent:g} %, but sampling noise "
                "explains it (--fail-above); record more samples to be sure"
            )

    def _weigh(
        self,
        name: str,
        of: str,
        change: int,
        limits: "Interval",
        look: "Look",
        sentences: list[str],
        explained: list[str],
    ) -> None:
        """Add a sentence for a change that is too large, or its name where noise explains that."""
        whole = look.comparison.before.whole
        if change <= look.allowed:
            return
        if not self.any_change and limits[0] <= 0:
            explained.append(name)
            return
        span = "" if self.any_change else f" ({signed(limits[0], whole)} to {signed(limits[1], whole)})"
        sentence = f"{name} grew by {signed(change, whole)}{of}{span}, more than {look.bar.percent:g} % (--fail-above)"
        if sentence not in sentences:
            sentences.append(sentence)


_NAMED = 3
"""So many changes that noise explains are named."""


class Look(Struct, frozen=True):
    """The lines that one limit is held against: those that could grow beyond it.

    What a function has in both recordings together says nothing about how it changed, so leaving small ones out does
    not favour either answer; and the fewer comparisons, the narrower their intervals.
    """

    bar: Bar
    kind: str
    comparison: "Comparison"
    rows: Sequence["Change"]
    whole: bool
    allowed: float
    """In the event's unit."""

    @classmethod
    def at(cls, bar: Bar, kind: str, comparison: "Comparison", sort: str) -> "Look":
        """What a limit looks at. Nothing grows beyond a share of nothing, and normalized wholes are equal."""
        allowed = bar.percent / 100 * comparison.before.whole
        if not comparison.before.whole:
            return cls(bar, kind, comparison, [], False, allowed)
        moved = comparison.changes() if bar.lines else []
        named = [row for row in moved if row.name == bar.pattern or fnmatchcase(row.name, bar.pattern)]
        if bar.lines and not named and bar.pattern != "*":
            console.note(f"perf2x: --fail-above: {no_such(bar.kind, bar.pattern, [row.name for row in moved])}")
        rows = [row for row in named if row.together(sort) > allowed]
        return cls(bar, kind, comparison, rows, bar.whole and not comparison.normalize, allowed)


class Verdict(Struct, frozen=True):
    """What the limits say."""

    sentences: list[str]
    """One for each change that is too large; the gate is closed when there is any."""
    notes: list[str]
    """About changes that would be too large if noise did not explain them."""
    intervals: dict[tuple[str, str, str], "Interval"]
    """Of every (kind, name, object) that a limit was held against."""
