"""Finds instructions of any length, and LEB128 numbers, in a stream of bytes, without a loop over them.

The start of an instruction depends on all instructions before it. If each byte points to the end of the instruction
that would begin there, following these pointers from byte 0 finds the real ones. The stream is divided into short
pieces, which are processed side by side: first backwards, to find where each byte leads out of its piece; then piece by
piece, to find where the first instruction of each begins; then forwards, to find the bytes that are reached from there.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, U64, AnyArray, arange, flatnonzero, take

_LONGEST_PIECE = 7
"""The longest piece, as a power of two: each piece costs a step, and so does each byte of a piece, for all pieces at
once.
"""
_LONGEST_NUMBER = 10
"""The longest LEB128 number of 64 bits, in bytes."""


def reached(step: AnyArray) -> I64:
    """Return the offsets reached from 0, in order; ``step`` (n,), above 0, leads from each to the next."""
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
    """Return (n,) the offset after the LEB128 number that begins at each byte; the last byte must end one."""
    last = np.where(code < 0x80, arange(1, len(code) + 1), len(code))
    return np.minimum.accumulate(last[::-1])[::-1]


def numbers(code: U8, at: I64, end: I64) -> U64:
    """Return the unsigned LEB128 numbers from ``at`` to ``end``; bits beyond 64 are lost."""
    length = end - at
    value = (code[at] & np.uint8(0x7F)).astype(np.uint64)
    for byte in range(1, min(int(length.max(initial=0)), _LONGEST_NUMBER)):
        rows = flatnonzero(length > byte)
        value[rows] |= (code[at[rows] + byte] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * byte)
    return value


def extended(value: U64, last_byte: U8, length: I64) -> I64:
    """Sign-extend LEB128 numbers of ``length`` bytes; the sign is a bit of the last byte."""
    found = value.view(np.int64)
    negative = flatnonzero((last_byte & np.uint8(0x40) != 0) & (length < _LONGEST_NUMBER))
    found[negative] |= np.int64(-1) << 7 * length[negative]
    return found
