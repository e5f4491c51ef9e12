"""``--fail-above`` of ``diff`` and ``report``: did functions, objects or the total grow by more than their limits?

Noise is judged for all limited rows together, so two recordings of one program pass with the requested confidence.
Functions that only took over the cost of other code do not fail. For recordings of different programs, only totals are
compared, and only if perf's command line was the same.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import field
from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import OptionError
from perf2x.model.filters.unmatched_filters import no_such_message
from perf2x.model.number_format import format_change, format_percent, shortened_list

if TYPE_CHECKING:
    from perf2x.cli.options.diff_options import GrowthFlags, GrowthLimit
    from perf2x.model.totals.sampling_noise import Interval
    from perf2x.model.totals.totals import Key
    from perf2x.tools.diff.changed_rows import DiffTable, RowSelection
    from perf2x.tools.diff.changes import Change, Comparison
    from perf2x.tools.diff.moved_code import CallersOf
    from perf2x.tools.diff.recording_pair import RecordingPair


class GrowthGate(Frozen):
    """A command's limits on growth, and whether they apply to self or to total costs."""

    flags: "GrowthFlags"
    sort: str
    """``self`` or ``total``: the cost whose growth is limited."""

    def verdict(
        self, by: str, comparison_by: Callable[[str], "Comparison"], callers: "CallersOf | None" = None
    ) -> "GrowthVerdict":
        """Check every limit, and return the outcome.

        ``comparison_by`` and ``callers`` are RecordingPair's. A limit that names no kind of rows applies to the kind
        ``by``. Raises OptionError for a limit that could never be exceeded and, without --allow-unknown, for a name
        that neither recording has.
        """
        if comparison_by(by).normalize and any(limit.kind == "total" for limit in self.flags.fail_above):
            raise OptionError(
                "--fail-above total=… could never fail when shares are compared, because scaled totals are equal; "
                "share=5% limits the shares of functions"
            )
        kinds = {"": by, "total": by}
        checks = [
            _Check.select(limit, kinds.get(limit.kind, limit.kind), comparison_by) for limit in self.flags.fail_above
        ]
        # several limits may apply to one row, which counts once
        rows = {(check.kind, row.key): (check, row) for check in checks for row in check.rows}
        limited_share = sum(check.comparison.share_in_costs([row], self.sort) for check, row in rows.values())
        limited_share += any(check.with_total for check in checks)  # the share of the total is 1
        notes = [check.unknown_name for check in checks if check.unknown_name]
        if notes and not self.flags.allow_unknown:
            raise OptionError(f"{notes[0]} (--allow-unknown accepts that)")
        functions, verdict = comparison_by("function"), GrowthVerdict(notes=notes)
        if mismatch := functions.mismatch():
            checks = [replace(check, rows=()) for check in checks if check.with_total and functions.same_command]
            if not checks:
                return GrowthVerdict(
                    notes=notes, other_program=f"the earlier recording is of another program: {mismatch}"
                )
            notes.append(f"only the total is compared: {mismatch}")
        for check in checks:
            self._judge(check, limited_share, functions, callers, verdict)
        return replace(verdict, cause=self._cause(functions, callers, verdict)) if callers and not mismatch else verdict

    def _cause(self, functions: "Comparison", callers: "CallersOf", verdict: "GrowthVerdict") -> str:
        # total costs also grow with the costs of callees, so they do not point to a function
        failed = {key for key in verdict.failures if key == TOTAL or self.sort == "self"}
        # functions that failed a limit, or whose share, object or total failed one
        grown = {
            row.key
            for row in functions.rows
            for kind, key in (("function", row.key), ("share", row.key), ("object", (row.object or "[unknown]", "")))
            if failed & {TOTAL, (kind, *key)}
        }
        if not grown:
            return ""
        from perf2x.tools.diff.likely_cause import likely_cause

        return likely_cause(functions, grown, callers)

    def _judge(
        self,
        check: "_Check",
        limited_share: float,
        functions: "Comparison",
        callers: "CallersOf | None",
        verdict: "GrowthVerdict",
    ) -> None:
        """Add the outcome of one limit to the verdict; a larger ``limited_share`` gives wider intervals."""
        # with_intervals expects a share for self and one for total costs; only one of these costs is limited
        rows = check.comparison.with_intervals(check.rows, self.flags.confidence, (limited_share, limited_share))
        verdict.intervals.update({(check.kind, *row.key): row.interval(self.sort) for row in rows})
        over_limit = [row for row in rows if row.change(self.sort) > check.allowed]
        if check.kind == "share" and not functions.normalize:
            over_limit = self._keep_costlier(over_limit, functions, limited_share, verdict)
        if callers and not self.flags.any_change and check.kind in ("function", "share"):
            over_limit = self._drop_moved(over_limit, check, functions, callers, verdict)
        over_limit_by_key = {
            (check.kind, *row.key): row for row in sorted(over_limit, key=lambda row: (-row.change(self.sort), row.key))
        }
        if check.with_total:
            total = check.comparison.total_change(self.flags.confidence, limited_share)
            verdict.intervals[TOTAL] = total.interval(self.sort)
            over_limit_by_key = (
                {TOTAL: total} | over_limit_by_key if total.change(self.sort) > check.allowed else over_limit_by_key
            )
        within_noise = []
        for key, row in over_limit_by_key.items():
            name = f"{row.name} in {row.object}" if row.object else row.name
            name = f"the share of {name}" if check.kind == "share" else name
            if self._is_growth(row):
                verdict.failures.setdefault(key, self._failure(name, " of the total" * (key != TOTAL), row, check))
            else:
                within_noise.append(name)
        if within_noise:
            verdict.notes.append(
                f"{shortened_list(within_noise, _MAX_NAMED)} grew by more than {check.limit.percent:g} %, which is "
                "within sampling noise (--fail-above); record longer to be sure"
            )

    def _keep_costlier(
        self, shares: Sequence["Change"], functions: "Comparison", limited_share: float, verdict: "GrowthVerdict"
    ) -> list["Change"]:
        costs = functions.with_intervals(shares, self.flags.confidence, (limited_share, limited_share))
        costlier = {row.key for row in costs if self._is_growth(row)}
        if not_costlier := [row.name for row in shares if row.key not in costlier]:
            verdict.notes.append(
                f"shares that grew only because others shrank: {shortened_list(not_costlier, _MAX_NAMED)}"
            )
        return [row for row in shares if row.key in costlier]

    def _drop_moved(
        self,
        over_limit: Sequence["Change"],
        check: "_Check",
        functions: "Comparison",
        callers: "CallersOf",
        verdict: "GrowthVerdict",
    ) -> list["Change"]:
        moved: set[Key] = set()
        if grown := [row for row in over_limit if self._is_growth(row)]:
            from perf2x.tools.diff.moved_code import MovedCode

            for keys, sentence in MovedCode(functions, check.comparison, self.sort, callers, check.allowed).explained(
                grown
            ):
                moved.update(keys)
                if sentence not in verdict.notes:
                    verdict.notes.append(sentence)
        return [row for row in over_limit if row.key not in moved]

    def _is_growth(self, row: "Change") -> bool:
        return (row.change(self.sort) if self.flags.any_change else row.interval(self.sort)[0]) > 0

    def _failure(self, name: str, of_total: str, row: "Change", check: "_Check") -> str:
        """Return a sentence: ``parse grew by +2.1 % of the total (+1.8 % to +2.4 %), more than 1 % (--fail-above)``."""
        total_before = check.comparison.before.cost
        before, after = (format_percent(value, total_before) for value in row.before_and_after(self.sort))
        of_total += f", from {before} to {after}" * (check.kind == "share")
        low, high = (format_change(end, total_before) for end in row.interval(self.sort))
        interval = "" if self.flags.any_change else f" ({low} to {high})"
        change = format_change(row.change(self.sort), total_before)
        return f"{name} grew by {change}{of_total}{interval}, more than {check.limit.percent:g} % (--fail-above)"


