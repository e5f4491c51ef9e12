"""Next and last moments of threads against a plain loop."""

import numpy as np
import pytest

from perf2x.features.schedule.thread_times import ThreadTimes, first_at_or_after, last_at_or_before


def moments(rng: np.random.Generator, count: int) -> ThreadTimes:
    return ThreadTimes(rng.integers(0, 4, count), rng.integers(0, 30, count).astype(np.uint64))


@pytest.mark.parametrize("seed", range(20))
def test_next_and_last_against_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted, candidates = moments(rng, int(rng.integers(0, 12))), moments(rng, int(rng.integers(0, 12)))
    after, before = first_at_or_after(wanted, candidates), last_at_or_before(wanted, candidates)
    for row, (tid, time) in enumerate(zip(wanted.tid.tolist(), wanted.time.tolist(), strict=True)):
        times = [t for who, t in zip(candidates.tid.tolist(), candidates.time.tolist(), strict=True) if who == tid]
        later, earlier = [t for t in times if t >= time], [t for t in times if t <= time]
        assert (candidates.time[after[row]] if after[row] >= 0 else None) == min(later, default=None)
        assert (candidates.time[before[row]] if before[row] >= 0 else None) == max(earlier, default=None)
        assert after[row] == -1 or candidates.tid[after[row]] == tid
        assert before[row] == -1 or candidates.tid[before[row]] == tid


def test_the_last_moment_there_is() -> None:
    end = np.array([2**64 - 1], np.uint64)
    one = np.ones(1, np.int64)
    candidates = ThreadTimes(np.ones(2, np.int64), np.array([7, 2**64 - 1], np.uint64))
    assert last_at_or_before(ThreadTimes(one, end), candidates).tolist() == [1]
    assert first_at_or_after(ThreadTimes(one, end), candidates).tolist() == [1]


def test_the_last_moment_lies_behind_all_others() -> None:
    one, end = np.ones(1, np.int64), np.array([2**64 - 1], np.uint64)
    for time in (0, 7, 2**63, 2**64 - 2):
        candidates = ThreadTimes(one, np.array([time], np.uint64))
        assert last_at_or_before(ThreadTimes(one, end), candidates).tolist() == [0]
        assert last_at_or_before(candidates, ThreadTimes(one, end)).tolist() == [-1]
