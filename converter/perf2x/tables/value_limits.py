"""How large the numbers in a profile may be; what a file says beyond that is cut or refused where it is read."""

import numpy as np

from perf2x.columnar.arrays import I64
from perf2x.tables.errors import FormatError

LAST_TIME = 2**63 - 1
"""Nanoseconds."""
MOST_PERIOD = 1 << 48
"""Of one sample, and of an event: a counter that counts once a nanosecond gets there in three days."""
MOST_VALUE = 1 << 62
"""Of all samples together, so that every sum of them fits into int64."""


def check_total(what: str, *values: I64) -> None:
    """FormatError when values (each n, int64, none negative) add up to more than sums can hold."""
    if sum(float(column.sum(dtype=np.float64)) for column in values) >= MOST_VALUE:
        raise too_much(what)


def too_much(what: str) -> FormatError:
    """What to say of an input whose numbers are damage."""
    return FormatError(f"{what}: damaged: the periods of its samples add up to 2⁶² or more")
