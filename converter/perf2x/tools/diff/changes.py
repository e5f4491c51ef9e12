"""Changes between two recordings, as a table, and as one profile for pprof."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import Frozen, as_int64, cumsum, flatnonzero, sum_at
from perf2x.base.did_you_mean import close_names
from perf2x.base.students_t import student
from perf2x.model.profile import Profile
from perf2x.model.totals.host_noise import HostSpread
from perf2x.model.totals.sampling_noise import Interval, Measured, interval, quantile, share_interval
from perf2x.model.totals.totals import Key, Line, Total, Totals, weights
from perf2x.model.transforms.merge_profiles import merge_profiles

SMALLEST_PART = 2000
"""A change smaller than 1/2000 of the earlier recording's total is shown as 0.0 %."""
_COMMON = 0.1
"""If two recordings are of the same program, at least this share of their costs is in functions of both."""
_SORTS = ("self", "total")
_TOGETHER = 0.95
"""Confidence of the interval that `Comparison.together` returns."""
_LEAST = 1e-9
"""The share of the costs at which a line without costs is set, to avoid a division by zero."""
_BASE = {"pprof::base": "true"}
"""The label with which pprof marks the samples of -diff_base (internal/driver/fetch.go in google/pprof)."""


class Change(Line):
    """One function, object or thread before and after; values in the event's unit."""

    self_before: int
    self_after: int
    total_before: int
    total_after: int
    self_interval: Interval = (-math.inf, math.inf)
    """Limits of the true change of ``self``; the change is significant if they exclude 0."""
    total_interval: Interval = (-math.inf, math.inf)

    @property
    def self(self) -> int:
        """Change of the self cost."""
        return self.self_after - self.self_before

    @property
    def total(self) -> int:
        """Change of the total cost, which includes callees."""
        return self.total_after - self.total_before

    def moved(self, sort: str) -> int:
        """Return the change of the ``sort`` column (self or total)."""
        return self.self if sort == "self" else self.total

    def sides(self, sort: str) -> tuple[int, int]:
        """Return the costs before and after."""
        return (self.self_before, self.self_after) if sort == "self" else (self.total_before, self.total_after)

    def with_interval(self, sort: str, limits: Interval) -> "Change":
        """Return this change with other limits for the ``sort`` column."""
        return replace(self, **{f"{sort}_interval": limits})

    def interval(self, sort: str) -> Interval:
        """Return the limits of the change."""
        return self.self_interval if sort == "self" else self.total_interval

    def significant(self, sort: str) -> bool:
        """Return True if sampling noise does not explain the change."""
        return excludes_zero(self.interval(sort))


def excludes_zero(limits: Interval) -> bool:
    """Return whether an interval excludes zero."""
    return limits[0] > 0 or limits[1] < 0


