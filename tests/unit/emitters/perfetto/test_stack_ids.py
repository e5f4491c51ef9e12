from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.emitters.perfetto.samples.stack_ids import intern_by_frequency

NEAR = st.integers(-1, 9)
FAR = st.integers(-(2**31), 2**31 - 1)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(values=st.lists(NEAR) | st.lists(NEAR | FAR))
def test_what_is_used_most_has_the_lowest_number(dtype, values) -> None:
    uses = Counter(values)
    wanted = sorted(uses, key=lambda value: (-uses[value], value))
    distinct, number = intern_by_frequency(np.array(values, dtype))
    assert distinct.tolist() == wanted
    assert number.tolist() == [1 + wanted.index(value) for value in values]
    assert (distinct.dtype, number.dtype) == (np.int64, np.int32)
