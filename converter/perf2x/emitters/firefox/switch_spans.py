"""Context switches as spans of time in which a thread had no CPU."""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, ends_run, of_next
from perf2x.base.columnar.unique import argsort_rows
from perf2x.emitters.firefox.lanes import Timeline
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.tracks import switch_tracks
from perf2x.model.profile.profile import Profile


class SwitchSpans(Struct, frozen=True):
    """From each switch out to the thread's next switch in; as short as nothing where the recording ends before."""

    track: I64
    start: I64
    end: I64


def switch_spans(profile: Profile, timeline: Timeline) -> SwitchSpans:
    """Return the spans of all threads with a track but idle ones, in nanoseconds since the first sample.

    ::

        switches     out   in  out   out      in, out of order or lost, stands for nothing
        spans         |----|    |     |
    """
    switches = profile.switches
    if switches is None or not len(switches.time):
        none = np.zeros(0, np.int64)
        return SwitchSpans(none, none, none)
    track = switch_tracks(profile, switches)
    is_idle = np.append(timeline.tracks.cpu, -1)[track] >= 0
    held = np.flatnonzero((track >= 0) & ~is_idle & (switches.time >= timeline.origin))
    time = since(switches.time[held], timeline.origin)
    order = argsort_rows([track[held], time])
    track, time, is_out = track[held][order], time[order], switches.is_out[held][order]
    is_closed = ~ends_run(track) & is_out & ~of_next(is_out, True)
    end = np.where(is_closed, of_next(time, 0), time)
    return SwitchSpans(track[is_out], time[is_out], end[is_out])
