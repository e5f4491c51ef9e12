"""Slices on tracks, some thousand at a time."""

from collections.abc import Iterator, Sequence

import numpy as np

from perf2x.base.columnar.arrays import I32, I64, U64, arange
from perf2x.base.columnar.unique import unique
from perf2x.emitters.encoding.protobuf_cells import Cells, numbers
from perf2x.emitters.perfetto.message import COMMON_SEQUENCE, GOES_ON, interned_packet, packet_rows
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.trace_schema import InternedData, TracePacket
from perf2x.emitters.perfetto.track_schema import TrackEvent, TrackEventType
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind, child_track, thread_track, track_ids


def thread_slices(
    ids: ThreadIds,
    thread: I64,
    kind: TrackKind,
    category: str,
    names: Sequence[str],
    bounds: U64,
    name: I64,
    sequence: int = COMMON_SEQUENCE,
    callstack: I32 | None = None,
) -> Iterator[bytes]:
    """Yield `_slice_packets` on tracks below those of threads (n,), which are called after the category."""
    for row in unique(thread).tolist():
        yield thread_track(ids, row) + child_track(track_ids(kind, row), row, category)
    yield from _slice_packets(category, names, bounds, track_ids(kind, thread), name, sequence, callstack)


def _slice_packets(
    category: str,
    names: Sequence[str],
    bounds: U64,
    track: I64,
    name: I64,
    sequence: int,
    callstack: I32 | None,
) -> Iterator[bytes]:
    """Yield slices with ``bounds`` (n, 2), on tracks (ids), with names and stacks (numbers from 1 on).

    There is a packet for the beginning and one for the end of each.
    """
    tables = {InternedData.EVENT_CATEGORIES: [category], InternedData.EVENT_NAMES: names}
    yield interned_packet(tables, sequence)

    def fields(rows: slice) -> list[Cells]:
        row, end = np.divmod(arange(rows.start, rows.stop), 2)
        is_end = end > 0
        cells = [
            numbers(TrackEvent.CATEGORY_IIDS, np.ones_like(row), left_out=is_end),
            numbers(TrackEvent.TYPE, np.where(is_end, TrackEventType.TYPE_SLICE_END, TrackEventType.TYPE_SLICE_BEGIN)),
            numbers(TrackEvent.NAME_IID, name[row], left_out=is_end),
            numbers(TrackEvent.TRACK_UUID, track[row]),
        ]
        if callstack is not None:
            cells.append(numbers(TrackEvent.CALLSTACK_IID, callstack[row], left_out=is_end))
        return cells

    yield from packet_rows(TracePacket.TRACK_EVENT, bounds.reshape(-1), fields, sequence, GOES_ON)
