"""Packets, and the clock snapshot, which relates the trace's clock to time of day.

Readers align traces by their clocks, and drop packets whose clock has no relation to the trace's clock
(src/trace_processor/importers/common/clock_tracker.cc).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from perf2x.base.abi import ClockId
from perf2x.base.columnar import U64, row_slices
from perf2x.emitters.encoding.protobuf import (
    Cells,
    constant_cells,
    join_fields,
    message,
    message_cells,
    number,
    number_cells,
)
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
"""The sequence of everything except samples, waits and tracepoints, whose sequences have higher numbers."""

# flags of a sequence's first packet, and of later packets
_STARTS_SEQUENCE = SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED | SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE
CONTINUES_SEQUENCE = int(SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE)

_ROWS_AT_ONCE = 1 << 14


def packets_of_columns(
    field: TracePacket,
    time: U64,
    message_fields: Callable[[slice], Sequence[Cells]],
    sequence: int = COMMON_SEQUENCE,
    flags: int = 0,
) -> Iterator[bytes]:
    """Yield packets, one for each entry of ``time`` (nanoseconds), many at once.

    Each packet has a message in ``field``; ``message_fields`` encodes the fields of these messages for a slice of rows.
    """
    for rows in row_slices(len(time), _ROWS_AT_ONCE):
        sequence_fields = constant_cells(rows.stop - rows.start, _sequence_fields(sequence, flags))
        parts = [
            number_cells(TracePacket.TIMESTAMP, time[rows]),
            sequence_fields,
            message_cells(field, join_fields(message_fields(rows))),
        ]
        yield message_cells(TRACE_PACKET, join_fields(parts)).tobytes()


def packet(payload: bytes, sequence: int = COMMON_SEQUENCE, flags: int = 0) -> bytes:
    """Encode a packet on a sequence; ``payload`` are its encoded fields."""
    return message(TRACE_PACKET, _sequence_fields(sequence, flags) + payload)


def interned_packet(interned_data: bytes, sequence: int = COMMON_SEQUENCE) -> bytes:
    """Encode interned data for later packets of the sequence."""
    return packet(message(TracePacket.INTERNED_DATA, interned_data), sequence, CONTINUES_SEQUENCE)


def interned_strings(tables: Mapping[InternedData, Iterable[str]]) -> bytes:
    """Encode the strings to intern in each table, numbered from 1 on; they must be encodable as UTF-8."""
    return b"".join(
        interned_string(table, iid, string.encode()) for table in tables for iid, string in enumerate(tables[table], 1)
    )


def interned_string(table: InternedData, iid: int, octets: bytes) -> bytes:
    """Encode an entry of a table of interned data: a string or other bytes."""
    return message(table, number(InternedString.IID, iid) + message(InternedString.STR, octets))


def _sequence_fields(sequence: int, flags: int) -> bytes:
    fields = number(TracePacket.TRUSTED_PACKET_SEQUENCE_ID, sequence)
    return fields + number(TracePacket.SEQUENCE_FLAGS, flags) if flags else fields


_CLOCKS: dict[int, BuiltinClock] = {
    ClockId.REALTIME: BuiltinClock.BUILTIN_CLOCK_REALTIME,
    ClockId.MONOTONIC: BuiltinClock.BUILTIN_CLOCK_MONOTONIC,
    ClockId.MONOTONIC_RAW: BuiltinClock.BUILTIN_CLOCK_MONOTONIC_RAW,
    ClockId.BOOTTIME: BuiltinClock.BUILTIN_CLOCK_BOOTTIME,
}


def _trace_clock(meta: Meta) -> BuiltinClock:
    clock = _CLOCKS.get(meta.clock_id, BuiltinClock.BUILTIN_CLOCK_PERF)
    # CLOCK_REALTIME's times are times of day, unless the user gives another time of day (--start-time)
    is_overridden = clock == BuiltinClock.BUILTIN_CLOCK_REALTIME and meta.wall_start_ns != meta.start_ns
    return BuiltinClock.BUILTIN_CLOCK_PERF if is_overridden else clock


def clock_snapshot(meta: Meta) -> bytes:
    """Encode the recording's start on the trace's clock and, if known, as time of day."""
    clock = _trace_clock(meta)
    readings = {clock: meta.start_ns} | (
        {BuiltinClock.BUILTIN_CLOCK_REALTIME: meta.wall_start_ns} if meta.wall_start_ns else {}
    )
    snapshot = b"".join(
        message(ClockSnapshot.CLOCKS, number(Clock.CLOCK_ID, clock_id) + number(Clock.TIMESTAMP, time))
        for clock_id, time in readings.items()
    )
    snapshot += number(ClockSnapshot.PRIMARY_TRACE_CLOCK, clock)
    time = number(TracePacket.TIMESTAMP, meta.start_ns)
    return packet(time + message(TracePacket.CLOCK_SNAPSHOT, snapshot))


def sequence_start(meta: Meta, sequence: int = COMMON_SEQUENCE, defaults: bytes = b"") -> bytes:
    """Encode the packet that starts a sequence, or restarts it, which drops its interned data.

    ``defaults`` are more fields of TracePacketDefaults.
    """
    clock = number(TracePacketDefaults.TIMESTAMP_CLOCK_ID, _trace_clock(meta))
    return packet(message(TracePacket.TRACE_PACKET_DEFAULTS, clock + defaults), sequence, _STARTS_SEQUENCE)
