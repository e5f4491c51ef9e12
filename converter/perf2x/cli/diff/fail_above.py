"""``--fail-above`` of ``perf2x diff``: limits to the growth of functions, objects and the whole.

::

    5%                  every line of the table, and the whole
    total=5%            the whole alone
    function=2%         any function; object=2% any object
    share=2%            the share of any function in the whole, so that a slower machine is no slower program; and of
                        functions that cost more than before, as shares grow when others shrink
    function:parse*=1%  functions by name or glob; object:libc.so.6=1%, share:parse*=1%
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import field
from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.options.gate_options import parse_percentage
from perf2x.errors import OptionError
from perf2x.model.filters.unmatched_filters import no_such
from perf2x.model.number_format import first_of, format_change, format_percent

if TYPE_CHECKING:
    from perf2x.cli.options.diff_options import ComparisonFlags
    from perf2x.model.totals.sampling_noise import Interval
    from perf2x.model.totals.totals import Key
    from perf2x.tools.diff.changed_rows import DiffTable, Shown
    from perf2x.tools.diff.changes import Change, Comparison
    from perf2x.tools.diff.moved_code import CallersOf
    from perf2x.tools.diff.pair_options import PairOptions
    from perf2x.tools.diff.recording_pair import RecordingPair


class GrowthLimit(Frozen):
    """One limit, in percent of the whole before."""

    percent: float
    kind: str = ""
    """function, object or share; "" for the lines of the table that is shown."""
    pattern: str = "*"
    whole: bool = True
    lines: bool = True


def parse_limits(texts: Sequence[str]) -> list[GrowthLimit]:
    """Parse the values of --fail-above; OptionError for one that is not a limit."""
    return [_parse_limit(text) for text in texts]


def _parse_limit(text: str) -> GrowthLimit:
    what, equals, share = text.rpartition("=")
    percent = parse_percentage(f"--fail-above {text}", share)
    if not equals:
        return GrowthLimit(percent)
    if what == "total":
        return GrowthLimit(percent, lines=False)
    kind, colon, pattern = what.partition(":")
    if kind not in ("function", "object", "share") or (colon and not pattern):
        raise OptionError(
            f"--fail-above {text}: expected 5%, total=5%, function=5%, object=5%, share=5%, function:NAME=5%, "
            "object:NAME=5% or share:NAME=5%"
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


class DiffGate(Frozen):
    """All limits, and the rule that tells a change from noise."""

    limits: Sequence[GrowthLimit]
    sort: str
    """self or total: the column that limits are held against."""
    confidence: float
    any_change: bool = False
    """Count changes that sampling noise explains, too."""
    allow_unknown: bool = False
    """Accept limits on names that neither recording has."""

    @classmethod
    def of(cls, flags: "ComparisonFlags", how: "PairOptions", sort: str = "self") -> "DiffGate":
        """The gate that the options describe; OptionError for a limit that could never be exceeded."""
        gate = cls(
            parse_limits(flags.fail_above),
            sort,
            parse_confidence(flags.confidence),
            flags.any_change,
            flags.allow_unknown,
        )
        gate._refuse_total(how.normalize, "with --normalize")
        return gate

    def _refuse_total(self, are_shares: bool, where: str) -> None:
        if are_shares and any(not limit.lines for limit in self.limits):
            raise OptionError(
                f"--fail-above total=… {where} could never fail: scaled totals are equal; share=5% limits the shares "
                "of functions"
            )

    def verdict(
        self, by: str, compared: Callable[[str], "Comparison"], callers: "CallersOf | None" = None
    ) -> "GateVerdict":
        """Check every limit against the tables that ``compared`` gives, and ``callers``, as RecordingPair has them.

        ``by`` is the table of a limit that names none. OptionError for a limit that could never be exceeded, and for a
        name that neither recording has.
        """
        self._refuse_total(compared(by).normalize, "where shares are compared")
        checks = [_Check.of(one, one.kind or by, compared(one.kind or by)) for one in self.limits]
        rows = {(check.kind, row.key): (check, row) for check in checks for row in check.rows}
        among = sum(check.comparison.parts([row], self.sort) for check, row in rows.values())
        among += any(check.whole for check in checks)
        unknown = [check.unknown for check in checks if check.unknown]
        if unknown and not self.allow_unknown:
            raise OptionError(f"{unknown[0]} (--allow-unknown accepts that)")
        verdict = GateVerdict(notes=unknown, strange=compared("function").strange())
        for check in checks if not verdict.strange else ():
            self._judge(check, among, compared("function"), callers, verdict)
        return verdict

    def _judge(
        self,
        check: "_Check",
        among: float,
        functions: "Comparison",
        callers: "CallersOf | None",
        verdict: "GateVerdict",
    ) -> None:
        """Add the outcome of one limit."""
        judged = check.comparison.judged(check.rows, self.confidence, (among, among))
        verdict.intervals.update({(check.kind, *row.key): row.interval(self.sort) for row in judged})
        large = [row for row in judged if row.moved(self.sort) > check.allowed]
        if check.kind == "share" and not functions.normalize:
            large = self._dearer(large, functions, among, verdict)
        if callers and not self.any_change and check.kind in ("function", "share"):
            large = self._not_moved(large, check, functions, callers, verdict)
        if check.whole:
            verdict.intervals[WHOLE] = check.comparison.whole_interval(self.confidence, among)
        growths = [*check.whole_growth(self.confidence, among), *_row_growths(large, self.sort, check)]
        noise = []
        for growth in (growth for growth in growths if growth.change > check.allowed):
            if not self.any_change and growth.interval[0] <= 0:
                noise.append(growth.name)
            elif (sentence := self._failure(growth, check)) not in verdict.failures:
                verdict.failures.append(sentence)
        if noise:
            verdict.notes.append(
                f"{first_of(noise, _NAMED)} grew by more than {check.limit.percent:g} %, but sampling noise "
                "explains it (--fail-above); record more samples to be sure"
            )

    def _dearer(
        self, shares: Sequence["Change"], functions: "Comparison", among: float, verdict: "GateVerdict"
    ) -> list["Change"]:
        """Return the shares of functions that cost more themselves; note the others."""
        costs = functions.judged(shares, self.confidence, (among, among))
        dearer = {row.key for row in costs if self._is_growth(row)}
        if cheap := [row.name for row in shares if row.key not in dearer]:
            verdict.notes.append(f"shares that grew only because others shrank: {first_of(cheap, _NAMED)}")
        return [row for row in shares if row.key in dearer]

    def _not_moved(
        self,
        large: Sequence["Change"],
        check: "_Check",
        functions: "Comparison",
        callers: "CallersOf",
        verdict: "GateVerdict",
    ) -> list["Change"]:
        """Return the rows that do not merely have the cost of other code that moved there; note the others."""
        moved: set[Key] = set()
        if grown := [row for row in large if self._is_growth(row)]:
            from perf2x.tools.diff.moved_code import MovedCode

            for keys, sentence in MovedCode(functions, check.comparison, self.sort, callers, check.allowed).explained(
                grown
            ):
                moved.update(keys)
                if sentence not in verdict.notes:
                    verdict.notes.append(sentence)
        return [row for row in large if row.key not in moved]

    def _is_growth(self, row: "Change") -> bool:
        """Return whether a cost grew, beyond noise unless any change counts."""
        return (row.moved(self.sort) if self.any_change else row.interval(self.sort)[0]) > 0

    def _failure(self, growth: "_Growth", check: "_Check") -> str:
        whole, (low, high) = check.comparison.before.whole, growth.interval
        span = "" if self.any_change else f" ({format_change(low, whole)} to {format_change(high, whole)})"
        grew = f"{growth.name} grew by {format_change(growth.change, whole)}{growth.of}{span}"
        return f"{grew}, more than {check.limit.percent:g} % (--fail-above)"


WHOLE = ("total", "", "")
"""Key of the whole among intervals of rows."""
_NAMED = 3
"""Number of changes within noise that are named."""


class GateVerdict(Frozen):
    """Outcome of all limits."""

    failures: list[str] = field(default_factory=list)
    """A sentence for each change that is too large; the gate fails if there is any."""
    notes: list[str] = field(default_factory=list)
    """Sentences on names that neither recording has, and on changes that would be too large but for noise."""
    strange: str = ""
    """A sentence where the earlier recording is of another program, so that nothing was compared."""
    intervals: dict[tuple[str, str, str], "Interval"] = field(default_factory=dict)
    """Interval of every row (kind, name, object), and of WHOLE, that a limit was held against."""

    def table(
        self, pair: "RecordingPair", shown: "Shown", confidence: float, columns: Sequence[str] = ()
    ) -> "DiffTable":
        """The table of a pair, in which rows that a limit was held against have its interval: table and gate agree.

        The others have an interval of that ``confidence``.
        """
        changes = []
        for row in pair.compared(shown.by).changes(confidence):
            interval = self.intervals.get((shown.by, *row.key))
            changes.append(row if interval is None else row.with_interval(shown.sort, interval))
        return pair.table(shown, changes, columns)


class _Growth(Frozen):
    """A change of a row or of the whole, in the event's unit, and its interval."""

    name: str
    of: str
    change: int
    interval: "Interval"


