"""Limits of the numbers in a profile; larger ones in a file are clamped or refused where they are read."""

import numpy as np

from perf2x.base.columnar import I64
from perf2x.errors import FormatError

LAST_TIME = 2**63 - 1
"""Latest time, in nanoseconds."""
MOST_PERIOD = 1 << 48
"""Period of one sample, and of an event: a counter that counts once a nanosecond gets there in three days."""
MOST_VALUE = 1 << 62
"""Sum of all samples, so that every partial sum fits into int64."""


def check_total(what: str, values: I64, before: float = 0.0) -> float:
    """Return the sum of values (int64, none negative) and of those ``before``.

    FormatError when it is 2⁶² or more.
    """
    total = before + float(values.sum(dtype=np.float64))
    if total >= MOST_VALUE:
        raise too_much(what)
    return total


def too_much(what: str) -> FormatError:
    """Make the error for an input whose periods are damaged."""
    return FormatError(f"{what}: damaged: the periods of its samples add up to 2⁶² or more")
