"""Lanes of a timeline for durations of pairs, which overlap each other and the time in which their thread runs."""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.unique import group_rows
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.waits import Wait
from perf2x.transforms.pairs.pair_matching import lanes_of


def with_lanes(profile: Profile) -> Profile:
    """Give the durations of each thread and event as many lanes as overlap at once; see ProfileSamples.lane."""
    samples, threads = profile.samples, profile.threads
    if samples.wait is None or samples.time is None:
        return profile
    rows = np.flatnonzero(samples.wait == Wait.TRACED)
    owner = group_rows([threads.pid, threads.tid])[1][samples.thread[rows]]
    key = owner * len(profile.events) + samples.event[rows]
    rows, key = rows[order := np.argsort(key, kind="stable")], key[order]
    since = samples.time[rows].astype(np.int64)
    lane = np.zeros(len(samples), np.int32)
    lane[rows] = lanes_of(key, since, since + samples.value[rows])
    return replace(profile, samples=replace(samples, lane=lane))