def _row_growths(rows: Iterable["Change"], sort: str, check: "_Check") -> Iterator[_Growth]:
    """Changes of rows, the largest first; of shares also what they were and are."""
    whole = check.comparison.before.whole
    for row in sorted(rows, key=lambda row: (-row.moved(sort), *row.key)):
        name, of = f"{row.name} in {row.object}" if row.object else row.name, " of the whole"
        if check.kind == "share":
            was, now = (format_percent(value, whole) for value in row.sides(sort))
            name, of = f"the share of {name}", f" of the whole, from {was} to {now}"
        yield _Growth(name, of, row.moved(sort), row.interval(sort))


class _Check(Frozen):
    """One limit and the rows that it is for."""

    limit: GrowthLimit
    kind: str
    comparison: "Comparison"
    allowed: float
    """Largest change that passes, in the event's unit."""
    rows: Sequence["Change"] = ()
    whole: bool = False
    """Whether the limit holds for the whole, too."""
    unknown: str = ""
    """A sentence when neither recording has the limit's name."""

    @classmethod
    def of(cls, limit: GrowthLimit, kind: str, comparison: "Comparison") -> "_Check":
        """Choose the rows. Nothing grows by a share of nothing, and normalized wholes are equal."""
        check = cls(limit, kind, comparison, limit.percent / 100 * comparison.before.whole)
        if not comparison.before.whole:
            return check
        changes = comparison.lines if limit.lines else []
        matching = [row for row in changes if row.name == limit.pattern or fnmatchcase(row.name, limit.pattern)]
        unknown = ""
        if limit.lines and not matching and limit.pattern != "*":
            what = "function" if limit.kind == "share" else limit.kind
            known = no_such(what, limit.pattern, [row.name for row in changes], "the recordings have")
            unknown = f"--fail-above: {known}"
        return replace(check, rows=matching, whole=limit.whole and not comparison.normalize, unknown=unknown)

    def whole_growth(self, confidence: float, among: float) -> Iterator[_Growth]:
        """The change of the whole, if the limit holds for it."""
        if self.whole:
            change = self.comparison.whole_after - self.comparison.before.whole
            yield _Growth("the whole", "", change, self.comparison.whole_interval(confidence, among))
