"""Student's t distribution: how uncertain a mean of few values is."""

import math
from functools import lru_cache


@lru_cache(4096)
def student(confidence: float, comparisons: int, freedom: int) -> float:
    """Return the half-width of two-sided confidence intervals, in standard errors.

    ``confidence`` is the probability that the intervals of all ``comparisons`` are right at once (Bonferroni);
    ``freedom`` is the number of degrees of freedom. The half-width t is found by bisection of the closed form of the
    distribution for whole degrees of freedom (Abramowitz and Stegun, 26.7.3), which is written in terms of an angle:
    t = sqrt(freedom) * tan(angle). Without a degree of freedom nothing can be estimated, and the result is 0.
    """
    if freedom < 1:
        return 0.0
    # beyond 500 degrees of freedom, the distribution hardly changes
    freedom, probability_outside = min(freedom, 500), (1 - confidence) / max(comparisons, 1)
    low, high = 0.0, math.pi / 2
    for _ in range(60):  # each step halves the interval; 60 reach the precision of a float
        angle = (low + high) / 2
        low, high = (angle, high) if 1 - _probability_within(angle, freedom) > probability_outside else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _probability_within(angle: float, freedom: int) -> float:
    """Return the probability that |t| is below ``sqrt(freedom) * tan(angle)``."""
    is_odd, cosine = freedom % 2, math.cos(angle)
    term = series = cosine if is_odd else 1.0
    for step in range(2 + is_odd, freedom, 2):
        term *= (step - 1) / step * cosine * cosine
        series += term
    product = math.sin(angle) * series if freedom > 1 else 0.0
    return 2 / math.pi * (angle + product) if is_odd else product
