"""Reduces a profile to the data that ``go build -pgo`` reads.

Go's compiler counts samples by caller, line in the caller, and callee (``NewGraph`` in internal/profile/graph.go,
``createNamedEdgeMap`` in cmd/internal/pgo/pprof.go of Go's sources).
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import flatnonzero
from perf2x.model.filters.profile_filters import keep_frames, keep_innermost
from perf2x.model.profile import Meta, Profile, Threads, Wait, keep_samples
from perf2x.model.transforms.drop_unused import compact

_INNERMOST_LOCATIONS = 2
"""Innermost locations that Go reads: a call and its target, each with the functions inlined there."""
_CLOCK_NAME = "cpu"
"""Name of CPU time in Go's own profiles."""


def for_go_pgo(profile: Profile) -> Profile:
    """Keep the default event, user frames and two locations of each stack; drop threads, labels and the machine."""
    meta = Meta(
        start_ns=profile.meta.start_ns, duration_ns=profile.meta.duration_ns, wall_start_ns=profile.meta.wall_start_ns
    )
    user_code = keep_frames(_keep_default_event(profile), "user")
    # one thread without name and ids
    no_name, no_id = np.zeros(1, np.int32), np.full(1, -1, np.int32)
    samples = replace(user_code.samples, thread=np.zeros_like(user_code.samples.thread))
    reduced = replace(user_code, samples=samples, threads=Threads(no_id, no_id, no_name, no_name), meta=meta, labels={})
    return compact(keep_innermost(reduced, _INNERMOST_LOCATIONS))


def _keep_default_event(profile: Profile) -> Profile:
    default, samples = profile.default_event, profile.samples
    is_kept = (samples.event == default) & (samples.waits == Wait.RAN)
    event = profile.events[default]
    name = _CLOCK_NAME if event.unit == "nanoseconds" else event.name
    events = tuple(
        replace(other, name=name if row == default else other.name) for row, other in enumerate(profile.events)
    )
    return keep_samples(replace(profile, events=events), flatnonzero(is_kept))
