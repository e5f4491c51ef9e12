"""Counters as tracks: what each process had counted of an event by then; readers draw no curve from weights."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, arange, begins_run, cumsum, ends_run, flatnonzero, repeat
from perf2x.base.columnar.unique import argsort_rows
from perf2x.emitters.encoding.protobuf_cells import numbers
from perf2x.emitters.perfetto.event_descriptions import event_names
from perf2x.emitters.perfetto.message import packet_rows
from perf2x.emitters.perfetto.thread_ids import ThreadIds, thread_ids
from perf2x.emitters.perfetto.trace_schema import TracePacket
from perf2x.emitters.perfetto.track_schema import TrackEvent, TrackEventType, TrackUnit
from perf2x.emitters.perfetto.tracks.track_ids import (
    TrackKind,
    counter_track,
    first_counter_track,
    global_track,
    process_track,
    track_ids,
)
from perf2x.emitters.timeline.counters import Counter, counters_of
from perf2x.emitters.timeline.running_counter import TITLE, running_steps
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.recorded_names import is_tracepoint

_STEPS = 10_000
_SHORTEST_STEP_NS = 1_000_000


def counter_packets(profile: Profile) -> Iterator[bytes]:
    """Yield a track for each process and event other than the one to see first, waits and tracepoints left out.

    Values rise from 0; of the samples in one step (a ten-thousandth of the recording, a millisecond at least), the last
    one has a value.
    """
    time = profile.samples.time
    others = [row for row, event in enumerate(profile.events) if not (event.is_wait or is_tracepoint(event.name))]
    counted = [row for row in others if row != profile.default_event or profile.events[row].is_count]
    held = flatnonzero(np.isin(profile.samples.event, counted))
    if time is None or not len(held):
        return
    ids = thread_ids(profile)
    pid = ids.pid[ids.number[profile.samples.thread[held]]]
    found, track = counters_of(profile, held, pid, event_names(profile))
    yield from _tracks(profile, ids, found)
    order = argsort_rows([track])
    time, track, total = time[held[order]], track[order], _totals(profile.samples.value[held[order]], track[order])
    step = (time - time.min()) // np.uint64(max(_SHORTEST_STEP_NS, int(np.ptp(time)) // _STEPS))
    is_last = ends_run(track, step)
    start = np.full(len(found), profile.meta.start_ns, np.uint64)
    yield from _values(start, arange(len(found)), np.zeros(len(found), np.int64), first_counter_track(ids))
    yield from _values(time[is_last], track[is_last], total[is_last], first_counter_track(ids))


def running_packets(profile: Profile) -> Iterator[bytes]:
    """Yield the number of threads that ran at once, where context switches tell: those from the beginning on."""
    switches = profile.switches
    begin = profile.meta.start_ns
    if switches is not None and len(switches.time):
        begin = min(begin, int(switches.time[0]))
    steps = running_steps(profile, begin)
    if not len(steps):
        return
    yield global_track(TrackKind.RUNNING, TITLE, TrackUnit.UNIT_COUNT)
    track = track_ids(TrackKind.RUNNING, np.zeros(len(steps), np.int64))
    yield from _values(np.uint64(begin) + steps.time.astype(np.uint64), track, steps.threads, 0)


def _tracks(profile: Profile, ids: ThreadIds, counters: list[Counter]) -> Iterator[bytes]:
    """Describe the tracks of processes, and those of the counters below them."""
    for pid in sorted({one.pid for one in counters}):
        yield process_track(ids, pid)
    for track_id, one in enumerate(counters, first_counter_track(ids)):
        unit = TrackUnit.UNIT_TIME_NS if profile.events[one.event].unit == "nanoseconds" else TrackUnit.UNIT_COUNT
        yield counter_track(ids, one.pid, track_id, one.name, unit)


def _totals(value: I64, track: I64) -> I64:
    """(n,) sums of the values so far; rows are in order of their tracks."""
    total = cumsum(value)
    first = flatnonzero(begins_run(track))
    return total - repeat(total[first] - value[first], np.diff(np.append(first, len(value))))


def _values(time: U64, track: I64, value: I64, first_track: int) -> Iterator[bytes]:
    return packet_rows(
        TracePacket.TRACK_EVENT,
        time,
        lambda rows: [
            numbers(TrackEvent.TYPE, np.full(len(time[rows]), TrackEventType.TYPE_COUNTER, np.int64)),
            numbers(TrackEvent.TRACK_UUID, first_track + track[rows]),
            numbers(TrackEvent.COUNTER_VALUE, value[rows]),
        ],
    )
