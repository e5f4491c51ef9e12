"""Limits of the numbers in a profile; larger numbers in a file are clamped or refused as they are read."""

import numpy as np

from perf2x.base.columnar import I64
from perf2x.errors import FormatError

LAST_TIME = 2**63 - 1
"""Latest time, in nanoseconds."""
MOST_PERIOD = 1 << 48
"""Largest period of a sample or event: a counter that counts once per nanosecond reaches it in three days."""
MOST_VALUE = 1 << 62
"""Limit for the sum of all samples, so that every partial sum fits into int64."""


def check_total(what: str, values: I64, before: float = 0.0) -> float:
    """Return ``before`` plus the sum of values (int64, none negative).

    Raises FormatError if it is 2⁶² or more.
    """
    total = before + float(values.sum(dtype=np.float64))
    if total >= MOST_VALUE:
        raise too_much(what)
    return total


def too_much(what: str) -> FormatError:
    """Return the error for an input with damaged periods."""
    return FormatError(f"{what}: damaged: the periods of its samples add up to 2⁶² or more")
