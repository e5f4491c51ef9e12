"""Tracks of threads and of the whole recording, and the names of what is on them."""

from collections.abc import Sequence
from enum import IntEnum

from perf2x.base.columnar.arrays import I64
from perf2x.emitters.perfetto.message import message, number, packet, text
from perf2x.emitters.perfetto.thread_ids import ThreadIds
from perf2x.emitters.perfetto.trace_schema import InternedData, InternedString, TracePacket
from perf2x.emitters.perfetto.track_schema import (
    ProcessDescriptor,
    ThreadDescriptor,
    TrackCounter,
    TrackDescriptor,
    TrackUnit,
)
from perf2x.emitters.timeline.tracks import UNKNOWN_ID

_LANES = 1 << 48
"""Beyond the ids of threads, processes and counters."""


class TrackKind(IntEnum):
    """Tracks that a thread may have, and those that no thread has."""

    THREAD = 0
    WAITS = 1
    NAMES = 2
    LOSSES = 3
    RUNNING = 4
    STATES = 5


def track_ids(kind: TrackKind, thread: I64) -> I64:
    """(n,) the id of a thread's (row of ThreadIds) track; 0 would be none."""
    return 1 + thread * len(TrackKind) + kind


def thread_track(ids: ThreadIds, row: int) -> bytes:
    """Describe a thread's own track."""
    thread = number(ThreadDescriptor.PID, int(ids.pid[row])) + number(ThreadDescriptor.TID, int(ids.tid[row]))
    track = number(TrackDescriptor.UUID, _track_id(TrackKind.THREAD, row)) + message(TrackDescriptor.THREAD, thread)
    return packet(message(TracePacket.TRACK_DESCRIPTOR, track))


def child_track(kind: TrackKind, row: int, name: str) -> bytes:
    """Describe a track below a thread's own one."""
    track = number(TrackDescriptor.UUID, _track_id(kind, row)) + text(TrackDescriptor.NAME, name)
    track += number(TrackDescriptor.PARENT_UUID, _track_id(TrackKind.THREAD, row))
    return packet(message(TracePacket.TRACK_DESCRIPTOR, track))


def lane_track_ids(lane: I64) -> I64:
    """(n,) the id of a lane's (ProfileSamples.lane) track."""
    return _LANES + lane


def lane_track(lane: int, row: int, name: str) -> bytes:
    """Describe the track of a lane below a thread's own one."""
    track = number(TrackDescriptor.UUID, _LANES + lane) + text(TrackDescriptor.NAME, name)
    track += number(TrackDescriptor.PARENT_UUID, _track_id(TrackKind.THREAD, row))
    return packet(message(TracePacket.TRACK_DESCRIPTOR, track))


def global_track(kind: TrackKind, name: str, unit: TrackUnit | None = None) -> bytes:
    """Describe a track of the whole recording; with a unit, one of values."""
    track = number(TrackDescriptor.UUID, _track_id(kind, 0)) + text(TrackDescriptor.NAME, name)
    if unit is not None:
        track += message(TrackDescriptor.COUNTER, number(TrackCounter.UNIT, unit))
    return packet(message(TracePacket.TRACK_DESCRIPTOR, track))


def process_track(ids: ThreadIds, pid: int) -> bytes:
    """Describe a process's own track."""
    track = number(TrackDescriptor.UUID, _process_track_id(ids, pid))
    track += message(TrackDescriptor.PROCESS, number(ProcessDescriptor.PID, pid))
    return packet(message(TracePacket.TRACK_DESCRIPTOR, track))


def counter_track(ids: ThreadIds, pid: int, track_id: int, name: str, unit: TrackUnit) -> bytes:
    """Describe a track of values below a process's own one."""
    track = number(TrackDescriptor.UUID, track_id) + text(TrackDescriptor.NAME, name)
    track += number(TrackDescriptor.PARENT_UUID, _process_track_id(ids, pid))
    track += message(TrackDescriptor.COUNTER, number(TrackCounter.UNIT, unit))
    return packet(message(TracePacket.TRACK_DESCRIPTOR, track))


def first_counter_track(ids: ThreadIds) -> int:
    """Return the lowest id that no track of a thread or a process has."""
    return _process_track_id(ids, UNKNOWN_ID + 1)


def interned_names(field: InternedData, names: Sequence[str]) -> bytes:
    """Number names from 1 on; they must be printable."""
    pairs = enumerate(names, 1)
    return b"".join(
        message(field, number(InternedString.IID, iid) + message(InternedString.STR, name.encode()))
        for iid, name in pairs
    )


def _track_id(kind: TrackKind, row: int) -> int:
    return 1 + row * len(TrackKind) + kind


def _process_track_id(ids: ThreadIds, pid: int) -> int:
    return 1 + len(ids.pid) * len(TrackKind) + pid
