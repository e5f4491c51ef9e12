"""Threads of Firefox Profiler's format, in its order: processes by pid, leaders first."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U64, AnyArray, lexsort, narrow
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.tracks import Tracks, tracks_of
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile


class Timeline(Struct, frozen=True):
    """The track and the moment of each row of Profile.samples."""

    tracks: Tracks
    track: AnyArray
    """32 bits where that is enough."""
    recorded: U64 | None
    """Times on the recording's clock."""
    origin: int
    """The first of them, in nanoseconds."""

    def times(self, rows: AnyArray | slice) -> I64:
        """Return nanoseconds since ``origin``, as in all tables; 0 for samples without times."""
        if self.recorded is None:
            return np.zeros(len(self.track[rows]), np.int64)
        return since(self.recorded[rows], self.origin)


def timeline_of(profile: Profile) -> Timeline:
    """Return tracks and moments of all samples."""
    tracks, track = tracks_of(profile)
    recorded = profile.samples.time
    origin = int(recorded[0]) if recorded is not None and len(recorded) else 0
    return Timeline(tracks, narrow(track), recorded, origin)


class Lane(Struct, frozen=True):
    """One thread: its row in Tracks, the times (ns) of its first and its last event."""

    track: int
    first: int
    last: int


def lanes_of(timeline: Timeline) -> Iterator[Lane]:
    """Yield all threads."""
    tracks, track, time = timeline.tracks, timeline.track, timeline.times(slice(None))
    last = np.zeros(len(tracks), np.int64)
    last[track] = time  # the last assignment wins
    first = np.zeros(len(tracks), np.int64)
    first[track[::-1]] = time[::-1]
    for row in lexsort((tracks.tid, tracks.tid != tracks.pid, tracks.pid)).tolist():
        yield Lane(row, int(first[row]), int(last[row]))


def thread_head(profile: Profile, tracks: Tracks, lane: Lane) -> dict[str, object]:
    """Return all members of a thread but its tables."""
    pid, tid = int(tracks.pid[lane.track]), int(tracks.tid[lane.track])
    cpu, thread = int(tracks.cpu[lane.track]), int(tracks.thread[lane.track])
    threads, text = profile.threads, profile.strings
    comm = one_line(text[threads.comm[thread]])
    return {
        "name": f"swapper/{cpu}" if cpu >= 0 else comm,
        "processName": "idle" if pid == 0 else one_line(text[threads.process[thread]]),
        "processType": "default",
        "isMainThread": pid == tid,
        "pid": str(pid),
        "tid": str(tid),
        "registerTime": lane.first / 1e6,
        "unregisterTime": lane.last / 1e6,
        "processStartupTime": lane.first / 1e6,
        "processShutdownTime": None,
        "pausedRanges": [],
        "showMarkersInTimeline": False,
    }
