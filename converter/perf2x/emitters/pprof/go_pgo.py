"""Reduces a profile to the data that ``go build -pgo`` reads.

Go's compiler counts samples by (caller, line in it, callee), from the two innermost locations of each stack: see
``NewGraph`` in internal/profile/graph.go and ``createNamedEdgeMap`` in cmd/internal/pgo/pprof.go of Go's sources.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import flatnonzero
from perf2x.model.filters.profile_filters import innermost, keep_frames
from perf2x.model.profile import Meta, Profile, Threads, Wait, keep_samples
from perf2x.model.transforms.drop_unused import compact

_LOCATIONS = 2
"""Number of innermost locations that Go reads: a call and its target, each with the functions inlined there."""
_CLOCK_NAME = "cpu"
"""Name of CPU time in Go's own profiles."""


def for_go_pgo(profile: Profile) -> Profile:
    """Keep one event, user frames and two locations of each stack; drop threads and properties of the machine."""
    meta = Meta(
        start_ns=profile.meta.start_ns, duration_ns=profile.meta.duration_ns, wall_start_ns=profile.meta.wall_start_ns
    )
    one = keep_frames(_one_event(profile), "user")
    nobody, unknown = np.zeros(1, np.int32), np.full(1, -1, np.int32)
    samples = replace(one.samples, thread=np.zeros_like(one.samples.thread))
    same = replace(one, samples=samples, threads=Threads(unknown, unknown, nobody, nobody), meta=meta, labels={})
    return compact(innermost(same, _LOCATIONS))


def _one_event(profile: Profile) -> Profile:
    """Keep samples of the default event, without waits."""
    shown, samples = profile.default_event, profile.samples
    kept = (samples.event == shown) & (samples.waits == Wait.RAN)
    event = profile.events[shown]
    name = _CLOCK_NAME if event.unit == "nanoseconds" else event.name
    events = tuple(replace(each, name=name if row == shown else each.name) for row, each in enumerate(profile.events))
    return keep_samples(replace(profile, events=events), flatnonzero(kept))
