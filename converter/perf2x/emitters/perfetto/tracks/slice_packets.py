"""Slices on tracks, some thousand at a time."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64
from perf2x.emitters.encoding.protobuf_cells import beside, nested, numbers
from perf2x.emitters.perfetto.message import GOES_ON, packet_rows
from perf2x.emitters.perfetto.trace_schema import TracePacket
from perf2x.emitters.perfetto.track_schema import EventType, TrackEvent

_SLICES_AT_ONCE = 1 << 13


def slice_packets(bounds: U64, track: I64, name: I64, sequence: int, callstack: I32 | None = None) -> Iterator[bytes]:
    """Yield slices with ``bounds`` (n, 2), on tracks (ids), with names and stacks (numbers) and category 1."""
    for start in range(0, len(bounds), _SLICES_AT_ONCE):
        part = slice(start, start + _SLICES_AT_ONCE)
        stacks = None if callstack is None else callstack[part]
        yield _encoded(bounds[part], track[part], name[part], sequence, stacks)


def _encoded(bounds: U64, track: I64, name: I64, sequence: int, callstack: I32 | None) -> bytes:
    """Encode a packet for the beginning and one for the end of each."""
    count = len(track)
    is_end = np.tile(np.array([False, True]), count)
    fields = [
        numbers(TrackEvent.CATEGORY_IIDS, np.ones(2 * count, np.int64), left_out=is_end),
        numbers(TrackEvent.TYPE, np.where(is_end, EventType.TYPE_SLICE_END, EventType.TYPE_SLICE_BEGIN)),
        numbers(TrackEvent.NAME_IID, np.repeat(name, 2), left_out=is_end),
        numbers(TrackEvent.TRACK_UUID, np.repeat(track, 2)),
    ]
    if callstack is not None:
        fields.append(numbers(TrackEvent.CALLSTACK_IID, np.repeat(callstack, 2), left_out=is_end))
    return packet_rows(bounds.reshape(-1), nested(TracePacket.TRACK_EVENT, beside(fields)), sequence, GOES_ON)
