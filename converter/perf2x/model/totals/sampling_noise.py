"""Decides which differences between two recordings sampling noise can explain.

A value is the sum of the weights of random samples, so its variance is close to the sum of their squared weights. It
behaves like a Poisson count of ``value² / squares`` samples of weight ``squares / value`` each. Byar's approximation
gives the limits of that count, and MOVER (Zou and Donner, 2008) combines the limits of two counts into an interval for
their difference. A difference is significant if its interval does not contain 0. ``quantile`` widens the intervals for
multiple comparisons (Bonferroni), so that all of them hold at once.
"""

import math

from perf2x.base.frozen_struct import Frozen

Interval = tuple[float, float]


class Measured(Frozen):
    """A sum of weights, in the event's unit."""

    value: float
    squares: float
    """Sum of the squared weights."""
    typical: float
    """Weight of one sample of the recording, for a value without samples."""

    def scaled(self, factor: float) -> "Measured":
        """Return the samples with every weight multiplied by ``factor``."""
        return Measured(self.value * factor, self.squares * factor * factor, self.typical * factor)


def quantile(confidence: float, comparisons: float = 1) -> float:
    """Return the standard deviations for two-sided intervals that hold for all comparisons at once."""
    from statistics import NormalDist  # takes milliseconds, which a plain table does not need

    return -NormalDist().inv_cdf((1 - confidence) / (2 * max(comparisons, 1)))


def interval(before: Measured, after: Measured, deviations: float) -> Interval:
    """Return the limits of ``after`` − ``before``."""
    return difference_limits(before.value, after.value, limits(before, deviations), limits(after, deviations))


def ratio_interval(part: Measured, whole: Measured, deviations: float) -> Interval | None:
    """Return the limits of ``part`` / ``whole``, sampled separately (MOVER-R of Donner and Zou, 2012).

    None if ``whole`` has too few samples for a limit: fewer than eight for 95 %.
    """
    (least, most), product = limits(whole, deviations), part.value * whole.value
    if least <= 0 or most >= 2 * whole.value:
        return None

    def limit(own: float, other: float, sign: int) -> float:
        scale = other * (2 * whole.value - other)
        return (product + sign * math.sqrt(max(product**2 - own * (2 * part.value - own) * scale, 0.0))) / scale

    low, high = limits(part, deviations)
    return max(limit(low, most, -1), 0.0), limit(high, least, 1)


def share_interval(
    before: Measured, before_whole: Measured, after: Measured, after_whole: Measured, deviations: float
) -> Interval:
    """Return the limits of the difference between parts of equal totals, where a part grows at the rest's expense."""
    limits_before = _share_limits(before, before_whole, deviations)
    limits_after = _share_limits(after, after_whole, deviations)
    return difference_limits(before.value, after.value, limits_before, limits_after)


def difference_limits(before: float, after: float, limits_before: Interval, limits_after: Interval) -> Interval:
    """Return the limits of ``after`` − ``before``, from the limits of each."""
    change = after - before
    return (
        change - math.hypot(after - limits_after[0], limits_before[1] - before),
        change + math.hypot(limits_after[1] - after, before - limits_before[0]),
    )


def limits(measured: Measured, deviations: float) -> Interval:
    """Return the confidence limits of the expected value."""
    if measured.value <= 0 or measured.squares <= 0:
        return 0.0, count_limits(0.0, deviations)[1] * measured.typical
    weight = measured.squares / measured.value
    low, high = count_limits(measured.value / weight, deviations)
    return low * weight, high * weight


def count_limits(count: float, deviations: float) -> Interval:
    """Return Byar's approximation of the exact limits of a Poisson count."""
    more = count + 1
    high = more * _cubed(1 - 1 / (9 * more) + deviations / (3 * math.sqrt(more)))
    if count <= 0:
        return 0.0, high
    return count * _cubed(max(1 - 1 / (9 * count) - deviations / (3 * math.sqrt(count)), 0.0)), high


def _share_limits(part: Measured, whole: Measured, deviations: float) -> Interval:
    """Return the limits of the smaller of the part and the rest, as limits of the part.

    Poisson limits are wider than those of a share. If the samples of the rest weigh more than those of the part, the
    noise of the rest dominates that of the share.
    """
    rest = Measured(whole.value - part.value, whole.squares - part.squares, whole.typical)
    share = part.value / whole.value if whole.value else 0.0
    variance = (1 - share) ** 2 * part.squares + share**2 * rest.squares
    smaller = min(part, rest, key=lambda one: one.value)
    low, high = limits(Measured(smaller.value, max(smaller.squares, variance), whole.typical), deviations)
    return (whole.value - high, whole.value - low) if smaller is rest else (low, high)


def _cubed(number: float) -> float:
    return number * number * number
