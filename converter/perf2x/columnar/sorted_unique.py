"""Distinct numbers of columns that mostly come sorted."""

import numpy as np

from perf2x.columnar.arrays import I64
from perf2x.columnar.unique import kinds_of


def distinct(numbers: I64) -> tuple[I64, I64]:
    """Distinct numbers, rising, and each number's place among them: ``kinds_of``, without sorting what is sorted."""
    step = np.diff(numbers)
    if len(step) and int(step.min()) < 0:
        return kinds_of(numbers)
    is_new = np.ones(len(numbers), np.bool_)
    is_new[1:] = step != 0
    return numbers[is_new], np.cumsum(is_new) - 1


def distinct_known(numbers: I64) -> tuple[I64, I64]:
    """The same without −1, which stands for unknown and stays −1."""
    values, place = distinct(numbers)
    unknown = int(np.searchsorted(values, 0))
    return values[unknown:], place - unknown
