"""Threads that run at each moment against a count of overlapping runs, thread by thread."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.arrays import Bools
from perf2x.features.latency.divide_values import divide
from perf2x.features.latency.running_threads import count_running, parallelism_at
from perf2x.features.schedule.thread_times import ThreadTimes
from perf2x.model.profile.profile import RunningThreads

END = 30
Moments = list[tuple[int, int, bool]]
"""Thread, time, and whether it runs from then on; a thread has one moment at a time."""
MOMENTS = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, END), st.booleans()), max_size=25, unique_by=lambda m: m[:2]
)
BIRTHS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, END)), max_size=4)


def columns(moments: Moments) -> tuple[ThreadTimes, Bools]:
    tid = np.array([tid for tid, _, _ in moments], np.int64)
    time = np.array([time for _, time, _ in moments], np.uint64)
    return ThreadTimes(tid, time), np.array([runs for _, _, runs in moments], np.bool_)


def births(moments: list[tuple[int, int]]) -> ThreadTimes:
    return ThreadTimes(np.array([tid for tid, _ in moments], np.int64), np.array([t for _, t in moments], np.uint64))


def runs_at(moment: int, own: list[tuple[int, bool]], born: list[int]) -> bool:
    """Reference for one thread: its last moment decides; before the first one, the first one tells what was."""
    past = [runs for time, runs in own if time <= moment]
    if past:
        return past[-1]
    if not own or own[0][1]:
        return False
    return moment >= max((time for time in born if time <= own[0][0]), default=0)


@given(MOMENTS, BIRTHS)
def test_the_curve_against_a_count_at_every_moment(moments: Moments, forks: list[tuple[int, int]]) -> None:
    curve = count_running(*columns(moments), births(forks))
    tids = {tid for tid, _, _ in moments}
    own = {tid: sorted((time, runs) for who, time, runs in moments if who == tid) for tid in tids}
    born = {tid: [time for who, time in forks if who == tid] for tid in tids}
    steps = dict(zip(curve.time.tolist(), curve.threads.tolist(), strict=True))
    count = 0
    for moment in range(END + 2):
        count = steps.get(moment, count)
        assert count == sum(runs_at(moment, own[tid], born[tid]) for tid in tids), moment
    assert (np.diff(curve.time.astype(np.int64)) > 0).all()
    assert (np.diff(curve.threads) != 0).all()


def test_a_moment_between_two_steps() -> None:
    curve = RunningThreads(np.array([10, 20, 30], np.uint64), np.array([1, 5, 0], np.int32))
    time = np.array([0, 9, 10, 19, 20, 29, 30, 99], np.uint64)
    assert parallelism_at(curve, time, 0).tolist() == [1, 1, 1, 1, 5, 5, 1, 1]
    assert parallelism_at(curve, time, 4).tolist() == [1, 1, 1, 1, 4, 4, 1, 1]
    none = RunningThreads(time[:0], np.zeros(0, np.int32))
    assert parallelism_at(none, time[:2], 4).tolist() == [1, 1]


@given(st.lists(st.tuples(st.integers(0, 1 << 48), st.integers(1, 4096)), max_size=20))
def test_fractions_are_carried_on(shares: list[tuple[int, int]]) -> None:
    value, parallelism = (np.array([pair[at] for pair in shares], np.int64) for at in (0, 1))
    exact, so_far = 0.0, 0
    for share, (number, by) in zip(divide(value, parallelism).tolist(), shares, strict=True):
        assert number // by <= share <= number // by + 1
        exact, so_far = exact + number % by / by, so_far + share - number // by
        assert exact - 1 - 1e-4 <= so_far <= exact + 1e-9


def test_every_second_of_two() -> None:
    ones = np.ones(6, np.int64)
    assert divide(ones, 2 * ones).tolist() == [0, 1, 0, 1, 0, 1]
