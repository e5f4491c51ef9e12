"""Descriptions of tracks of threads, processes and the whole recording, and slices on tracks of threads.

The ids of threads' tracks (TrackDescriptor.uuid) come first, then those of processes, then those of counters.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TypeVar

import numpy as np

from perf2x.base.columnar import I32, I64, U64, arange, unique
from perf2x.emitters.encoding.protobuf import Cells, message, nonzero_number, number, number_cells, string
from perf2x.emitters.perfetto.packets_and_clocks import (
    COMMON_SEQUENCE,
    CONTINUES_SEQUENCE,
    interned_packet,
    interned_strings,
    packet,
    packets_of_columns,
)
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.trace_schema import (
    InternedData,
    ProcessDescriptor,
    ThreadDescriptor,
    TracePacket,
    TrackCounter,
    TrackDescriptor,
    TrackEvent,
    TrackEventType,
    TrackUnit,
)
from perf2x.emitters.timeline.tracks import UNKNOWN_ID

Number = TypeVar("Number", int, I64)


class TrackKind(IntEnum):
    """Kinds of tracks of a thread, and two of the whole recording: LOSSES and RUNNING.

    Each of these two has one track, with the id of row 0 of ThreadIds.
    """

    THREAD = 0
    WAITS = 1
    NAMES = 2
    LOSSES = 3
    RUNNING = 4
    STATES = 5


def track_ids(kind: TrackKind, thread: Number) -> Number:
    """Return ids of tracks; ``thread`` is a row of ThreadIds, or an array of rows. No track has the id 0 ("none")."""
    return 1 + thread * len(TrackKind) + kind


def thread_track(ids: ThreadIds, row: int) -> bytes:
    """Describe a thread's own track."""
    thread = number(ThreadDescriptor.PID, int(ids.pid[row])) + number(ThreadDescriptor.TID, int(ids.tid[row]))
    return _descriptor_packet(track_ids(TrackKind.THREAD, row), message(TrackDescriptor.THREAD, thread))


def named_track(track_id: int, name: str, parent_id: int = 0, unit: TrackUnit | None = None) -> bytes:
    """Describe a track with a name; a counter track if it has a unit.

    The track is drawn below the track ``parent_id``; if that is 0, it belongs to the whole recording.
    """
    counter = b"" if unit is None else message(TrackDescriptor.COUNTER, number(TrackCounter.UNIT, unit))
    return _descriptor_packet(
        track_id, string(TrackDescriptor.NAME, name) + nonzero_number(TrackDescriptor.PARENT_UUID, parent_id) + counter
    )


def process_track(ids: ThreadIds, pid: int) -> bytes:
    """Describe a process's own track."""
    process = message(TrackDescriptor.PROCESS, number(ProcessDescriptor.PID, pid))
    return _descriptor_packet(process_track_id(ids, pid), process)


def first_counter_track(ids: ThreadIds) -> int:
    """Return the first id after those of processes; no pid is larger than UNKNOWN_ID."""
    return process_track_id(ids, UNKNOWN_ID + 1)


def _descriptor_packet(track_id: int, fields: bytes) -> bytes:
    return packet(message(TracePacket.TRACK_DESCRIPTOR, number(TrackDescriptor.UUID, track_id) + fields))


def process_track_id(ids: ThreadIds, pid: int) -> int:
    """Return the id of a process's own track, after those of all threads."""
    return track_ids(TrackKind.THREAD, len(ids.pid)) + pid


def thread_slices(
    ids: ThreadIds,
    thread: I64,
    kind: TrackKind,
    category: str,
    names: Sequence[str],
    bounds: U64,
    name_iids: I64,
    sequence: int = COMMON_SEQUENCE,
    callstack_iids: I32 | None = None,
) -> Iterator[bytes]:
    """Describe tracks called ``category`` below those of the threads, then yield slices on them, two packets each.

    ``thread`` (slices,) are rows of ``ids``; ``bounds`` (slices, 2) are nanoseconds. ``name_iids`` (slices,) count the
    ``names`` from 1; the sequence has the ``callstack_iids`` (slices,) already.
    """
    track = track_ids(kind, thread)
    for row in unique(thread).tolist():
        yield thread_track(ids, row) + named_track(track_ids(kind, row), category, track_ids(TrackKind.THREAD, row))
    tables = {InternedData.EVENT_CATEGORIES: [category], InternedData.EVENT_NAMES: names}
    yield interned_packet(interned_strings(tables), sequence)

    def fields(rows: slice) -> list[Cells]:
        row, remainder = np.divmod(arange(rows.start, rows.stop), 2)
        is_end = remainder > 0
        cells = [
            number_cells(TrackEvent.CATEGORY_IIDS, np.ones_like(row)).without(is_end),
            number_cells(
                TrackEvent.TYPE, np.where(is_end, TrackEventType.TYPE_SLICE_END, TrackEventType.TYPE_SLICE_BEGIN)
            ),
            number_cells(TrackEvent.NAME_IID, name_iids[row]).without(is_end),
            number_cells(TrackEvent.TRACK_UUID, track[row]),
        ]
        if callstack_iids is not None:
            cells.append(number_cells(TrackEvent.CALLSTACK_IID, callstack_iids[row]).without(is_end))
        return cells

    yield from packets_of_columns(TracePacket.TRACK_EVENT, bounds.reshape(-1), fields, sequence, CONTINUES_SEQUENCE)
