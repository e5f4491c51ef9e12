"""Times between tracepoints as slices, with the stack of the first, on tracks below their thread's: one each lane."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I32, I64
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.perfetto.message import GOES_ON, message, packet
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.trace_schema import InternedData, TracePacket
from perf2x.emitters.perfetto.tracks.slice_packets import slice_packets
from perf2x.emitters.perfetto.tracks.track_ids import interned_names, lane_track, lane_track_ids, thread_track
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.waits import wait_ends

_CATEGORY = "tracepoints"


def pair_packets(profile: Profile, rows: I64, callstack: I32 | None, ids: ThreadIds, sequence: int) -> Iterator[bytes]:
    """Yield the times between tracepoints among ``rows`` of Profile.samples, which are of one event.

    ``callstack`` (rows,) are numbers on this sequence; None for readers that do not know stacks of slices.
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
        yield lane_track(lane, thread, name)
    tables = interned_names(InternedData.EVENT_CATEGORIES, [_CATEGORY])
    tables += interned_names(InternedData.EVENT_NAMES, [name])
    yield packet(message(TracePacket.INTERNED_DATA, tables), sequence, GOES_ON)
    bounds = np.stack([samples.time[rows], wait_ends(samples)[rows]], axis=1)
    track, names = lane_track_ids(samples.lane[rows].astype(np.int64)), np.ones(len(rows), np.int64)
    yield from slice_packets(bounds, track, names, sequence, stacks)
