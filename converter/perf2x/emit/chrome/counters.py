"""Counters of a Chrome trace: rates of all other events, per process, over time."""

from collections.abc import Iterator

import numpy as np

from perf2x.columnar.unique import rows_by
from perf2x.emit.encoding.json_encoder import json_bytes
from perf2x.emit.timeline.running_time import since
from perf2x.emit.timeline.shown import origin_of
from perf2x.emit.timeline.tracks import Tracks, tracks_of
from perf2x.tables.output_text import one_line
from perf2x.tables.profile import Profile

_STEPS = 1000
_SHORTEST_STEP_US = 1000


def counter_events(profile: Profile, tracks: Tracks) -> Iterator[bytes]:
    """``C`` events: sums of periods per step of time (a thousandth of the recording, a millisecond at least).

    A step without the event says 0 once, so that a curve falls where nothing happened.
    """
    samples = profile.samples
    if samples.time is None or not len(samples):
        return
    time = since(samples.time, origin_of(profile)) // 1000
    step = max(_SHORTEST_STEP_US, int(time[-1]) // _STEPS)
    pid = tracks.pid[tracks_of(profile)[1]]
    for kind, of_kind in rows_by(samples.event):
        if kind == profile.default_event:
            continue
        for process, among in rows_by(pid[of_kind]):
            rows = of_kind[among]
            sums = np.zeros(int(time[rows[-1]]) // step + 2, np.int64)
            np.add.at(sums, time[rows] // step, samples.value[rows])
            changes = np.flatnonzero(np.diff(sums, prepend=-1))
            name = one_line(profile.events[kind].name)
            for at, value in zip(changes.tolist(), sums[changes].tolist(), strict=True):
                event = {"ph": "C", "name": name, "ts": at * step, "pid": process, "tid": process or 1}
                yield json_bytes(event | {"args": {"value": value}})
