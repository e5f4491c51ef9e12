"""Counters of a Chrome trace: threads that ran at once, and rates of all other events per process."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64, flatnonzero, row_slices, sum_at
from perf2x.base.columnar.unique import rows_by
from perf2x.emitters.chrome.trace_times import TICK_NS, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, number_chunks
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.timeline.counters import counters_of
from perf2x.emitters.timeline.running_counter import TITLE, running_steps
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.tracks import Tracks, tracks_of
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile, sampled

_STEPS = 1000
_SHORTEST_STEP_US = 1000
_STEPS_PER_WRITE = 1 << 12


def running_events(profile: Profile, tracks: Tracks, origin: int) -> Iterator[bytes]:
    """Yield ``C`` events of the first process: the threads of the whole recording that ran at once, where known."""
    steps = running_steps(profile, origin, TICK_NS)
    pid = int(tracks.pid[0]) if len(tracks) else 0
    head, tail = b'{"ph":"C","name":"%b","ts":' % TITLE.encode(), b',"pid":%d,"tid":%d,"args":{"threads":'
    for rows in row_slices(len(steps), _STEPS_PER_WRITE):
        times = time_chunks(steps.time[rows], tail % (pid, pid or 1))
        heads = chunk_array([head] * len(times))
        yield interleaved(heads, times, number_chunks(steps.threads[rows], b"}},\n"))


def counter_events(profile: Profile, tracks: Tracks, origin: int, *, with_samples: bool) -> Iterator[bytes]:
    """``C`` events: sums of periods per step of time (a thousandth of the recording, a millisecond at least).

    A step without the event says 0 once, so that a curve falls where nothing happened. What perf stat counted between
    two readings is one step.
    """
    samples, is_sample = profile.samples, sampled(profile)
    rows = flatnonzero(~is_sample | (with_samples & (samples.event != profile.default_event)))
    if samples.time is None or not len(rows):
        return
    time = since(samples.time, origin) // 1000
    step = max(_SHORTEST_STEP_US, int(time[-1]) // _STEPS)
    names = [one_line(event.name) for event in profile.events]
    found, counter = counters_of(profile, rows, tracks.pid[tracks_of(profile)[1][rows]], names)
    for number, among in rows_by(counter):
        held, pid = rows[among], found[number].pid
        if is_sample[held[0]]:
            begin, value = _sums(time[held] // step, samples.value[held])
            begin = begin * step
        else:
            begin, value = time[held], np.append(samples.value[held][1:], 0)
        for at, size in zip(begin.tolist(), value.tolist(), strict=True):
            event = {"ph": "C", "name": found[number].name, "ts": at, "pid": pid, "tid": pid or 1}
            yield json_bytes(event | {"args": {"value": size}}) + b",\n"


def _sums(step: I64, value: I64) -> tuple[I64, I64]:
    """Sums by step where they change, the step behind the last one among them."""
    sums = sum_at(step, value, int(step[-1]) + 2)
    changes = flatnonzero(np.diff(sums, prepend=-1))
    return changes, sums[changes]
