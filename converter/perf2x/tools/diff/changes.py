"""Computes changes between two recordings: rows with confidence intervals, or one profile for pprof."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import Frozen, as_int64, cumsum, flatnonzero, sum_at
from perf2x.base.did_you_mean import close_names
from perf2x.base.students_t import student
from perf2x.model.profile import Profile
from perf2x.model.totals.host_noise import HostErrors
from perf2x.model.totals.sampling_noise import Interval, SampledSum, difference_interval, quantile, share_interval
from perf2x.model.totals.totals import Key, Row, Total, Totals, weights
from perf2x.model.transforms.merge_profiles import merge_profiles

# A change smaller than 1/2000 of the earlier recording's total is shown as 0.0 %.
SMALLEST_SHOWN_PART = 2000
# Recordings of the same program have at least this share of their costs in functions that both contain. A function of
# only one recording needs at least this share to be matched by a similar name.
_MIN_COMMON_SHARE = 0.1
_COLUMNS = ("self", "total")
_JOINT_CONFIDENCE = 0.95
# Smallest share that a row is taken to have, to avoid a division by zero for rows without costs.
_MIN_SHARE = 1e-9
# The label with which pprof marks the samples of -diff_base (internal/driver/fetch.go in google/pprof).
_BASE_LABEL = {"pprof::base": "true"}


class Change(Row):
    """One function, object or thread before and after; values in the event's unit."""

    self_before: int
    self_after: int
    total_before: int
    total_after: int
    self_interval: Interval = (-math.inf, math.inf)
    """Limits of the true change of ``self``."""
    total_interval: Interval = (-math.inf, math.inf)

    @property
    def self(self) -> int:
        """Change of the self cost."""
        return self.self_after - self.self_before

    @property
    def total(self) -> int:
        """Change of the total cost, which includes callees."""
        return self.total_after - self.total_before

    def change(self, sort: str) -> int:
        """Return the change of the ``sort`` column: ``self`` or ``total``."""
        return self.self if sort == "self" else self.total

    def before_and_after(self, sort: str) -> tuple[int, int]:
        """Return the costs before and after in the ``sort`` column."""
        return (self.self_before, self.self_after) if sort == "self" else (self.total_before, self.total_after)

    def with_interval(self, sort: str, limits: Interval) -> "Change":
        """Return this change with other limits."""
        return replace(self, **{f"{sort}_interval": limits})

    def interval(self, sort: str) -> Interval:
        """Return the limits of the change."""
        return self.self_interval if sort == "self" else self.total_interval

    def significant(self, sort: str) -> bool:
        """Return whether the change is larger than sampling noise explains."""
        return excludes_zero(self.interval(sort))


def excludes_zero(limits: Interval) -> bool:
    """Return whether an interval excludes zero."""
    return limits[0] > 0 or limits[1] < 0


