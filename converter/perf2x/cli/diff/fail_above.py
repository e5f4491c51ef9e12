"""``--fail-above`` of ``perf2x diff``: judges the growth of functions, objects and the total by its limits."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import field
from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import OptionError
from perf2x.model.filters.unmatched_filters import no_such
from perf2x.model.number_format import first_of, format_change, format_percent

if TYPE_CHECKING:
    from perf2x.cli.options.diff_options import ComparisonFlags, GrowthLimit
    from perf2x.model.totals.sampling_noise import Interval
    from perf2x.model.totals.totals import Key
    from perf2x.tools.diff.changed_rows import DiffTable, Shown
    from perf2x.tools.diff.changes import Change, Comparison
    from perf2x.tools.diff.moved_code import CallersOf
    from perf2x.tools.diff.recording_pair import RecordingPair


class DiffGate(Frozen):
    """Checks all limits, and distinguishes changes from noise."""

    flags: "ComparisonFlags"
    sort: str
    """self or total: the column that limits apply to."""

    def verdict(
        self, by: str, compared: Callable[[str], "Comparison"], callers: "CallersOf | None" = None
    ) -> "GateVerdict":
        """Check every limit against the tables that ``compared`` returns.

        ``compared`` and ``callers`` are those of RecordingPair; ``by`` is the kind of table for limits that name none.
        Raises OptionError for a limit that could never be exceeded, and for a name that neither recording has.
        """
        if compared(by).normalize and any(limit.kind == "total" for limit in self.flags.fail_above):
            raise OptionError(
                "--fail-above total=… could never fail when shares are compared, because scaled totals are equal; "
                "share=5% limits the shares of functions"
            )
        kinds = {"": by, "total": by}
        checks = [_Check.of(one, kinds.get(one.kind, one.kind), compared) for one in self.flags.fail_above]
        rows = {(check.kind, row.key): (check, row) for check in checks for row in check.rows}
        among = sum(check.comparison.parts([row], self.sort) for check, row in rows.values())
        among += any(check.whole for check in checks)
        unknown = [check.unknown for check in checks if check.unknown]
        if unknown and not self.flags.allow_unknown:
            raise OptionError(f"{unknown[0]} (--allow-unknown accepts that)")
        functions, verdict = compared("function"), GateVerdict(notes=unknown)
        if why := functions.mismatch():
            checks = [replace(check, rows=()) for check in checks if check.whole and functions.same_command]
            if not checks:
                return GateVerdict(notes=unknown, other_program=f"the earlier recording is of another program: {why}")
            unknown.append(f"only the total is compared: {why}")
        for check in checks:
            self._judge(check, among, functions, callers, verdict)
        return replace(verdict, cause=self._cause(functions, callers, verdict)) if callers and not why else verdict

    def _cause(self, functions: "Comparison", callers: "CallersOf", verdict: "GateVerdict") -> str:
        """Return a sentence on the likely cause of everything that failed; "" if there is no single one."""
        failed = {key for key in verdict.failures if key == WHOLE or self.sort == "self"}
        grown = {
            row.key
            for row in functions.lines
            for kind, key in (("function", row.key), ("share", row.key), ("object", (row.object or "[unknown]", "")))
            if failed & {WHOLE, (kind, *key)}
        }
        if not grown:
            return ""
        from perf2x.tools.diff.likely_cause import likely_cause

        return likely_cause(functions, grown, callers)

    def _judge(
        self,
        check: "_Check",
        among: float,
        functions: "Comparison",
        callers: "CallersOf | None",
        verdict: "GateVerdict",
    ) -> None:
        """Add the outcome of one limit to the verdict.

        ``among`` is the share of the costs to which all limits apply (see ``Comparison.parts``), so that the intervals
        of all of them hold at once.
        """
        judged = check.comparison.judged(check.rows, self.flags.confidence, (among, among))
        verdict.intervals.update({(check.kind, *row.key): row.interval(self.sort) for row in judged})
        large = [row for row in judged if row.moved(self.sort) > check.allowed]
        if check.kind == "share" and not functions.normalize:
            large = self._costlier(large, functions, among, verdict)
        if callers and not self.flags.any_change and check.kind in ("function", "share"):
            large = self._not_moved(large, check, functions, callers, verdict)
        found = {(check.kind, *row.key): row for row in sorted(large, key=lambda row: (-row.moved(self.sort), row.key))}
        if check.whole:
            whole = check.comparison.whole_change(self.flags.confidence, among)
            verdict.intervals[WHOLE] = whole.interval(self.sort)
            found = {WHOLE: whole} | found if whole.moved(self.sort) > check.allowed else found
        noise = []
        for key, row in found.items():
            name = f"{row.name} in {row.object}" if row.object else row.name
            name = f"the share of {name}" if check.kind == "share" else name
            if self._is_growth(row):
                verdict.failures.setdefault(key, self._failure(name, " of the total" * (key != WHOLE), row, check))
            else:
                noise.append(name)
        if noise:
            verdict.notes.append(
                f"{first_of(noise, _NAMED)} grew by more than {check.limit.percent:g} %, which is within sampling "
                "noise (--fail-above); record longer to be sure"
            )

    def _costlier(
        self, shares: Sequence["Change"], functions: "Comparison", among: float, verdict: "GateVerdict"
    ) -> list["Change"]:
        """Return the rows whose functions also cost more, not only a larger share; add a note on the others."""
        costs = functions.judged(shares, self.flags.confidence, (among, among))
        costlier = {row.key for row in costs if self._is_growth(row)}
        if cheap := [row.name for row in shares if row.key not in costlier]:
            verdict.notes.append(f"shares that grew only because others shrank: {first_of(cheap, _NAMED)}")
        return [row for row in shares if row.key in costlier]

    def _not_moved(
        self,
        large: Sequence["Change"],
        check: "_Check",
        functions: "Comparison",
        callers: "CallersOf",
        verdict: "GateVerdict",
    ) -> list["Change"]:
        """Return the rows that did not just take over the cost of other code; add notes on those that did."""
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
        """Return whether a cost grew: by any amount if any change counts, otherwise by more than noise explains."""
        return (row.moved(self.sort) if self.flags.any_change else row.interval(self.sort)[0]) > 0

    def _failure(self, name: str, of: str, row: "Change", check: "_Check") -> str:
        whole = check.comparison.before.whole
        was, now = (format_percent(value, whole) for value in row.sides(self.sort))
        of += f", from {was} to {now}" * (check.kind == "share")
        low, high = (format_change(limit, whole) for limit in row.interval(self.sort))
        span = "" if self.flags.any_change else f" ({low} to {high})"
        change = format_change(row.moved(self.sort), whole)
        return f"{name} grew by {change}{of}{span}, more than {check.limit.percent:g} % (--fail-above)"


RowKey = tuple[str, str, str]
"""Kind, name and object of a row."""
WHOLE: RowKey = ("total", "", "")
# Maximum number of changes within noise to name.
_NAMED = 3


class GateVerdict(Frozen):
    """Outcome of all limits."""

    failures: dict["RowKey", str] = field(default_factory=dict)
    """A sentence for each row, or the total, that grew too much; if any, the gate fails."""
    cause: str = ""
    """A sentence on the likely cause of the failures, if there is a single one."""
    notes: list[str] = field(default_factory=list)
    """Sentences on names that neither recording has, and on changes that exceed a limit but may be noise."""
    other_program: str = ""
    """A sentence if the earlier recording is of another program; then nothing was compared."""
    intervals: dict["RowKey", "Interval"] = field(default_factory=dict)
    """The interval of every row that a limit applies to, and of WHOLE if one does."""

    def table(
        self, pair: "RecordingPair", shown: "Shown", confidence: float, columns: Sequence[str] = ()
    ) -> "DiffTable":
        """Return the table of a pair of recordings.

        Rows to which a limit applies have the gate's intervals, so that the table agrees with the verdict; the other
        rows have intervals of the given ``confidence``.
        """
        changes = []
        for row in pair.compared(shown.by).changes(confidence):
            interval = self.intervals.get((shown.by, *row.key))
            changes.append(row if interval is None else row.with_interval(shown.sort, interval))
        return pair.table(shown, changes, columns)


class _Check(Frozen):
    """One limit and the rows that it applies to."""

    limit: "GrowthLimit"
    kind: str
    comparison: "Comparison"
    allowed: float
    """The largest acceptable change, in the event's unit."""
    rows: Sequence["Change"] = ()
    whole: bool = False
    """Whether the limit applies to the total, too."""
    unknown: str = ""
    """A sentence if neither recording has the limit's name."""

    @classmethod
    def of(cls, limit: "GrowthLimit", kind: str, compared: Callable[[str], "Comparison"]) -> "_Check":
        """Choose the rows to which a limit applies: none if the total of the earlier recording is 0.

        Normalized totals are not checked, because they are equal.
        """
        comparison = compared(kind)
        check = cls(limit, kind, comparison, limit.percent / 100 * comparison.before.whole)
        if not comparison.before.whole:
            return check
        changes = comparison.lines if limit.kind != "total" else []
        matching = [row for row in changes if row.name == limit.pattern or fnmatchcase(row.name, limit.pattern)]
        unknown = ""
        if not matching and limit.pattern != "*":
            what = "function" if limit.kind == "share" else limit.kind
            unmatched = no_such(what, limit.pattern, [row.name for row in changes], "the recordings have")
            unknown = f"--fail-above: {unmatched}"
        whole = limit.kind in ("", "total") and not comparison.normalize
        return replace(check, rows=matching, whole=whole, unknown=unknown)
