"""Finds instructions of variable length, and LEB128 numbers, in a stream of bytes without a Python loop over them.

Where an instruction begins depends on the lengths of all instructions before it. So the caller computes for every byte
the length of an instruction that would begin there. Hops of these lengths, from byte 0 on, reach the real
instructions::

    offset      0  1  2  3  4  5  6
    length      2  1  3  1  1  2  1
    reached     ×     ×        ×            0, then 0 + 2, then 2 + 3; the other lengths are meaningless

`instruction_starts` divides the stream into short pieces of equal length. It processes all pieces side by side:

1. From the last byte of the pieces to the first: where do hops from this byte leave the piece?
2. From piece to piece: at which byte do hops from byte 0 enter the piece?
3. From the first byte of the pieces to the last: mark what is reached from the entry.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, U64, AnyArray, arange, flatnonzero, take

_MAX_PIECE_BITS = 7
"""Binary logarithm of the length of the longest piece, in bytes.

Step 2 takes an iteration for each piece, steps 1 and 3 take one for each byte of a piece. So pieces have about as many
bytes as there are pieces, up to this limit.
"""
# Bytes of the longest LEB128 number of 64 bits.
_MAX_LEB128_BYTES = 10


def instruction_starts(lengths: AnyArray) -> I64:
    """Return the offsets of all instructions, ascending; the first instruction begins at 0.

    ``lengths[i]``, above 0, is the length of the instruction that would begin at offset i. Shapes: ``lengths`` (n,);
    returns (instructions,) int64.
    """
    count = len(lengths)
    width = 1 << min(count.bit_length() // 2, _MAX_PIECE_BITS)  # bytes of a piece
    pieces = count // width + 1
    padded = np.ones(pieces * width, lengths.dtype)
    padded[:count] = lengths
    # Tables have a row for each position in a piece, and a column for each piece. An entry's index in a flat table is
    # position * pieces + piece.
    length_at = np.ascontiguousarray(padded.reshape(pieces, width).T)
    next_position = length_at + np.arange(width, dtype=np.int32)[:, None]  # beyond the piece if it is width or more
    piece = np.arange(pieces, dtype=np.int32)
    next_index = next_position * np.int32(pieces) + piece
    exit_offset = (next_position + piece * np.int32(width)).reshape(-1)  # at first, the offset after one hop
    leaves_piece = flatnonzero(next_position >= width)
    next_index.reshape(-1)[leaves_piece] = leaves_piece  # hops end at the last instruction in the piece
    rows = [slice(position * pieces, (position + 1) * pieces) for position in range(width)]
    # step 1 (see the module docstring): a hop leads to a later position, whose exit is known already
    for position in reversed(range(width)):
        exit_offset[rows[position]] = take(exit_offset, next_index[position], mode="clip")
    # step 2
    is_reached = np.zeros(len(padded), np.bool_)
    entry_offset = 0
    while entry_offset < count:
        entry_index = entry_offset % width * pieces + entry_offset // width
        is_reached[entry_index] = True
        entry_offset = int(exit_offset[entry_index])
    # step 3
    for position in range(width):
        is_reached[take(next_index[position], flatnonzero(is_reached[rows[position]]))] = True
    return flatnonzero(is_reached.reshape(width, pieces).T.reshape(-1)[:count])


def leb128_ends(code: U8) -> I64:
    """Return (n,) int64: for each byte, the offset after the end of a LEB128 number that begins at that byte.

    The last byte of ``code`` must be the last byte of a number: below 0x80.
    """
    # bytes before the last one of a number get len(code), which the minimum replaces by the number's end
    end = np.where(code < 0x80, arange(1, len(code) + 1), len(code))
    return np.minimum.accumulate(end[::-1])[::-1]


def decode_leb128(code: U8, starts: I64, ends: I64) -> U64:
    """Decode unsigned LEB128 numbers: number i is ``code[starts[i] : ends[i]]``. Bits beyond the 64th are dropped.

    Shapes: ``starts`` and ``ends`` (n,); returns (n,) uint64.
    """
    length = ends - starts
    value = (code[starts] & np.uint8(0x7F)).astype(np.uint64)
    for byte in range(1, min(int(length.max(initial=0)), _MAX_LEB128_BYTES)):
        rows = flatnonzero(length > byte)
        value[rows] |= (code[starts[rows] + byte] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * byte)
    return value


def sign_extended(values: U64, last_bytes: U8, lengths: I64) -> I64:
    """Add the signs of signed LEB128 numbers that `decode_leb128` returned: bit 6 of a number's last byte is its sign.

    ``lengths`` are the lengths of the numbers in bytes. Changes ``values`` in place. Shapes: (n,) each.
    """
    signed = values.view(np.int64)
    negative = flatnonzero((last_bytes & np.uint8(0x40) != 0) & (lengths < _MAX_LEB128_BYTES))
    signed[negative] |= np.int64(-1) << 7 * lengths[negative]
    return signed
