"""Whole numbers take 32 bits where all of them fit."""

import numpy as np
import pytest

from perf2x.base.columnar.arrays import narrow

LIMIT = 1 << 31


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([], np.int32),
        ([LIMIT - 1, -LIMIT], np.int32),
        ([LIMIT, 0], np.int64),
        ([-LIMIT - 1, 0], np.int64),
    ],
)
def test_numbers_that_fit_are_narrow_and_none_changes(numbers: list[int], dtype: type) -> None:
    result = narrow(np.array(numbers, np.int64))
    assert (result.dtype, result.tolist()) == (dtype, numbers)
