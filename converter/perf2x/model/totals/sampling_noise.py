"""Decides which differences between two recordings may be sampling noise.

A value is the sum of the weights (periods) of random samples, so its variance is close to the sum of their squares. It
behaves like a Poisson count of ``value² / squares`` samples of weight ``squares / value`` each. Byar's approximation
gives the limits of this count. MOVER (Zou and Donner, 2008) combines the limits of two counts into an interval for
their difference, which is significant if the interval does not contain 0. If many differences are tested, all intervals
are wider (Bonferroni's correction).

``deviations`` is always the half-width of intervals in standard deviations, from `quantile`.
"""

import math

from perf2x.base.frozen_struct import Frozen

Interval = tuple[float, float]


class SampledSum(Frozen):
    """A sum of the weights of samples, in the event's unit."""

    value: float
    squares: float
    """Sum of the squared weights."""
    typical_weight: float
    """Weight of a typical sample of the recording, from which the limits of a value of 0, without samples, follow."""

    def scaled(self, factor: float) -> "SampledSum":
        """Multiply every weight by ``factor``."""
        return SampledSum(self.value * factor, self.squares * factor * factor, self.typical_weight * factor)


def quantile(confidence: float, comparisons: float = 1) -> float:
    """Return the ``deviations`` with which all of ``comparisons`` intervals hold at once with this confidence."""
    from statistics import NormalDist  # takes milliseconds; a plain table does not need it

    return -NormalDist().inv_cdf((1 - confidence) / (2 * max(comparisons, 1)))


def difference_interval(before: SampledSum, after: SampledSum, deviations: float) -> Interval:
    """Estimate the limits of ``after`` − ``before``."""
    return difference_limits(before.value, after.value, limits(before, deviations), limits(after, deviations))


def ratio_interval(part: SampledSum, whole: SampledSum, deviations: float) -> Interval | None:
    """Estimate the limits of ``part`` / ``whole``, sampled separately (MOVER-R of Donner and Zou, 2012).

    With the values a and b, the limits l₁ and u₁ of a, l₂ and u₂ of b::

        lower = (a b − √((a b)² − l₁ u₂ (2a − l₁) (2b − u₂))) / (u₂ (2b − u₂))
        upper = (a b + √((a b)² − u₁ l₂ (2a − u₁) (2b − l₂))) / (l₂ (2b − l₂))

    None if ``whole`` has too few samples for a limit: fewer than eight for 95 %.
    """
    (whole_low, whole_high), product = limits(whole, deviations), part.value * whole.value
    if whole_low <= 0 or whole_high >= 2 * whole.value:
        return None

    def limit(part_limit: float, whole_limit: float, sign: int) -> float:
        scale = whole_limit * (2 * whole.value - whole_limit)
        square = product**2 - part_limit * (2 * part.value - part_limit) * scale
        return (product + sign * math.sqrt(max(square, 0.0))) / scale

    low, high = limits(part, deviations)
    return max(limit(low, whole_high, -1), 0.0), limit(high, whole_low, 1)


def share_interval(
    before: SampledSum, before_whole: SampledSum, after: SampledSum, after_whole: SampledSum, deviations: float
) -> Interval:
    """Estimate the limits of ``after`` − ``before``: parts of two totals, which were scaled to be equal."""
    limits_before = _share_limits(before, before_whole, deviations)
    limits_after = _share_limits(after, after_whole, deviations)
    return difference_limits(before.value, after.value, limits_before, limits_after)


def difference_limits(before: float, after: float, limits_before: Interval, limits_after: Interval) -> Interval:
    """Combine the limits of two values to those of ``after`` − ``before`` (MOVER)."""
    change = after - before
    return (
        change - math.hypot(after - limits_after[0], limits_before[1] - before),
        change + math.hypot(limits_after[1] - after, before - limits_before[0]),
    )


def limits(sampled: SampledSum, deviations: float) -> Interval:
    """Estimate the limits of the true value: the mean over many such recordings."""
    if sampled.value <= 0 or sampled.squares <= 0:
        return 0.0, count_limits(0.0, deviations)[1] * sampled.typical_weight
    weight = sampled.squares / sampled.value
    low, high = count_limits(sampled.value / weight, deviations)
    return low * weight, high * weight


def count_limits(count: float, deviations: float) -> Interval:
    """Byar's approximation of the exact limits of a Poisson count."""
    next_count = count + 1
    high = next_count * _cubed(1 - 1 / (9 * next_count) + deviations / (3 * math.sqrt(next_count)))
    if count <= 0:
        return 0.0, high
    return count * _cubed(max(1 - 1 / (9 * count) - deviations / (3 * math.sqrt(count)), 0.0)), high


def _share_limits(part: SampledSum, whole: SampledSum, deviations: float) -> Interval:
    """Estimate the limits of a part of a total that has no noise.

    The limits of part and rest follow from each other. Those of the smaller one are computed: Poisson limits, which
    ignore that the total is fixed, are too wide, but less so for a smaller share. Of two estimates of
    the variance, the larger one is used: the squares of the smaller part alone, and the variance of its share, to which
    the larger part contributes.
    """
    rest = SampledSum(whole.value - part.value, whole.squares - part.squares, whole.typical_weight)
    share = part.value / whole.value if whole.value else 0.0
    variance = (1 - share) ** 2 * part.squares + share**2 * rest.squares
    smaller = min(part, rest, key=lambda sampled: sampled.value)
    low, high = limits(SampledSum(smaller.value, max(smaller.squares, variance), whole.typical_weight), deviations)
    return (whole.value - high, whole.value - low) if smaller is rest else (low, high)


def _cubed(number: float) -> float:
    return number * number * number
