"""Whole numbers in half the memory: columns of rows, tracks and CPUs of millions of samples."""

import numpy as np

from perf2x.base.columnar.arrays import AnyArray

_LEAST, _GREATEST = np.iinfo(np.int32).min, np.iinfo(np.int32).max


def narrow(values: AnyArray) -> AnyArray:
    """Return whole numbers as int32 if all of them fit, else as they are. Sums and products of them may not fit."""
    if values.dtype == np.int32 or (len(values) and not _LEAST <= values.min() <= values.max() <= _GREATEST):
        return values
    return values.astype(np.int32)
