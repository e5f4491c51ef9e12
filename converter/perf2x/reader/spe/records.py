"""Joins the packets of Arm SPE trace to records: one for each sampled operation.

A record ends with a timestamp or an end packet. Its other packets come in any order, and any may be missing. Source of
truth for addresses: tools/perf/util/arm-spe-decoder/arm-spe-decoder.c.
"""

from enum import IntEnum

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, ColumnTable, cumsum, falses, flatnonzero, take_rows_of
from perf2x.reader.spe.packets import Field, Packets

_COLUMNS = {
    "pc": Field.PC, "target": Field.TARGET, "data_address": Field.DATA, "physical_address": Field.PHYSICAL,
    "previous_target": Field.PREVIOUS, "events": Field.EVENTS, "data_source": Field.SOURCE, "context": Field.CONTEXT,
    "latency": Field.LATENCY, "ticks": Field.TIMESTAMP,
}  # fmt: skip
_ADDRESS_BITS = np.uint64((1 << 56) - 1)
_TOP_BYTE = np.uint64(0xFF << 56)
NO_CONTEXT = np.uint64(2**64 - 1)  # −1 as a signed number: the thread is unknown


class SampledEvent(IntEnum):
    """Bits of an events packet; LLC is the last-level cache."""

    L1D_ACCESS = 2
    L1D_MISS = 3
    TLB_ACCESS = 4
    TLB_MISS = 5
    NOT_TAKEN = 6
    MISPREDICTED = 7
    LLC_ACCESS = 8
    LLC_MISS = 9
    REMOTE = 10
    TRANSACTIONAL = 16
    L2D_ACCESS = 19
    L2D_MISS = 20
    MODIFIED = 21
    RECENTLY_FETCHED = 22
    SNOOPED = 23


class OpClass(IntEnum):
    """Class of an operation, as bits of ``TraceRecords.operation`` above the payload byte."""

    OTHER = 1 << 8
    ACCESS = 2 << 8
    BRANCH = 4 << 8


class TraceRecords(ColumnTable):
    """One row for each complete record; columns are (n,), 0 where the packet is missing."""

    begin: I64
    """Offset in the trace at which the previous record ends; padding may follow."""
    pc: U64
    target: U64  # of the branch
    data_address: U64
    """Virtual address of the accessed memory."""
    physical_address: U64
    previous_target: U64
    """Target of the previous branch."""
    events: U64
    """Bits numbered by ``SampledEvent``."""
    data_source: U64
    context: U64
    """Thread id that the kernel put into CONTEXTIDR; NO_CONTEXT if missing."""
    latency: U64
    """Cycles from dispatch to completion (total latency)."""
    ticks: U64
    """Ticks of the generic timer."""
    operation: U64
    """OpClass, and in the lowest byte the packet's payload, which has the subclass."""

    def has_event(self, bit: SampledEvent) -> Bools:
        """Return (n,) whether each operation has this event."""
        is_set: Bools = self.events >> np.uint64(bit) & np.uint64(1) != 0
        return is_set

    def is_class(self, kind: OpClass) -> Bools:
        """Return (n,) whether each operation is of this class."""
        return self.matches(kind, kind)

    def matches(self, mask: int, value: int) -> Bools:
        """Return (n,) whether ``operation`` has this value in the bits of ``mask``."""
        has_value: Bools = self.operation & np.uint64(mask) == np.uint64(value)
        return has_value


def read_records(packets: Packets) -> tuple[TraceRecords, int, int]:
    """Return the complete records, the number of incomplete ones, and the offset after the last record.

    A record is complete if it has a program counter and no undefined packet. Packets after the last record do not count
    as an incomplete one. If there are none, the offset is after the padding that follows the last record.
    """
    ends_record = (packets.field == Field.END) | (packets.field == Field.TIMESTAMP)
    record_end = packets.end[ends_record]
    length = packets.length if ends_record[-1:].all() else int(record_end[-1]) if len(record_end) else 0
    record_number = cumsum(ends_record) - ends_record  # (packets,) the record of each packet
    count = len(record_end)
    # packets after the last record are left out
    rows = {field: flatnonzero((packets.field == field) & (record_number < count)) for field in Field}

    def column(field: Field) -> U64:
        values = np.full(count, NO_CONTEXT if field == Field.CONTEXT else np.uint64(0), np.uint64)
        values[record_number[rows[field]]] = packets.payload[rows[field]]
        return values

    columns = {name: column(field) for name, field in _COLUMNS.items()}
    operation = np.zeros(count, np.uint64)
    for kind in OpClass:
        packet_rows = rows[Field[kind.name]]
        operation[record_number[packet_rows]] = packets.payload[packet_rows] | np.uint64(kind)
    is_complete = falses(count)
    is_complete[record_number[rows[Field.PC]]] = True
    is_complete[record_number[rows[Field.BAD]]] = False
    begin = np.append(0, record_end)[:-1]
    complete_rows = flatnonzero(is_complete)
    for name in ("pc", "target", "previous_target"):
        columns[name] = _instruction_addresses(columns[name])
    # the top byte of a data address is a tag; in kernel addresses it becomes 0xff
    data = columns["data_address"] & _ADDRESS_BITS
    columns["data_address"] = np.where(data >> np.uint64(52) == 0xF, data | _TOP_BYTE, data)
    columns["physical_address"] &= _ADDRESS_BITS
    table = TraceRecords(begin=begin, operation=operation, **columns)
    return take_rows_of(table, complete_rows), count - len(complete_rows), length


def _instruction_addresses(payload: U64) -> U64:
    """Bit 63 is set if the code is not secure, bits 62 and 61 are its exception level, the lowest 56 the address."""
    level = payload >> np.uint64(61)
    is_kernel = (level == 5) | (level == 6)  # not secure, exception level 1 or 2
    address = payload & _ADDRESS_BITS
    return np.where(is_kernel, address | _TOP_BYTE, address)
