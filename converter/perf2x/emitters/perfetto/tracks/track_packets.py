"""Tracks of threads, processes and the whole recording, and slices on them, encoded a few thousand at a time."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TypeVar

import numpy as np

from perf2x.base.columnar import I32, I64, U64, arange, unique
from perf2x.emitters.encoding.protobuf import Cells, message, number, number_but_0, numbers, text
from perf2x.emitters.perfetto.packets_and_clocks import (
    COMMON_SEQUENCE,
    GOES_ON,
    interned_packet,
    interned_texts,
    packet,
    packet_rows,
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
    """Kinds of tracks that a thread may have, and the first kind that belongs to no thread."""

    THREAD = 0
    WAITS = 1
    NAMES = 2
    LOSSES = 3
    RUNNING = 4
    STATES = 5


def track_ids(kind: TrackKind, thread: Number) -> Number:
    """Return (n,) the id of each thread's (row of ThreadIds) track; 0 is never used, because it means none."""
    return 1 + thread * len(TrackKind) + kind


def thread_track(ids: ThreadIds, row: int) -> bytes:
    """Describe a thread's own track."""
    thread = number(ThreadDescriptor.PID, int(ids.pid[row])) + number(ThreadDescriptor.TID, int(ids.tid[row]))
    return _described(track_ids(TrackKind.THREAD, row), message(TrackDescriptor.THREAD, thread))


def named_track(track: int, name: str, parent: int = 0, unit: TrackUnit | None = None) -> bytes:
    """Describe a track by id, below a parent track or of the whole recording; with a unit, a counter track."""
    counter = b"" if unit is None else message(TrackDescriptor.COUNTER, number(TrackCounter.UNIT, unit))
    return _described(
        track, text(TrackDescriptor.NAME, name) + number_but_0(TrackDescriptor.PARENT_UUID, parent) + counter
    )


def process_track(ids: ThreadIds, pid: int) -> bytes:
    """Describe a process's own track."""
    process = message(TrackDescriptor.PROCESS, number(ProcessDescriptor.PID, pid))
    return _described(process_track_id(ids, pid), process)


def first_counter_track(ids: ThreadIds) -> int:
    """Return the lowest id that is not used by tracks of threads and processes."""
    return process_track_id(ids, UNKNOWN_ID + 1)


def _described(track: int, fields: bytes) -> bytes:
    return packet(message(TracePacket.TRACK_DESCRIPTOR, number(TrackDescriptor.UUID, track) + fields))


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
    name: I64,
    sequence: int = COMMON_SEQUENCE,
    callstack: I32 | None = None,
) -> Iterator[bytes]:
    """Yield slices with ``bounds`` (n, 2) on tracks below those of threads (n,), named after the category.

    ``name`` and ``callstack`` (n,) are indices, from 1 on, of ``names`` and of the sequence's stacks. Each slice is two
    packets: its start and its end.
    """
    track = track_ids(kind, thread)
    for row in unique(thread).tolist():
        yield thread_track(ids, row) + named_track(track_ids(kind, row), category, track_ids(TrackKind.THREAD, row))
    tables = {InternedData.EVENT_CATEGORIES: [category], InternedData.EVENT_NAMES: names}
    yield interned_packet(interned_texts(tables), sequence)

    def fields(rows: slice) -> list[Cells]:
        row, end = np.divmod(arange(rows.start, rows.stop), 2)
        is_end = end > 0
        cells = [
            numbers(TrackEvent.CATEGORY_IIDS, np.ones_like(row)).without(is_end),
            numbers(TrackEvent.TYPE, np.where(is_end, TrackEventType.TYPE_SLICE_END, TrackEventType.TYPE_SLICE_BEGIN)),
            numbers(TrackEvent.NAME_IID, name[row]).without(is_end),
            numbers(TrackEvent.TRACK_UUID, track[row]),
        ]
        if callstack is not None:
            cells.append(numbers(TrackEvent.CALLSTACK_IID, callstack[row]).without(is_end))
        return cells

    yield from packet_rows(TracePacket.TRACK_EVENT, bounds.reshape(-1), fields, sequence, GOES_ON)
