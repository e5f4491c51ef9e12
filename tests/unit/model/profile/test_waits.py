"""Waits in a profile: which rows are slices of a timeline, when they end, and what a profile must not say of them."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.model.profile.profile import Profile, ProfileSamples, Wait, are_placed_waits, wait_ends
from perf2x.model.profile.stack_tree import without_times
from perf2x.testing import ProfileBuilder


@pytest.fixture
def waiting() -> Profile:
    """A thread that runs at 10, is blocked from 20 to 25, is preempted from 30 to 37, and has waited 99 ns in all."""
    builder = ProfileBuilder()
    builder.event()
    waits = builder.event("off-cpu", frequency=0, is_wait=True)
    builder.thread()
    main = builder.function("main")
    builder.sample([main], time=10, value=5)
    for kind, time, value in ((Wait.BLOCKED, 20, 5), (Wait.PREEMPTED, 30, 7), (Wait.UNPLACED, 40, 99)):
        builder.sample([main], event=waits, time=time, value=value, wait=kind)
    return builder.build(timeline=True)


def test_waits_end_after_their_length(waiting: Profile) -> None:
    assert are_placed_waits(waiting.samples).tolist() == [False, True, True, False]
    assert wait_ends(waiting.samples).tolist() == [10, 25, 37, 40]


def test_sums_have_no_places(waiting: Profile) -> None:
    summed = without_times(waiting, keep_cpu=False)
    summed.check()
    assert summed.samples.wait is None
    assert not are_placed_waits(summed.samples).any()
    assert wait_ends(summed.samples).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        ("wait", [0, 1, 2, 6], "kind of wait is out of range"),
        ("wait", [0, 1, 0, 4], "a sample of an event of waits is not a wait"),
        ("value", [5, 5, -7, 99], "a wait has a negative length"),
        ("count", [1, 1, 2, 1], "a wait counts more than one"),
    ],
)
def test_broken_waits(waiting: Profile, column: str, values: list[int], sentence: str) -> None:
    old = getattr(waiting.samples, column)
    samples: ProfileSamples = replace(waiting.samples, **{column: np.array(values, old.dtype)})
    with pytest.raises(ValueError, match=sentence):
        replace(waiting, samples=samples).check()


def test_waits_need_times(waiting: Profile) -> None:
    with pytest.raises(ValueError, match="a profile without times has waits"):
        replace(waiting, samples=replace(waiting.samples, time=None)).check()
