"""Clocks: packets say which one their times are of, and a snapshot relates it to the time of day.

Readers place several traces on one timeline by the names of their clocks. They drop packets whose clock they cannot
relate to the trace's own one (src/trace_processor/importers/common/clock_tracker.cc): every trace declares its clock.
"""

from perf2x.base.abi.uapi import ClockId
from perf2x.emitters.encoding.protobuf_fields import message, number
from perf2x.emitters.perfetto.message import COMMON_SEQUENCE, STARTS, packet
from perf2x.emitters.perfetto.trace_schema import BuiltinClock, Clock, ClockSnapshot, TracePacket, TracePacketDefaults
from perf2x.model.profile.profile import Meta

_CLOCKS: dict[int, BuiltinClock] = {
    ClockId.REALTIME: BuiltinClock.BUILTIN_CLOCK_REALTIME,
    ClockId.MONOTONIC: BuiltinClock.BUILTIN_CLOCK_MONOTONIC,
    ClockId.MONOTONIC_RAW: BuiltinClock.BUILTIN_CLOCK_MONOTONIC_RAW,
    ClockId.BOOTTIME: BuiltinClock.BUILTIN_CLOCK_BOOTTIME,
}


def _clock_of(meta: Meta) -> BuiltinClock:
    """Return the clock that times are of; PERF for perf's own and for others that readers do not know.

    Times of day are not REALTIME where ``--start-time`` says that they are wrong.
    """
    clock = _CLOCKS.get(meta.clock_id, BuiltinClock.BUILTIN_CLOCK_PERF)
    is_moved = clock == BuiltinClock.BUILTIN_CLOCK_REALTIME and meta.wall_start_ns != meta.start_ns
    return BuiltinClock.BUILTIN_CLOCK_PERF if is_moved else clock


def clock_snapshot(meta: Meta) -> bytes:
    """Encode the time of the recording's start on its clock, which is the trace's, and the time of day if known."""
    clock = _clock_of(meta)
    readings = {clock: meta.start_ns} | (
        {BuiltinClock.BUILTIN_CLOCK_REALTIME: meta.wall_start_ns} if meta.wall_start_ns else {}
    )
    snapshot = b"".join(
        message(ClockSnapshot.CLOCKS, number(Clock.CLOCK_ID, name) + number(Clock.TIMESTAMP, time))
        for name, time in readings.items()
    )
    snapshot += number(ClockSnapshot.PRIMARY_TRACE_CLOCK, clock)
    time = number(TracePacket.TIMESTAMP, meta.start_ns)
    return packet(time + message(TracePacket.CLOCK_SNAPSHOT, snapshot))


def sequence_start(meta: Meta, sequence: int = COMMON_SEQUENCE, defaults: bytes = b"") -> bytes:
    """Start a sequence anew: without interned data, with the recording's clock and other ``defaults``."""
    clock = number(TracePacketDefaults.TIMESTAMP_CLOCK_ID, _clock_of(meta))
    return packet(message(TracePacket.TRACE_PACKET_DEFAULTS, clock + defaults), sequence, STARTS)