RowKey = tuple[str, str, str]
"""Kind, name and object of a row."""
TOTAL: RowKey = ("total", "", "")
"""The key of the total, which is not a row of a table."""
# Maximum number of rows to name in a note.
_MAX_NAMED = 3


class GrowthVerdict(Frozen):
    """Outcome of all limits; its lists and mappings are filled as limits are checked."""

    failures: dict["RowKey", str] = field(default_factory=dict)
    """A sentence for each row, or the total, that grew too much."""
    cause: str = ""
    """A sentence on the likely cause of the failures, if there is a single one."""
    notes: list[str] = field(default_factory=list)
    """Sentences on what did not fail: growth that may be noise, moved code, unknown names."""
    other_program: str = ""
    """A sentence if the earlier recording is of another program; then nothing was compared."""
    intervals: dict["RowKey", "Interval"] = field(default_factory=dict)
    """The interval of every row that a limit applies to, and of TOTAL if a limit applies to the total."""

    def table(
        self, pair: "RecordingPair", selection: "RowSelection", confidence: float, columns: Sequence[str] = ()
    ) -> "DiffTable":
        """Return the table of changes; limited rows have the gate's intervals, so that it agrees with the verdict."""
        changes = []
        for row in pair.comparison_by(selection.by).changes(confidence):
            interval = self.intervals.get((selection.by, *row.key))
            changes.append(row if interval is None else row.with_interval(selection.sort, interval))
        return pair.table(selection, changes, columns)


class _Check(Frozen):
    limit: "GrowthLimit"
    kind: str
    """Kind of the rows: function, object, thread, data-object or share."""
    comparison: "Comparison"
    allowed: float
    """The largest acceptable change, in the event's unit."""
    rows: Sequence["Change"] = ()
    with_total: bool = False
    """Whether the limit applies to the total, too."""
    unknown_name: str = ""
    """A sentence if neither recording has the limit's name."""

    @classmethod
    def select(cls, limit: "GrowthLimit", kind: str, comparison_by: Callable[[str], "Comparison"]) -> "_Check":
        """Return the check of a limit, with the rows to which it applies: none if the earlier total is 0."""
        comparison = comparison_by(kind)
        check = cls(limit, kind, comparison, limit.percent / 100 * comparison.before.cost)
        if not comparison.before.cost:
            return check
        changes = comparison.rows if limit.kind != "total" else []
        matching = [row for row in changes if row.name == limit.pattern or fnmatchcase(row.name, limit.pattern)]
        unknown_name = ""
        if not matching and limit.pattern != "*":
            row_kind = "function" if limit.kind == "share" else limit.kind
            unmatched = no_such_message(row_kind, limit.pattern, [row.name for row in changes], "the recordings have")
            unknown_name = f"--fail-above: {unmatched}"
        with_total = limit.kind in ("", "total") and not comparison.normalize
        return replace(check, rows=matching, with_total=with_total, unknown_name=unknown_name)