class Comparison(Frozen, dict=True):
    """Compares two tables of one event.

    ``normalize``: costs of ``after`` are scaled to the total of ``before``, so that shares are compared; otherwise they
    are multiplied by ``factor``.
    """

    before: Totals
    after: Totals
    normalize: bool = False
    factor: float = 1.0
    """Work of ``before`` divided by that of ``after``; costs of ``after``, including the total, are multiplied by it.
    """
    same_command: bool = False
    """Whether both recordings are known to come from the same perf command line."""
    hosts: HostSpread | None = None
    """Standard errors estimated from the differences between hosts; None unless both sides have several hosts."""

    @property
    def scale(self) -> float:
        """The factor for every row of ``after``."""
        return self.before.whole / self.after.whole if self.normalize and self.after.whole else self.factor

    @property
    def whole_after(self) -> int:
        """The total of ``after``, scaled to the work of ``before``."""
        return round(self.after.whole * self.factor)

    def changes(self, confidence: float = 0.95) -> list[Change]:
        """Return the lines of both tables by name, with intervals that hold for all lines at once."""
        return self.judged(self.lines, confidence, [self.parts(self.lines, sort) for sort in _SORTS])

    @cached_property
    def lines(self) -> list[Change]:
        """The lines of both tables by name, without intervals."""
        scale = self.scale
        return [
            Change(*was.key, was.self, round(now.self * scale), was.total, round(now.total * scale))
            for was, now in self._pairs
        ]

    def parts(self, rows: Iterable[Change], sort: str) -> float:
        """Return the share of some lines in the costs of both recordings together; 1 for all lines.

        The error that a confidence allows is divided among the intervals in proportion to these shares (a weighted
        Bonferroni correction), so that small lines do not widen the intervals of large ones. A line's weight is the sum
        of its costs in both recordings, because that sum is independent of the line's change.
        """
        return sum(sum(row.sides(sort)) for row in rows) / self._both

    def judged(self, rows: Iterable[Change], confidence: float, among: Sequence[float]) -> list[Change]:
        """Return these lines with intervals that hold at once for all lines that make up the shares ``among``.

        ``among`` has a share of the self costs and one of the total costs, as `parts` computes them.
        """
        by_key, held = {row.key: row for row in rows}, []
        for was, now in self._pairs:
            if (row := by_key.get(was.key)) is None:
                continue
            errors = self.hosts.errors.get(row.key, (0.0, 0.0)) if self.hosts else (0.0, 0.0)
            for sort, error, whole in zip(_SORTS, errors, among, strict=True):
                reach = self._reach(confidence, whole / max(sum(row.sides(sort)) / self._both, _LEAST))
                limits = self._interval(was.of(sort), now.of(sort), reach[0])
                row = row.with_interval(sort, _wider(limits, row.moved(sort), reach[1] * error))
            held.append(row)
        return held

    def together(self, keys: set[Key], sort: str) -> tuple[int, int, Interval]:
        """Return the costs of lines before and after, and the interval of their change, as if they were one line."""
        pairs = [pair for pair in self._pairs if pair[0].key in keys]
        (was, first), (now, second) = (
            (sum(cost for cost, _ in side), sum(squares for _, squares in side))
            for side in zip(*((old.of(sort), new.of(sort)) for old, new in pairs), strict=True)
        )
        return was, round(now * self.scale), self._interval((was, first), (now, second), quantile(_TOGETHER))

    def mismatch(self) -> str:
        """Return a sentence if hardly any cost is in functions of both recordings, or with similar names; else ""."""
        wholes, rows = (self.before.whole, self.after.whole * self.scale), self.lines
        if not all(wholes) or not rows:
            return ""
        gone = [row.name for row in rows if not row.total_after and row.self_before >= _COMMON * wholes[0]]
        common = [0, 0]
        for row in rows:
            came = not row.total_before and row.self_after >= _COMMON * wholes[1]
            if (row.total_before and row.total_after) or (came and close_names(row.name, gone, 1)):
                common = [cost + side for cost, side in zip(common, row.sides("self"), strict=True)]
        few = all(cost < _COMMON * whole for cost, whole in zip(common, wholes, strict=True))
        return "hardly any of the cost is in functions of both" if few else ""

    def whole_change(self, confidence: float, comparisons: float = 1) -> Change:
        """Return the change of the total as a line; its interval takes the number of samples as random, too."""
        (old, new), (was, now) = self._wholes, (self.before.whole, self.whole_after)
        reach = self._reach(confidence, comparisons)
        limits = interval(old, new.scaled(self.factor), reach[0])
        limits = _wider(limits, now - was, reach[1] * (self.hosts.whole if self.hosts else 0))
        return Change("the total", "", was, now, was, now, limits, limits)

    def _reach(self, confidence: float, comparisons: float) -> tuple[float, float]:
        """Return the half-width of an interval in standard errors of samples, and in those of hosts.

        The fewer hosts there are, the larger is the latter; without hosts it is 0.
        """
        return quantile(confidence, comparisons), (
            student(confidence, 2 ** math.ceil(math.log2(max(comparisons, 1))), self.hosts.freedom)
            if self.hosts
            else 0.0
        )

    @cached_property
    def _both(self) -> float:
        """The sum of both totals; at least 1."""
        return max(self.before.whole + self.after.whole * self.scale, 1)

    @cached_property
    def _wholes(self) -> tuple[Measured, Measured]:
        """The sums of all samples before and after, as recorded."""
        weights = [table.squares / table.whole if table.whole else 0.0 for table in (self.before, self.after)]
        old, new = weights[0] or weights[1], weights[1] or weights[0]
        return (
            Measured(self.before.whole, self.before.squares, old),
            Measured(self.after.whole, self.after.squares, new),
        )

    @cached_property
    def _pairs(self) -> list[tuple[Total, Total]]:
        old = {row.key: row for row in self.before.rows}
        new = {row.key: row for row in self.after.rows}
        keys = sorted(old.keys() | new.keys())
        return [(old.get(key) or Total(*key, 0, 0), new.get(key) or Total(*key, 0, 0)) for key in keys]

    def _interval(self, was: tuple[int, float], now: tuple[int, float], deviations: float) -> Interval:
        """Return the limits of the change of a cost; each side has its cost and the sum of squared weights."""
        old, new = self._wholes
        before = Measured(*was, old.typical)
        after = Measured(*now, new.typical).scaled(self.scale)
        if self.normalize:
            return share_interval(before, old, after, new.scaled(self.scale), deviations)
        return interval(before, after, deviations)


def _wider(limits: Interval, change: int, reach: float) -> Interval:
    """Return an interval widened so that it reaches at least ``reach``, the error of hosts, around the change."""
    return min(limits[0], change - reach), max(limits[1], change + reach)


def difference(before: Profile, after: Profile) -> Profile:
    """Return ``after`` minus ``before``: samples of ``before`` are negative and marked as pprof's base."""
    samples = before.samples
    negative = replace(samples, value=-samples.value, count=-samples.count)
    whole = merge_profiles([replace(before, samples=negative), after], [_BASE, {}])
    return replace(whole, meta=replace(whole.meta, duration_ns=after.meta.duration_ns))


def normalized(before: Profile, after: Profile, value: str) -> Profile:
    """Return ``after`` with every event scaled to its total in ``before``.

    Events that either recording lacks are not scaled.
    """
    wholes = _wholes(before, value)
    found = _wholes(after, value).items()
    return scaled(after, [wholes[event] / whole if whole and wholes.get(event) else 1.0 for event, whole in found])


def scaled(after: Profile, factors: Sequence[float]) -> Profile:
    """Return ``after`` with the samples of each event multiplied by its factor.

    Running sums are rounded, not single samples, so that a thousand samples of 1, times 0.4, add up to 400, not to 0.
    """
    samples = after.samples
    value_column, count = samples.value.copy(), samples.count.copy()
    for row, factor in enumerate(factors):
        held = flatnonzero(samples.event == row)
        for column in (value_column, count):
            sums = as_int64(np.rint(cumsum(column[held]) * factor))
            column[held] = np.diff(sums, prepend=0)
    return replace(after, samples=replace(samples, value=value_column, count=count))


def _wholes(profile: Profile, value: str) -> dict[tuple[str, str], int]:
    """Return the sum of each event's samples, in the order of the events."""
    whole = sum_at(profile.samples.event, weights(profile, value), len(profile.events))
    return dict(zip([(event.name, event.unit) for event in profile.events], whole.tolist(), strict=True))