class Comparison(Frozen, dict=True):
    """Compares two tables of one event.

    With ``normalize``, costs of ``after`` are scaled to the total of ``before``. Otherwise they are multiplied by
    ``factor``.
    """

    before: Totals
    after: Totals
    normalize: bool = False
    factor: float = 1.0
    """Work of ``before`` divided by that of ``after``; also applied to the total of ``after``."""
    same_command: bool = False
    """Whether perf had the same arguments, apart from the name of its output; False if unknown."""
    hosts: HostErrors | None = None
    """Standard errors estimated from the differences between hosts; None unless both sides have several hosts."""

    @property
    def scale(self) -> float:
        """The factor for every row of ``after``."""
        return self.before.cost / self.after.cost if self.normalize and self.after.cost else self.factor

    @property
    def cost_after(self) -> int:
        """The total of ``after``, scaled to the work of ``before``."""
        return round(self.after.cost * self.factor)

    def changes(self, confidence: float = 0.95) -> list[Change]:
        """Return the rows of both tables, with intervals that hold for all rows at once."""
        return self.with_intervals(self.rows, confidence, [self.share_in_costs(self.rows, sort) for sort in _COLUMNS])

    @cached_property
    def rows(self) -> list[Change]:
        """The rows of both tables, sorted by name and object, without intervals."""
        scale = self.scale
        return [
            Change(*old.key, old.self, round(new.self * scale), old.total, round(new.total * scale))
            for old, new in self._pairs
        ]

    def share_in_costs(self, rows: Iterable[Change], sort: str) -> float:
        """Return the share of some rows in the costs of both recordings together; in total costs, it may exceed 1.

        The error that a confidence allows is divided among the intervals by these shares (a weighted Bonferroni
        correction). Both recordings are summed, because the sum is independent of the row's change.
        """
        return sum(sum(row.before_and_after(sort)) for row in rows) / self._cost_of_both

    def with_intervals(self, rows: Iterable[Change], confidence: float, tested_share: Sequence[float]) -> list[Change]:
        """Return these rows with intervals that hold simultaneously for all tested rows.

        ``tested_share`` are `share_in_costs` of the tested rows: self costs, then total costs.
        """
        by_key, result = {row.key: row for row in rows}, []
        for old, new in self._pairs:
            if (row := by_key.get(old.key)) is None:
                continue
            errors = self.hosts.errors.get(row.key, (0.0, 0.0)) if self.hosts else (0.0, 0.0)
            for sort, host_error, tested in zip(_COLUMNS, errors, tested_share, strict=True):
                # as many comparisons as if all tested rows had this row's weight
                comparisons = tested / max(sum(row.before_and_after(sort)) / self._cost_of_both, _MIN_SHARE)
                deviations, host_deviations = self._deviations(confidence, comparisons)
                limits = self._interval(old.of(sort), new.of(sort), deviations)
                row = row.with_interval(sort, _widened(limits, row.change(sort), host_deviations * host_error))
            result.append(row)
        return result

    def joint_cost(self, keys: set[Key], sort: str) -> tuple[int, int, Interval]:
        """Return the joint cost of some rows before and after, and the interval of its change."""
        pairs = [pair for pair in self._pairs if pair[0].key in keys]
        before, after = (
            (sum(cost for cost, _ in side), sum(squares for _, squares in side))
            for side in zip(*((old.of(sort), new.of(sort)) for old, new in pairs), strict=True)
        )
        return before[0], round(after[0] * self.scale), self._interval(before, after, quantile(_JOINT_CONFIDENCE))

    def mismatch(self) -> str:
        """Return a sentence if hardly any cost is in functions of both recordings; else "".

        A large vanished function and a large new one (``_MIN_COMMON_SHARE``) count as one if their names are similar.
        """
        sums, rows = (self.before.cost, self.after.cost * self.scale), self.rows
        if not all(sums) or not rows:
            return ""
        vanished = [row.name for row in rows if not row.total_after and row.self_before >= _MIN_COMMON_SHARE * sums[0]]
        common = [0, 0]
        for row in rows:
            appeared = not row.total_before and row.self_after >= _MIN_COMMON_SHARE * sums[1]
            if (row.total_before and row.total_after) or (appeared and close_names(row.name, vanished, 1)):
                common = [cost + side for cost, side in zip(common, row.before_and_after("self"), strict=True)]
        is_little = all(cost < _MIN_COMMON_SHARE * total for cost, total in zip(common, sums, strict=True))
        return "hardly any of the cost is in functions of both" if is_little else ""

    def total_change(self, confidence: float, comparisons: float = 1) -> Change:
        """Return the change of the total as a row; its interval takes the number of samples as random, too."""
        (old, new), (before, after) = self._sums, (self.before.cost, self.cost_after)
        deviations, host_deviations = self._deviations(confidence, comparisons)
        limits = difference_interval(old, new.scaled(self.factor), deviations)
        limits = _widened(limits, after - before, host_deviations * (self.hosts.whole_error if self.hosts else 0))
        return Change("the total", "", before, after, before, after, limits, limits)

    def _deviations(self, confidence: float, comparisons: float) -> tuple[float, float]:
        """Return half the width of an interval: in standard errors of samples, then of hosts (Student's t).

        The second number is 0 without hosts. It is computed for the next power of two of comparisons, so that few
        values of t are needed.
        """
        return quantile(confidence, comparisons), (
            student(confidence, 2 ** math.ceil(math.log2(max(comparisons, 1))), self.hosts.degrees_of_freedom)
            if self.hosts
            else 0.0
        )

    @cached_property
    def _cost_of_both(self) -> float:
        return max(self.before.cost + self.after.cost * self.scale, 1)

    @cached_property
    def _sums(self) -> tuple[SampledSum, SampledSum]:
        """The sums of both sides; a side without samples gets the typical weight of the other side."""
        typical = [table.squares / table.cost if table.cost else 0.0 for table in (self.before, self.after)]
        old_typical, new_typical = typical[0] or typical[1], typical[1] or typical[0]
        return (
            SampledSum(self.before.cost, self.before.squares, old_typical),
            SampledSum(self.after.cost, self.after.squares, new_typical),
        )

    @cached_property
    def _pairs(self) -> list[tuple[Total, Total]]:
        """The rows of each key before and after, sorted by key; a missing row is zero."""
        old = {row.key: row for row in self.before.rows}
        new = {row.key: row for row in self.after.rows}
        keys = sorted(old.keys() | new.keys())
        return [(old.get(key) or Total(*key, 0, 0), new.get(key) or Total(*key, 0, 0)) for key in keys]

    def _interval(self, old: tuple[int, float], new: tuple[int, float], deviations: float) -> Interval:
        """``old`` and ``new`` are (cost, sum of squared weights)."""
        old_sum, new_sum = self._sums
        before = SampledSum(*old, old_sum.typical_weight)
        after = SampledSum(*new, new_sum.typical_weight).scaled(self.scale)
        if self.normalize:
            return share_interval(before, old_sum, after, new_sum.scaled(self.scale), deviations)
        return difference_interval(before, after, deviations)


