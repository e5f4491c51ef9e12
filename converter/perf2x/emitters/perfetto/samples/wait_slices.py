"""Waits as slices on a track below their thread's, each with the stack that waits."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I32, I64
from perf2x.base.columnar.unique import unique
from perf2x.emitters.perfetto.message import GOES_ON, message, packet
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.trace_schema import InternedData, TracePacket
from perf2x.emitters.perfetto.tracks.slice_packets import slice_packets
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind, child_track, interned_names, thread_track, track_ids
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.waits import Wait, placed_waits, wait_ends

_CATEGORY = "off-cpu"
_NAMES = {Wait.BLOCKED: "blocked", Wait.PREEMPTED: "preempted", Wait.UNTOLD: "waiting"}


def wait_packets(profile: Profile, rows: I64, callstack: I32 | None, ids: ThreadIds, sequence: int) -> Iterator[bytes]:
    """Yield the waits among ``rows`` of Profile.samples; ``callstack`` (rows,) are numbers on this sequence.

    Readers before version 58 do not know stacks of slices, and warn of data that is lost: ``callstack`` is None.
    """
    wait = profile.samples.wait
    if wait is None or profile.samples.time is None:
        return
    held = np.flatnonzero(placed_waits(profile.samples)[rows] & (wait[rows] != Wait.TRACED))
    if not len(held):
        return
    rows, stacks = rows[held], None if callstack is None else callstack[held]
    thread = ids.number[profile.samples.thread[rows]].astype(np.int64)
    for row in unique(thread).tolist():
        yield thread_track(ids, row) + child_track(TrackKind.WAITS, row, _CATEGORY)
    tables = interned_names(InternedData.EVENT_CATEGORIES, [_CATEGORY])
    tables += interned_names(InternedData.EVENT_NAMES, list(_NAMES.values()))
    yield packet(message(TracePacket.INTERNED_DATA, tables), sequence, GOES_ON)
    bounds = np.stack([profile.samples.time[rows], wait_ends(profile.samples)[rows]], axis=1)
    track, name = track_ids(TrackKind.WAITS, thread), wait[rows].astype(np.int64)
    yield from slice_packets(bounds, track, name, sequence, stacks)
