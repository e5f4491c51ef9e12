"""Finds the packets in bytes of Arm SPE trace.

Sources of truth: Arm Architecture Reference Manual, chapter "Statistical Profiling Extension sample record
specification"; tools/perf/util/arm-spe-decoder/arm-spe-pkt-decoder.c.

::

    |header| payload of 1, 2, 4 or 8 bytes |     bits 5:4 of the header: log2 of the payload's size
    |0010 00xx|header| payload …           |     extended: two more bits of index
    |0010 00xx|0000 0000| …                |     up to the next multiple of 2, 4, 8 or 16 bytes
    |00|, |01|                             |     padding, end of a record
"""

from enum import IntEnum

import numpy as np

from perf2x.base.columnar import I64, U8, U64, Frozen, arange, as_int64, as_uint64, flatnonzero, take
from perf2x.base.columnar.byte_streams import instruction_starts


class Field(IntEnum):
    """The part of a record that a packet contains."""

    BAD = 0
    NONE = 1
    """Padding, and packets that samples do not show."""
    END = 2
    TIMESTAMP = 3
    EVENTS = 4
    SOURCE = 5
    CONTEXT = 6
    PC = 7
    TARGET = 8
    DATA = 9
    PHYSICAL = 10
    PREVIOUS = 11
    LATENCY = 12
    OTHER = 13
    """Operation of another class."""
    ACCESS = 14
    BRANCH = 15
    EXTENDED = 16


_HEADERS = {
    Field.NONE: "00 99 9a 9b 9c 9d 9e 9f b5 b6 b7", Field.END: "01", Field.TIMESTAMP: "71", Field.EVENTS: "42 52 62 72",
    Field.SOURCE: "43 53 63 73", Field.CONTEXT: "64 65 66 67", Field.PC: "b0", Field.TARGET: "b1", Field.DATA: "b2",
    Field.PHYSICAL: "b3", Field.PREVIOUS: "b4", Field.LATENCY: "98", Field.OTHER: "48", Field.ACCESS: "49",
    Field.BRANCH: "4a", Field.EXTENDED: "20 21 22 23",
}  # fmt: skip
"""Headers of one byte; all others are invalid."""
_FIELDS = np.zeros(256, np.uint8)
for _field, _bytes in _HEADERS.items():
    _FIELDS[list(bytes.fromhex(_bytes))] = _field
_SIZES = np.where(_FIELDS != Field.BAD, 1 << (arange(256) >> 4 & 3), 0).astype(np.uint8)
"""Bytes of payload by header."""
_SIZES[[0x00, 0x01, *range(0x20, 0x24)]] = 0
_SIZES[0x4B] = 1  # an operation of an undefined class
_LOW = as_uint64([(1 << 8 * size) - 1 for size in range(9)])
"""Masks of the lowest bytes, by their number."""


class Packets(Frozen):
    """Complete packets from the start of some bytes, without padding; ``begin`` and ``end`` are offsets."""

    field: U8
    """(n,) Field."""
    payload: U64
    end: I64
    """(n,) offset after the packet."""
    length: int
    """Offset after the last packet or padding; less than the data's length if the data ends inside a packet."""


def find_packets(data: U8, base: int) -> Packets:
    """Find the packets of ``data``, which begins with one; ``base`` is its offset in the AUX buffer."""
    count = len(data)
    padded = np.zeros(count + 16, np.uint8)
    padded[:count] = data
    headers = padded[:-16]
    field, size = take(_FIELDS, headers), take(_SIZES, headers)
    step = size + np.uint8(1)
    _read_extended(padded, base, field, size, step)
    at = instruction_starts(step)
    at = at[field[at] != Field.NONE]
    size, end = size[at], at + step[at]
    whole = int(np.searchsorted(end, count, "right"))  # ends are ascending
    length = int(at[whole]) if whole < len(at) else count
    size, end = size[:whole], end[:whole]
    words = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))  # one for each byte
    return Packets(field[at[:whole]], words[end - size] & _LOW[size], end, length)


def _read_extended(padded: U8, base: int, field: U8, size: U8, step: U8) -> None:
    """Correct the columns at two-byte headers, whose second byte looks like a short header."""
    at = flatnonzero(field == Field.EXTENDED)
    first, second = padded[at], padded[at + 1]
    known = ((second & 0xF8) == 0xB0) | ((second & 0xF8) == 0x98)
    aligns = second == 0
    names = np.where(first & 3, np.uint8(Field.NONE), _FIELDS[second])
    field[at] = np.where(known, names, np.where(aligns, np.uint8(Field.NONE), np.uint8(Field.BAD)))
    size[at] = np.where(known, _SIZES[second], 0)
    multiple = 2 << as_int64(first & 3)
    skipped = multiple - ((at + base) & (multiple - 1))
    step[at] = np.where(known, size[at] + 2, np.where(aligns, skipped, 1))