def _widened(limits: Interval, change: int, host_error: float) -> Interval:
    return min(limits[0], change - host_error), max(limits[1], change + host_error)


def difference(before: Profile, after: Profile) -> Profile:
    """Return ``after`` minus ``before``: samples of ``before`` are negative and marked as pprof's base."""
    samples = before.samples
    negative = replace(samples, value=-samples.value, count=-samples.count)
    merged = merge_profiles([replace(before, samples=negative), after], [_BASE_LABEL, {}])
    return replace(merged, meta=replace(merged.meta, duration_ns=after.meta.duration_ns))


def normalized(before: Profile, after: Profile, value: str) -> Profile:
    """Return ``after`` with every event of both recordings scaled to its total in ``before``."""
    old, new = _totals_by_event(before, value), _totals_by_event(after, value)
    return scaled(after, [old[event] / total if total and old.get(event) else 1.0 for event, total in new.items()])


def scaled(after: Profile, factors: Sequence[float]) -> Profile:
    """Return ``after`` with the samples of each event multiplied by its factor.

    Running sums are rounded, not single samples, so that a thousand samples of 1, times 0.4, add up to 400, not to 0.
    """
    samples = after.samples
    value_column, count = samples.value.copy(), samples.count.copy()
    for row, factor in enumerate(factors):
        rows_of_event = flatnonzero(samples.event == row)
        for column in (value_column, count):
            sums = as_int64(np.rint(cumsum(column[rows_of_event]) * factor))
            column[rows_of_event] = np.diff(sums, prepend=0)
    return replace(after, samples=replace(samples, value=value_column, count=count))


def _totals_by_event(profile: Profile, value: str) -> dict[tuple[str, str], int]:
    total = sum_at(profile.samples.event, weights(profile, value), len(profile.events))
    return dict(zip([(event.name, event.unit) for event in profile.events], total.tolist(), strict=True))
