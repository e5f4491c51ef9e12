"""Limits of the numbers in a profile; larger numbers in a file are clamped or refused when they are read."""

import numpy as np

from perf2x.base.columnar import I64
from perf2x.errors import FormatError

# Latest time, in nanoseconds.
LAST_TIME = 2**63 - 1
# Largest period: a counter that counts once per nanosecond reaches it in three days.
MOST_PERIOD = 1 << 48
# The values of all samples must add up to less, so that every sum of samples fits into int64.
MOST_VALUE = 1 << 62


def check_total(source: str, values: I64, total_so_far: float = 0.0) -> float:
    """Add ``values`` (int64, none negative) to ``total_so_far``. Raises FormatError if the sum is 2⁶² or more."""
    total = total_so_far + float(values.sum(dtype=np.float64))
    if total >= MOST_VALUE:
        raise periods_error(source)
    return total


def periods_error(source: str) -> FormatError:
    """Make the error for an input with such large periods that it must be damaged."""
    return FormatError(f"{source}: damaged: the periods of its samples add up to 2⁶² or more")
