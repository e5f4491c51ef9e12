"""Packets, one by one or in columns, and single messages."""

from perf2x.base.columnar.arrays import U64
from perf2x.emitters.encoding.protobuf import LENGTH, VARINT, varint
from perf2x.emitters.encoding.protobuf_cells import Cells, beside, constant, nested, numbers
from perf2x.emitters.perfetto.trace_schema import TRACE_PACKET, SequenceFlags, TracePacket

COMMON_SEQUENCE = 1
"""The sequence of everything but samples; events have those behind it."""

STARTS = SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED | SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE
GOES_ON = int(SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE)


def number(field: int, value: int) -> bytes:
    """A field of one number, 0 included; negative ones are 64-bit two's complement."""
    return varint(field << 3 | VARINT) + varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def message(field: int, payload: bytes) -> bytes:
    """A field of bytes: a message, or a text in UTF-8."""
    return varint(field << 3 | LENGTH) + varint(len(payload)) + payload


def text(field: int, value: str) -> bytes:
    """A field of text, which must be printable; nothing for an empty one."""
    return message(field, value.encode()) if value else b""


def packet_rows(time: U64, data: Cells, sequence: int = COMMON_SEQUENCE, flags: int = 0) -> bytes:
    """Packets of columns: each row of ``data`` at its time."""
    head = number(TracePacket.TRUSTED_PACKET_SEQUENCE_ID, sequence)
    head += number(TracePacket.SEQUENCE_FLAGS, flags) if flags else b""
    fields = [numbers(TracePacket.TIMESTAMP, time), constant(len(time), head), data]
    return nested(TRACE_PACKET, beside(fields)).tobytes()


def packet(payload: bytes, sequence: int = COMMON_SEQUENCE, flags: int = 0) -> bytes:
    """A packet on a sequence."""
    head = number(TracePacket.TRUSTED_PACKET_SEQUENCE_ID, sequence)
    head += number(TracePacket.SEQUENCE_FLAGS, flags) if flags else b""
    return message(TRACE_PACKET, head + payload)
