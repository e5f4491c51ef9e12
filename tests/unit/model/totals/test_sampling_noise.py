"""Limits of sampling noise against exact ones, error rates against the confidence asked for."""

import itertools
import math

import numpy as np
import pytest

from perf2x.model.totals.sampling_noise import (
    SampledSum,
    count_limits,
    difference_interval,
    limits,
    quantile,
    share_interval,
)


def poisson(mean: float, upto: int) -> list[float]:
    """Probabilities of 0, 1, … samples."""
    return [math.exp(count * math.log(mean) - mean - math.lgamma(count + 1)) for count in range(upto)]


def exact_limits(count: int, error: float) -> tuple[float, float]:
    """The means for which so few, or so many, samples have this probability: what Byar approximates."""

    def solved(too_small: object) -> float:
        low, high = 1e-9, 20.0 * (count + 10)
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if too_small(middle) else (low, middle)  # type: ignore[operator]
        return low

    upper = solved(lambda mean: sum(poisson(mean, count + 1)) > error)
    lower = solved(lambda mean: 1 - sum(poisson(mean, count)) < error) if count else 0.0
    return lower, upper


def samples(count: float, weight: float = 1.0) -> SampledSum:
    return SampledSum(count * weight, count * weight * weight, weight)


@pytest.mark.parametrize(
    ("confidence", "comparisons", "expected"),
    [(0.95, 1, 1.959964), (0.99, 1, 2.575829), (0.95, 10, 2.807034), (0.95, 0, 1.959964), (0.6826895, 1, 1.0)],
)
def test_quantiles(confidence: float, comparisons: int, expected: float) -> None:
    assert quantile(confidence, comparisons) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 10, 50])
@pytest.mark.parametrize("error", [0.025, 0.001])
def test_limits_of_counts(count: int, error: float) -> None:
    low, high = count_limits(count, quantile(1 - 2 * error))
    exact = exact_limits(count, error)
    assert high == pytest.approx(exact[1], rel=0.03)
    assert low == pytest.approx(exact[0], rel=0.08, abs=0.03)


def test_few_heavy_samples_are_as_uncertain_as_few() -> None:
    """A value of 1000 is ten samples of 100, or nine of 1 and one of 991."""
    assert limits(samples(10, 100), 2) == pytest.approx([100 * limit for limit in count_limits(10, 2)])
    mixed = SampledSum(1000, 9 + 991**2, 1)
    low, high = limits(mixed, 2)
    assert low < 20 and high > 5000


def test_what_was_not_met_has_limits_of_its_own() -> None:
    """As those of no sample that would have had the typical weight, whichever of value and squares is missing."""
    for nothing in (SampledSum(0, 0, 10), SampledSum(0, 5, 10), SampledSum(5, 0, 10)):
        assert limits(nothing, 2) == (0.0, count_limits(0, 2)[1] * 10)
    assert limits(SampledSum(0.5, 0.25, 1), 2) == pytest.approx([0.5 * limit for limit in count_limits(1, 2)])


def chance(count: int, both: int) -> float:
    """Probability that a fair coin shows at least that many heads: the exact test of two counts."""
    return sum(math.comb(both, heads) for heads in range(count, both + 1)) / 2**both


def test_the_decision_at_its_boundary() -> None:
    """100 samples grew to 131, and not to 130, with 95 %; three standard deviations would ask for 148."""
    deviations = quantile(0.95)
    assert chance(131, 231) < 0.025 < chance(130, 230)
    assert difference_interval(samples(100), samples(130), deviations)[0] <= 0
    assert difference_interval(samples(100), samples(131), deviations)[0] > 0
    assert difference_interval(samples(131), samples(100), deviations)[1] < 0
    assert (
        difference_interval(samples(100), samples(147), 3)[0]
        <= 0
        < difference_interval(samples(100), samples(148), 3)[0]
    )


def test_new_functions() -> None:
    """Five samples of what was not met before are new; a single comparison could ask for six, with 2⁻⁵ = 3 %."""
    deviations = quantile(0.95)
    assert [difference_interval(samples(0), samples(count), deviations)[0] > 0 for count in (4, 5)] == [False, True]
    assert (
        difference_interval(samples(0, 5), samples(0, 5), deviations)[0]
        < 0
        < difference_interval(samples(0), samples(0), deviations)[1]
    )


def test_a_short_recording_before_leaves_room_for_what_it_did_not_meet() -> None:
    """A sample before weighs ten of those after: none before and ten after are no news."""
    assert difference_interval(samples(0, 10), samples(10, 1), quantile(0.95))[0] < 0


@pytest.mark.parametrize("error", [0.025, 0.0005, 0.00002])
@pytest.mark.parametrize("factor", [0.05, 0.5, 1, 4])
def test_exact_error_rates(error: float, factor: float) -> None:
    """All pairs of counts, AFTER ``1 / factor`` times as long: growth is found as rarely as asked."""
    deviations = quantile(1 - 2 * error)
    for mean in (0.5, 3.0, 12.0, 40.0):
        wide = math.ceil(mean + 8 * mean**0.5 + 20), math.ceil(mean / factor + 8 * (mean / factor) ** 0.5 + 20)
        old, new = poisson(mean, wide[0]), poisson(mean / factor, wide[1])
        wrong = 0.0
        for before, after in itertools.product(range(wide[0]), range(wide[1])):
            if old[before] * new[after] > 1e-12 and factor * after > before:
                low, _ = difference_interval(samples(before), samples(after, factor), deviations)
                wrong += old[before] * new[after] * (low > 0)
        assert wrong <= error


def test_shares() -> None:
    """A share's limits hold the whole: what a part loses, the rest gains, and neither is below nothing."""
    whole = samples(1000)
    for part in (0, 3, 400, 600, 997, 1000):
        low, high = share_interval(samples(part), whole, samples(300), whole, 2)
        rest = share_interval(samples(1000 - part), whole, samples(700), whole, 2)
        assert (low, high) == pytest.approx([-rest[1], -rest[0]])
    low, high = share_interval(samples(1000), whole, samples(1000), whole, 2)
    assert -8 < low < 0 < high < 8


def test_a_share_is_as_uncertain_as_what_it_is_a_share_of() -> None:
    """A hundred samples of 1 are steady, their share is not: one sample of 900 beside them comes and goes."""
    part, whole = samples(100), SampledSum(1000, 100 + 900**2, 810)
    assert share_interval(part, whole, part, whole, 2)[1] > 100


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_error_rates_of_shares(share: float) -> None:
    random = np.random.default_rng(1)
    before, after = random.binomial(500, share, 2000), random.binomial(2000, share, 2000)
    wrong = 0
    for was, now in zip(before.tolist(), after.tolist(), strict=True):
        low, high = share_interval(samples(was), samples(500), samples(now, 0.25), samples(2000, 0.25), quantile(0.95))
        wrong += low > 0 or high < 0
    assert wrong <= 0.06 * 2000
