"""Tracks of threads and of the whole recording."""

from enum import IntEnum
from typing import TypeVar

from perf2x.base.columnar import I64
from perf2x.emitters.encoding.protobuf_fields import message, number, text
from perf2x.emitters.perfetto.message import packet
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.trace_schema import TracePacket
from perf2x.emitters.perfetto.track_schema import (
    ProcessDescriptor,
    ThreadDescriptor,
    TrackCounter,
    TrackDescriptor,
    TrackUnit,
)
from perf2x.emitters.timeline.tracks import UNKNOWN_ID

Number = TypeVar("Number", int, I64)


class TrackKind(IntEnum):
    """Tracks that a thread may have, and those that no thread has."""

    THREAD = 0
    WAITS = 1
    NAMES = 2
    LOSSES = 3
    RUNNING = 4
    STATES = 5


def track_ids(kind: TrackKind, thread: Number) -> Number:
    """(n,) the id of a thread's (row of ThreadIds) track; 0 would be none."""
    return 1 + thread * len(TrackKind) + kind


def thread_track(ids: ThreadIds, row: int) -> bytes:
    """Describe a thread's own track."""
    thread = number(ThreadDescriptor.PID, int(ids.pid[row])) + number(ThreadDescriptor.TID, int(ids.tid[row]))
    return _described(track_ids(TrackKind.THREAD, row), message(TrackDescriptor.THREAD, thread))


def child_track(track: int, row: int, name: str) -> bytes:
    """Describe a track below a thread's own one."""
    parent = number(TrackDescriptor.PARENT_UUID, track_ids(TrackKind.THREAD, row))
    return _described(track, text(TrackDescriptor.NAME, name) + parent)


def global_track(kind: TrackKind, name: str, unit: TrackUnit | None = None) -> bytes:
    """Describe a track of the whole recording; with a unit, one of values."""
    counter = b"" if unit is None else message(TrackDescriptor.COUNTER, number(TrackCounter.UNIT, unit))
    return _described(track_ids(kind, 0), text(TrackDescriptor.NAME, name) + counter)


def process_track(ids: ThreadIds, pid: int) -> bytes:
    """Describe a process's own track."""
    process = message(TrackDescriptor.PROCESS, number(ProcessDescriptor.PID, pid))
    return _described(_process_track_id(ids, pid), process)


def counter_track(ids: ThreadIds, pid: int, track: int, name: str, unit: TrackUnit) -> bytes:
    """Describe a track of values below a process's own one."""
    fields = text(TrackDescriptor.NAME, name) + number(TrackDescriptor.PARENT_UUID, _process_track_id(ids, pid))
    return _described(track, fields + message(TrackDescriptor.COUNTER, number(TrackCounter.UNIT, unit)))


def first_counter_track(ids: ThreadIds) -> int:
    """Return the lowest id that no track of a thread or a process has."""
    return _process_track_id(ids, UNKNOWN_ID + 1)


def _described(track: int, fields: bytes) -> bytes:
    return packet(message(TracePacket.TRACK_DESCRIPTOR, number(TrackDescriptor.UUID, track) + fields))


def _process_track_id(ids: ThreadIds, pid: int) -> int:
    return track_ids(TrackKind.THREAD, len(ids.pid)) + pid
