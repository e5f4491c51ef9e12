"""Packets, one by one or in columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from perf2x.base.columnar.arrays import U64, row_slices
from perf2x.emitters.encoding.protobuf_cells import Cells, beside, constant, nested, numbers
from perf2x.emitters.encoding.protobuf_fields import message, number
from perf2x.emitters.perfetto.trace_schema import TRACE_PACKET, InternedData, InternedString, SequenceFlags, TracePacket

COMMON_SEQUENCE = 1
"""The sequence of everything but samples; events have those behind it."""

STARTS = SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED | SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE
GOES_ON = int(SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE)

_ROWS_AT_ONCE = 1 << 14


def packet_rows(
    kind: TracePacket,
    time: U64,
    fields: Callable[[slice], Sequence[Cells]],
    sequence: int = COMMON_SEQUENCE,
    flags: int = 0,
) -> Iterator[bytes]:
    """Yield a packet with a message of this kind for each time, some thousand together.

    ``fields`` encodes the messages of a run of rows.
    """
    for rows in row_slices(len(time), _ROWS_AT_ONCE):
        head = constant(rows.stop - rows.start, _head(sequence, flags))
        parts = [numbers(TracePacket.TIMESTAMP, time[rows]), head, nested(kind, beside(fields(rows)))]
        yield nested(TRACE_PACKET, beside(parts)).tobytes()


def packet(payload: bytes, sequence: int = COMMON_SEQUENCE, flags: int = 0) -> bytes:
    """A packet on a sequence."""
    return message(TRACE_PACKET, _head(sequence, flags) + payload)


def interned_packet(names: Mapping[InternedData, Sequence[str]], sequence: int = COMMON_SEQUENCE) -> bytes:
    """A packet with tables of names, each numbered from 1 on; they must be printable."""
    entries = [
        interned_string(field, iid, name.encode()) for field in names for iid, name in enumerate(names[field], 1)
    ]
    return packet(message(TracePacket.INTERNED_DATA, b"".join(entries)), sequence, GOES_ON)


def interned_string(field: InternedData, iid: int, octets: bytes) -> bytes:
    """An entry of a table of texts, or of bytes."""
    return message(field, number(InternedString.IID, iid) + message(InternedString.STR, octets))


def _head(sequence: int, flags: int) -> bytes:
    head = number(TracePacket.TRUSTED_PACKET_SEQUENCE_ID, sequence)
    return head + number(TracePacket.SEQUENCE_FLAGS, flags) if flags else head
