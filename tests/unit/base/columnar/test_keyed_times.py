"""Range queries over times that belong to keys, against plain loops."""

import numpy as np
import pytest

from perf2x.base.columnar.keyed_values import FOREVER, KeyedTimes

LAST = 2**64 - 1


@pytest.mark.parametrize("seed", range(30))
def test_queries_agree_with_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, asked = int(rng.integers(0, 12)), 20
    key, time = rng.integers(-1, 4, count).astype(np.int32), rng.integers(0, 9, count).astype(np.uint64)
    wanted, low = rng.integers(-2, 5, asked).astype(np.int32), rng.integers(0, 10, asked).astype(np.uint64)
    high = low + rng.integers(0, 3, asked).astype(np.uint64)
    table = KeyedTimes(key, time)
    after, between = table.first_after(wanted, low).tolist(), table.has_time_between(wanted, low, high).tolist()
    for row, (who, begin, end) in enumerate(zip(wanted.tolist(), low.tolist(), high.tolist(), strict=True)):
        times = [t for owner, t in zip(key.tolist(), time.tolist(), strict=True) if owner == who]
        assert after[row] == min((t for t in times if t > begin), default=LAST)
        assert between[row] == any(begin <= t <= end for t in times)


def test_no_time_comes_after_the_last_of_64_bits() -> None:
    table = KeyedTimes(np.zeros(2, np.int32), np.array([5, 9], np.uint64))
    assert table.first_after(np.zeros(2, np.int32), np.array([LAST, 5], np.uint64)).tolist() == [LAST, 9]


def test_without_times_there_is_no_later_one() -> None:
    assert KeyedTimes(np.zeros(0, np.int32), np.zeros(0, np.uint64)).first_after(
        np.zeros(2, np.int32), np.array([0, 7], np.uint64)
    ).tolist() == [int(FOREVER)] * 2  # fmt: skip
