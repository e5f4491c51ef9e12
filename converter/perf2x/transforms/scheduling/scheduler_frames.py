"""Waits without the scheduler's own frames: what called it is what a thread waited for."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import Bools
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.waits import Wait
from perf2x.transforms.filters.frame_filters import all_match


def without_scheduler_frames(profile: Profile) -> Profile:
    """Return the profile with each wait at its innermost frame outside of the scheduler; a wait keeps its outermost."""
    samples, parent = profile.samples, profile.stacks.parent.astype(np.int64)
    is_cut = all_match(profile, "scheduler")[profile.stacks.location] & (parent >= 0)
    stack = samples.stack.astype(np.int64)
    rows = np.flatnonzero(_waits(profile) & (stack >= 0))
    while len(rows := rows[is_cut[stack[rows]]]):
        stack[rows] = parent[stack[rows]]
    return replace(profile, samples=replace(samples, stack=stack.astype(samples.stack.dtype)))


def _waits(profile: Profile) -> Bools:
    """(samples,) bool"""
    samples = profile.samples
    of_waits = np.array([event.is_wait for event in profile.events], np.bool_)[samples.event]
    if samples.wait is None:
        return of_waits
    return of_waits | ~np.isin(samples.wait, (Wait.RAN, Wait.TRACED))
