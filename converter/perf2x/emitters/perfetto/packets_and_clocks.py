"""Packets, one by one or in columns, and clock snapshots, which relate the trace's clock to the time of day.

Readers align several traces by the names of their clocks. They drop packets whose clock has no relation to the trace's
clock (src/trace_processor/importers/common/clock_tracker.cc), so every trace declares its clock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from perf2x.base.abi import ClockId
from perf2x.base.columnar import U64, row_slices
from perf2x.emitters.encoding.protobuf import Cells, beside, constant, message, nested, number, numbers
from perf2x.emitters.perfetto.trace_schema import (
    TRACE_PACKET,
    BuiltinClock,
    Clock,
    ClockSnapshot,
    InternedData,
    InternedString,
    SequenceFlags,
    TracePacket,
    TracePacketDefaults,
)
from perf2x.model.profile import Meta

COMMON_SEQUENCE = 1
"""The number of the sequence of everything but samples; the sequences of events have higher numbers."""

_STARTS = SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED | SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE
GOES_ON = int(SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE)

_ROWS_AT_ONCE = 1 << 14


def packet_rows(
    kind: TracePacket,
    time: U64,
    fields: Callable[[slice], Sequence[Cells]],
    sequence: int = COMMON_SEQUENCE,
    flags: int = 0,
) -> Iterator[bytes]:
    """Yield a packet with a message of this kind for each time, a few thousand at once.

    ``fields`` encodes the messages of a slice of rows.
    """
    for rows in row_slices(len(time), _ROWS_AT_ONCE):
        head = constant(rows.stop - rows.start, _head(sequence, flags))
        parts = [numbers(TracePacket.TIMESTAMP, time[rows]), head, nested(kind, beside(fields(rows)))]
        yield nested(TRACE_PACKET, beside(parts)).tobytes()


def packet(payload: bytes, sequence: int = COMMON_SEQUENCE, flags: int = 0) -> bytes:
    """Encode a packet on a sequence."""
    return message(TRACE_PACKET, _head(sequence, flags) + payload)


def interned_packet(tables: bytes, sequence: int = COMMON_SEQUENCE) -> bytes:
    """Encode a packet with interned data for later packets of the sequence."""
    return packet(message(TracePacket.INTERNED_DATA, tables), sequence, GOES_ON)


def interned_texts(tables: Mapping[InternedData, Iterable[str]]) -> bytes:
    """Encode interned texts, numbered from 1 on; they must be printable."""
    return b"".join(
        interned_string(field, iid, text.encode()) for field in tables for iid, text in enumerate(tables[field], 1)
    )


def interned_string(field: InternedData, iid: int, octets: bytes) -> bytes:
    """Encode one interned text, or interned bytes."""
    return message(field, number(InternedString.IID, iid) + message(InternedString.STR, octets))


def _head(sequence: int, flags: int) -> bytes:
    head = number(TracePacket.TRUSTED_PACKET_SEQUENCE_ID, sequence)
    return head + number(TracePacket.SEQUENCE_FLAGS, flags) if flags else head


_CLOCKS: dict[int, BuiltinClock] = {
    ClockId.REALTIME: BuiltinClock.BUILTIN_CLOCK_REALTIME,
    ClockId.MONOTONIC: BuiltinClock.BUILTIN_CLOCK_MONOTONIC,
    ClockId.MONOTONIC_RAW: BuiltinClock.BUILTIN_CLOCK_MONOTONIC_RAW,
    ClockId.BOOTTIME: BuiltinClock.BUILTIN_CLOCK_BOOTTIME,
}


def _clock_of(meta: Meta) -> BuiltinClock:
    """Return the clock of the recording's times; PERF for perf's own and for clocks that readers do not know.

    With ``--start-time``, times of day are not REALTIME, because the user has overridden them.
    """
    clock = _CLOCKS.get(meta.clock_id, BuiltinClock.BUILTIN_CLOCK_PERF)
    is_moved = clock == BuiltinClock.BUILTIN_CLOCK_REALTIME and meta.wall_start_ns != meta.start_ns
    return BuiltinClock.BUILTIN_CLOCK_PERF if is_moved else clock


def clock_snapshot(meta: Meta) -> bytes:
    """Encode the recording's start on its own clock, which is the trace's, and the time of day if known."""
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
    """Restart a sequence: no interned data, the recording's clock and new ``defaults``."""
    clock = number(TracePacketDefaults.TIMESTAMP_CLOCK_ID, _clock_of(meta))
    return packet(message(TracePacket.TRACE_PACKET_DEFAULTS, clock + defaults), sequence, _STARTS)
