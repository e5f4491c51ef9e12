"""Finds instructions of variable length, and LEB128 numbers, in a stream of bytes without a Python loop over them.

Where an instruction starts depends on all instructions before it. So for each byte we compute the end of the
instruction that would begin at that byte; following these pointers from byte 0 finds the real instructions. The stream
is divided into short pieces, and all pieces are processed side by side, in three steps: backwards, to find where each
byte leads out of its piece; then from piece to piece, to find where the first instruction of each begins; then
forwards, to mark the bytes that are reached from that first instruction.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, U64, AnyArray, arange, flatnonzero, take

_LONGEST_PIECE = 7
"""Binary logarithm of the longest piece, in bytes.

The second step takes one iteration per piece; the other two take one per byte of a piece, for all pieces at once. So
pieces have about as many bytes as there are pieces, up to this limit.
"""
_LONGEST_NUMBER = 10
"""The longest LEB128 number of 64 bits, in bytes."""


def reached(step: AnyArray) -> I64:
    """Return the offsets of all instructions, ascending.

    ``step[i]`` is the length, above 0, of the instruction that would begin at offset i; the first one begins at 0.
    Shapes: ``step`` (n,); returns (instructions,) int64.
    """
    count = len(step)
    width = 1 << min(count.bit_length() // 2, _LONGEST_PIECE)
    pieces = count // width + 1
    whole = np.ones(pieces * width, step.dtype)
    whole[:count] = step
    of_place = np.ascontiguousarray(whole.reshape(pieces, width).T)
    place = of_place + np.arange(width, dtype=np.int32)[:, None]
    piece = np.arange(pieces, dtype=np.int32)
    following = place * np.int32(pieces) + piece  # index in a table with a row for each position in a piece
    leaving = (place + piece * np.int32(width)).reshape(-1)
    out = flatnonzero(place >= width)
    following.reshape(-1)[out] = out
    rows = [slice(row * pieces, (row + 1) * pieces) for row in range(width)]
    for row in reversed(range(width)):
        leaving[rows[row]] = take(leaving, following[row], mode="clip")
    found = np.zeros(len(whole), np.bool_)
    at = 0
    while at < count:
        begin = at % width * pieces + at // width
        found[begin] = True
        at = int(leaving[begin])
    for row in range(width):
        found[take(following[row], flatnonzero(found[rows[row]]))] = True
    return flatnonzero(found.reshape(width, pieces).T.reshape(-1)[:count])


def number_ends(code: U8) -> I64:
    """Return (n,) int64: for each byte, where a LEB128 number that begins there ends (the offset after its last byte).

    The last byte of ``code`` must be the last byte of a number.
    """
    last = np.where(code < 0x80, arange(1, len(code) + 1), len(code))
    return np.minimum.accumulate(last[::-1])[::-1]


def numbers(code: U8, at: I64, end: I64) -> U64:
    """Decode unsigned LEB128 numbers: number i is in ``code[at[i] : end[i]]``. Bits beyond the 64th are dropped."""
    length = end - at
    value = (code[at] & np.uint8(0x7F)).astype(np.uint64)
    for byte in range(1, min(int(length.max(initial=0)), _LONGEST_NUMBER)):
        rows = flatnonzero(length > byte)
        value[rows] |= (code[at[rows] + byte] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * byte)
    return value


def extended(value: U64, last_byte: U8, length: I64) -> I64:
    """Make signed numbers of unsigned LEB128 numbers of ``length`` bytes: bit 6 of the last byte is the sign.

    Changes ``value`` in place.
    """
    found = value.view(np.int64)
    negative = flatnonzero((last_byte & np.uint8(0x40) != 0) & (length < _LONGEST_NUMBER))
    found[negative] |= np.int64(-1) << 7 * length[negative]
    return found
