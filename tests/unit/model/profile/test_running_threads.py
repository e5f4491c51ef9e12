"""Claims that a profile must not make about latencies and the number of running threads."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.model.profile.profile import Profile, RunningThreads
from perf2x.testing import ProfileBuilder


@pytest.fixture
def whole() -> Profile:
    builder = ProfileBuilder()
    builder.event()
    builder.thread()
    builder.sample([builder.function("main")], time=10, value=8)
    made = builder.build(timeline=True)
    samples = replace(made.samples, latency=np.array([4], np.int64))
    curve = RunningThreads(np.array([5, 7, 12], np.uint64), np.array([1, 2, 0], np.int32))
    return replace(made, samples=samples, running=curve)


@pytest.mark.parametrize("latency", [0, 8])
def test_shares_from_nothing_to_all(whole: Profile, latency: int) -> None:
    replace(whole, samples=replace(whole.samples, latency=np.array([latency], np.int64))).check()


@pytest.mark.parametrize("latency", [-1, 9])
def test_latencies_that_are_no_shares(whole: Profile, latency: int) -> None:
    with pytest.raises(ValueError, match="a latency is not a share of the value"):
        replace(whole, samples=replace(whole.samples, latency=np.array([latency], np.int64))).check()


@pytest.mark.parametrize(
    ("time", "threads", "sentence"),
    [
        ([5, 7], [1, 2, 0], "columns of two lengths"),
        ([5, 5, 12], [1, 2, 0], "not in time order"),
        ([5, 7, 12], [1, -1, 0], "a number of running threads is negative"),
        ([5, 7, 12], [1, 2, 2], "changes nothing"),
    ],
)
def test_broken_curves(whole: Profile, time: list[int], threads: list[int], sentence: str) -> None:
    curve = RunningThreads(np.array(time, np.uint64), np.array(threads, np.int32))
    whole.check()
    with pytest.raises(ValueError, match=sentence):
        replace(whole, running=curve).check()
