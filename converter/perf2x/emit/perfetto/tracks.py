"""Tracks of threads and of the whole recording, and the names of what is on them."""

from collections.abc import Sequence
from enum import IntEnum

from perf2x.columnar.arrays import I64
from perf2x.emit.perfetto.message import message, number, packet, text
from perf2x.emit.perfetto.schema import (
    InternedData,
    InternedString,
    ThreadDescriptor,
    TracePacket,
    TrackDescriptor,
)
from perf2x.emit.perfetto.threads import ThreadIds


class TrackKind(IntEnum):
    """Tracks that a thread may have, and those that no thread has."""

    THREAD = 0
    WAITS = 1
    LOSSES = 2


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


def global_track(kind: TrackKind, name: str) -> bytes:
    """Describe a track of the whole recording."""
    track = number(TrackDescriptor.UUID, _track_id(kind, 0)) + text(TrackDescriptor.NAME, name)
    return packet(message(TracePacket.TRACK_DESCRIPTOR, track))


def interned_names(field: InternedData, names: Sequence[str]) -> bytes:
    """Number names from 1 on; they must be printable."""
    pairs = enumerate(names, 1)
    return b"".join(
        message(field, number(InternedString.IID, iid) + message(InternedString.STR, name.encode()))
        for iid, name in pairs
    )


def _track_id(kind: TrackKind, row: int) -> int:
    return 1 + row * len(TrackKind) + kind
