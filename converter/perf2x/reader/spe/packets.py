"""Finds the packets in bytes of Arm SPE trace.

Headers determine the sizes of packets, which are computed as if a packet began at every byte; ``instruction_starts``
then finds where packets really begin. Sources of truth: Arm Architecture Reference Manual, chapter "Statistical
Profiling Extension sample record specification"; tools/perf/util/arm-spe-decoder/arm-spe-pkt-decoder.c.

::

    |header| payload of 1, 2, 4 or 8 bytes |     bits 5:4 of the header: log2 of the payload's size
    |0010 00xx|header| payload …           |     extended header: xx are the high bits of an index (of an address, …)
    |0010 00xx|0000 0000| …                |     alignment: skip to the next multiple of 2, 4, 8 or 16 bytes, as xx says
    |00|, |01|                             |     padding, end of a record
"""

from enum import IntEnum

import numpy as np

from perf2x.base.columnar import I64, U8, U64, Frozen, arange, as_int64, as_uint64, flatnonzero, take
from perf2x.base.columnar.byte_streams import instruction_starts


class Field(IntEnum):
    """Contents of a packet."""

    BAD = 0  # undefined header: the trace is damaged
    NONE = 1  # padding, and contents that we do not use
    END = 2
    TIMESTAMP = 3
    EVENTS = 4
    SOURCE = 5
    CONTEXT = 6
    PC = 7
    TARGET = 8  # of a branch
    DATA = 9  # virtual address
    PHYSICAL = 10  # physical address
    PREVIOUS = 11  # target of the previous branch
    LATENCY = 12
    OTHER = 13  # an operation that is neither a memory access nor a branch
    ACCESS = 14
    BRANCH = 15
    EXTENDED = 16  # first byte of an extended header; the second byte decides


_HEADERS = {
    Field.NONE: "00 99 9a 9b 9c 9d 9e 9f b5 b6 b7", Field.END: "01", Field.TIMESTAMP: "71", Field.EVENTS: "42 52 62 72",
    Field.SOURCE: "43 53 63 73", Field.CONTEXT: "64 65 66 67", Field.PC: "b0", Field.TARGET: "b1", Field.DATA: "b2",
    Field.PHYSICAL: "b3", Field.PREVIOUS: "b4", Field.LATENCY: "98", Field.OTHER: "48", Field.ACCESS: "49",
    Field.BRANCH: "4a", Field.EXTENDED: "20 21 22 23",
}  # fmt: skip
_FIELDS = np.zeros(256, np.uint8)
for _field, _bytes in _HEADERS.items():
    _FIELDS[list(bytes.fromhex(_bytes))] = _field
# (256,) by header
_SIZES = np.where(_FIELDS != Field.BAD, 1 << (arange(256) >> 4 & 3), 0).astype(np.uint8)
_SIZES[[0x00, 0x01, *range(0x20, 0x24)]] = 0
_SIZES[0x4B] = 1  # operation of an undefined class
# (9,) masks of the lowest 0 to 8 bytes of a word
_LOW_BYTES = as_uint64([(1 << 8 * size) - 1 for size in range(9)])


class Packets(Frozen):
    """The complete packets of some bytes of trace, without those of Field.NONE; arrays are (n,)."""

    field: U8
    """A Field each."""
    payload: U64
    """Zero-extended."""
    end: I64
    """Offset after the packet."""
    length: int
    """Offset after the last complete packet or padding."""


def find_packets(data: U8, buffer_offset: int) -> Packets:
    """Find the packets of ``data``, which begins with a packet, at ``buffer_offset`` in the AUX buffer."""
    count = len(data)
    padded = np.zeros(count + 16, np.uint8)  # headers and payloads can be read past the end
    padded[:count] = data
    headers = padded[:-16]
    # for each byte, as if a packet began there: field, bytes of payload, bytes in all
    field, size = take(_FIELDS, headers), take(_SIZES, headers)
    step = size + np.uint8(1)
    _read_extended_headers(padded, buffer_offset, field, size, step)
    start = instruction_starts(step)
    complete = int(np.searchsorted(start + step[start], count, "right"))  # ends are ascending
    length = int(start[complete]) if complete < len(start) else count
    start = start[:complete]
    start = start[field[start] != Field.NONE]
    size, end = size[start], start + step[start]
    words = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))  # the eight bytes from each byte on
    return Packets(field[start], words[end - size] & _LOW_BYTES[size], end, length)


def _read_extended_headers(padded: U8, buffer_offset: int, field: U8, size: U8, step: U8) -> None:
    """Correct field, payload size and step, all (bytes,), where an extended header begins."""
    start = flatnonzero(field == Field.EXTENDED)
    first, second = padded[start], padded[start + 1]
    is_known = ((second & 0xF8) == 0xB0) | ((second & 0xF8) == 0x98)  # an address or a counter
    is_alignment = second == 0
    # xx ≠ 0 is an index that we do not use
    known_field = np.where(first & 3, np.uint8(Field.NONE), _FIELDS[second])
    field[start] = np.where(is_known, known_field, np.where(is_alignment, np.uint8(Field.NONE), np.uint8(Field.BAD)))
    size[start] = np.where(is_known, _SIZES[second], 0)
    multiple = 2 << as_int64(first & 3)
    skipped = multiple - ((start + buffer_offset) & (multiple - 1))
    step[start] = np.where(is_known, size[start] + 2, np.where(is_alignment, skipped, 1))
    step[start[start == len(field) - 1]] = 2  # the second byte is missing
