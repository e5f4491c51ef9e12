"""Weights of locations, computed level by level, agree with a count sample by sample."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.model.profile.profile import Stacks
from perf2x.symbolizer.symbol_report import frame_counts
from tests.support.profile_builder import make_profile


def scalar_counts(parents, locations, samples, count) -> list[int]:
    weights = [0] * count
    for stack, number in samples:
        while stack >= 0:
            weights[locations[stack]] += number
            stack = parents[stack]
    return weights


@given(st.data(), st.booleans(), st.integers(1, 12))
def test_weights_agree_with_a_count_frame_by_frame(data, by_levels, count) -> None:
    """Trees as the stitcher leaves them, with rising parents, and in any order that has parents first."""
    parents = [data.draw(st.integers(-1, row - 1)) for row in range(count)]
    if by_levels:
        parents = [min(parent, row - 1) for row, parent in enumerate(sorted(parents))]
    locations = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    drawn = st.lists(st.tuples(st.integers(-1, count - 1), st.integers(1, 2**40)), max_size=6)
    samples = data.draw(drawn)
    profile = make_profile([], [(-1, 1), (-1, 2), (-1, 3)])
    stack, number = [list(column) for column in zip(*samples, strict=True)] or [[], []]
    rows = profile.samples
    zeros = np.zeros(len(samples), np.int32)
    made = type(rows)(zeros, zeros, np.array(stack, np.int32), np.array(number, np.int64), np.array(number, np.int64))
    profile = type(profile)(
        profile.strings, profile.events, profile.threads, profile.mappings, profile.functions, profile.locations,
        Stacks(np.array(parents, np.int32), np.array(locations, np.int32)), made,
    )  # fmt: skip
    assert frame_counts(profile)[0].tolist() == scalar_counts(parents, locations, samples, 3)
    leaves = scalar_counts([-1] * count, locations, samples, 3)
    assert frame_counts(profile)[1].tolist() == leaves
