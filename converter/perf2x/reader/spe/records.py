"""Builds one row for each sampled operation in Arm SPE trace, from its packets up to a timestamp or an end.

Sources of truth: as in packets.py; tools/perf/util/arm-spe-decoder/arm-spe-decoder.c for addresses.
"""

from enum import IntEnum

import numpy as np

from perf2x.base.columnar import I64, U64, Bools, ColumnTable, cumsum, falses, flatnonzero, take_rows_of
from perf2x.reader.spe.packets import Field, Packets

_COLUMNS = {
    "pc": Field.PC, "target": Field.TARGET, "data": Field.DATA, "physical": Field.PHYSICAL,
    "previous": Field.PREVIOUS, "events": Field.EVENTS, "source": Field.SOURCE, "context": Field.CONTEXT,
    "latency": Field.LATENCY, "ticks": Field.TIMESTAMP,
}  # fmt: skip
_ADDRESS = np.uint64((1 << 56) - 1)
_TOP = np.uint64(0xFF << 56)
NO_CONTEXT = np.uint64(2**64 - 1)
"""−1 as a signed number."""


class Happened(IntEnum):
    """Bits of the events of an operation."""

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
    """Class of an operation, above the subclass byte in ``TraceRecords.operation``."""

    OTHER = 1 << 8
    ACCESS = 2 << 8
    BRANCH = 4 << 8


class TraceRecords(ColumnTable):
    """One row for each operation with complete packets; 0 if a packet is missing."""

    begin: I64
    """Offset of its first packet."""
    pc: U64
    target: U64
    data: U64
    """The virtual address of the accessed memory."""
    physical: U64
    previous: U64
    """Target of the previous branch."""
    events: U64
    source: U64
    context: U64
    """Thread; NO_CONTEXT if unknown."""
    latency: U64
    """Total cycles."""
    ticks: U64
    """Time in ticks of the generic timer; 0: not recorded."""
    operation: U64
    """OpClass, and the byte of the packet; 0: not recorded."""

    def had(self, bit: Happened) -> Bools:
        """Return (n,) operations with this event."""
        happened: Bools = self.events >> np.uint64(bit) & np.uint64(1) != 0
        return happened

    def is_of(self, kind: OpClass) -> Bools:
        """Return (n,) operations of this class."""
        return self.has(kind, kind)

    def has(self, mask: int, value: int) -> Bools:
        """Return (n,) operations whose packet has this value under the mask."""
        same: Bools = self.operation & np.uint64(mask) == np.uint64(value)
        return same


def read_records(packets: Packets) -> tuple[TraceRecords, int, int]:
    """Return the complete records, the number of others, and the offset after the last record and its padding.

    A record is complete if its program counter was recorded and none of its bytes is damaged.
    """
    ends = (packets.field == Field.END) | (packets.field == Field.TIMESTAMP)
    record_end = packets.end[ends]
    used = packets.length if ends[-1:].all() else int(record_end[-1]) if len(record_end) else 0
    number = cumsum(ends) - ends
    count = len(record_end)
    rows = {field: flatnonzero((packets.field == field) & (number < count)) for field in Field}

    def column(field: Field) -> U64:
        values = np.full(count, NO_CONTEXT if field == Field.CONTEXT else np.uint64(0), np.uint64)
        values[number[rows[field]]] = packets.payload[rows[field]]
        return values

    columns = {name: column(field) for name, field in _COLUMNS.items()}
    operation = np.zeros(count, np.uint64)
    for kind in OpClass:
        some = rows[Field[kind.name]]
        operation[number[some]] = packets.payload[some] | np.uint64(kind)
    whole = falses(count)
    whole[number[rows[Field.PC]]] = True
    whole[number[rows[Field.BAD]]] = False
    begin = np.append(0, record_end)[:-1]
    kept = flatnonzero(whole)
    for name in ("pc", "target", "previous"):
        columns[name] = _instruction(columns[name])
    data = columns["data"] & _ADDRESS
    columns["data"] = np.where(data >> np.uint64(52) == 0xF, data | _TOP, data)
    columns["physical"] &= _ADDRESS
    table = TraceRecords(begin=begin, operation=operation, **columns)
    return take_rows_of(table, kept), count - len(kept), used


def _instruction(payload: U64) -> U64:
    """Return (n,) addresses of instructions: bit 63 is the security state, bits 62 and 61 the exception level."""
    level = payload >> np.uint64(61)
    kernel = (level == 5) | (level == 6)  # not secure, level 1 or 2
    address = payload & _ADDRESS
    return np.where(kernel, address | _TOP, address)
