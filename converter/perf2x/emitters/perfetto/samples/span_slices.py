"""Waits and times between tracepoints as slices on tracks below their thread's, each with the stack where it begins.

Readers before version 58 do not know stacks of slices, and warn of data that is lost: for them ``callstack`` is None.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.tracks.slice_packets import slice_packets, thread_slices
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind, child_track, lane_track_ids, thread_track
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile, ProfileSamples
from perf2x.model.profile.waits import Wait, placed_waits, wait_ends

_NAMES = {Wait.BLOCKED: "blocked", Wait.PREEMPTED: "preempted", Wait.UNTOLD: "waiting"}


def wait_packets(profile: Profile, rows: I64, callstack: I32 | None, ids: ThreadIds, sequence: int) -> Iterator[bytes]:
    """Yield the waits among ``rows`` of Profile.samples; ``callstack`` (rows,) are numbers on this sequence."""
    samples = profile.samples
    if samples.wait is None or samples.time is None:
        return
    held = np.flatnonzero(placed_waits(samples)[rows] & (samples.wait[rows] != Wait.TRACED))
    if not len(held):
        return
    rows, stacks = rows[held], None if callstack is None else callstack[held]
    thread, name = ids.number[samples.thread[rows]].astype(np.int64), samples.wait[rows].astype(np.int64)
    texts, bounds = list(_NAMES.values()), _bounds(samples, samples.time, rows)
    yield from thread_slices(ids, thread, TrackKind.WAITS, "off-cpu", texts, bounds, name, sequence, stacks)


def pair_packets(profile: Profile, rows: I64, callstack: I32 | None, ids: ThreadIds, sequence: int) -> Iterator[bytes]:
    """Yield the times between tracepoints among ``rows`` of Profile.samples, which are of one event.

    Those that overlap have tracks of their own: one for each lane.
    """
    samples = profile.samples
    if samples.lane is None or samples.time is None:
        return
    held = np.flatnonzero(samples.lane[rows] > 0)
    if not len(held):
        return
    rows, stacks = rows[held], None if callstack is None else callstack[held]
    name = printable(profile.events[int(samples.event[rows[0]])].name)
    lanes, first = np.unique(samples.lane[rows], return_index=True)
    threads, place = unique_inverse(ids.number[samples.thread[rows[first]]].astype(np.int64))
    yield from (thread_track(ids, row) for row in threads.tolist())
    for lane, thread in zip(lanes.tolist(), threads[place].tolist(), strict=True):
        yield child_track(lane_track_ids(lane), thread, name)
    track, names = lane_track_ids(samples.lane[rows].astype(np.int64)), np.ones(len(rows), np.int64)
    yield from slice_packets(
        "tracepoints", [name], _bounds(samples, samples.time, rows), track, names, sequence, stacks
    )


def _bounds(samples: ProfileSamples, time: U64, rows: I64) -> U64:
    bounds: U64 = np.stack([time[rows], wait_ends(samples)[rows]], axis=1)
    return bounds
