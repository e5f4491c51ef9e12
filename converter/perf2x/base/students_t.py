"""Student's t distribution: how uncertain a mean of few values is."""

import math
from functools import lru_cache


@lru_cache(4096)
def student(confidence: float, comparisons: int, freedom: int) -> float:
    """Return the half-width of two-sided confidence intervals, in standard errors; 0 without a degree of freedom.

    ``confidence`` is the probability that the intervals of all ``comparisons`` are right at once (Bonferroni).
    """
    if freedom < 1:
        return 0.0
    # The distribution has a closed form in the angle of t = sqrt(freedom) * tan(angle): Abramowitz and Stegun, 26.7.3.
    # Beyond 500 degrees of freedom, it hardly changes.
    freedom, probability_outside = min(freedom, 500), (1 - confidence) / max(comparisons, 1)
    low, high = 0.0, math.pi / 2
    for _ in range(60):  # 60 halvings reach the precision of a float
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
