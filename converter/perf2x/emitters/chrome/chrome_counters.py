"""Counters of a Chrome trace: threads that ran at once, and rates of all other events per process."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import row_slices
from perf2x.base.columnar.unique import rows_by
from perf2x.emitters.chrome.trace_times import TICK_NS, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, number_chunks
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.timeline.running_counter import TITLE, running_steps
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.shown_samples import origin_of
from perf2x.emitters.timeline.tracks import Tracks, tracks_of
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile

_STEPS = 1000
_SHORTEST_STEP_US = 1000
_STEPS_PER_WRITE = 1 << 12


def running_events(profile: Profile, tracks: Tracks) -> Iterator[memoryview]:
    """Yield ``C`` events of the first process: the threads of the whole recording that ran at once, where known."""
    steps = running_steps(profile, origin_of(profile), TICK_NS)
    pid = int(tracks.pid[0]) if len(tracks) else 0
    head, tail = b'{"ph":"C","name":"%b","ts":' % TITLE.encode(), b',"pid":%d,"tid":%d,"args":{"threads":'
    for rows in row_slices(len(steps), _STEPS_PER_WRITE):
        times = time_chunks(steps.time[rows], tail % (pid, pid or 1))
        heads = chunk_array([head] * len(times[0]))
        yield memoryview(interleaved(heads, *times, number_chunks(steps.threads[rows], b"}},\n")))[:-2]


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
