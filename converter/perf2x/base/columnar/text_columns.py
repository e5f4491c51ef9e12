"""Parses columns of large texts with one row on each line, such as /proc/kallsyms.

Eight letters are read as one 64-bit number, a word. Operations on a word act on all its bytes at once.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, Bools, begins_run, cumsum, flatnonzero

_WORD_BYTES = 8
_ONES = 0x0101010101010101


def _words_at(data: bytes, offsets: I64) -> U64:
    """Return (n,) the eight bytes at each offset as one little-endian number."""
    # a view with a word at every offset; the words overlap and are not aligned
    words = np.ndarray((max(len(data) - _WORD_BYTES + 1, 0),), "<u8", data, strides=(1,))
    return words[offsets].astype(np.uint64, copy=False)


def hex_numbers(data: bytes, offsets: I64, width: int) -> tuple[U64, Bools]:
    """Decode a hexadecimal number of ``width`` (1 to 16) digits at each offset; return numbers, and which are valid.

    A number is valid if all its letters are hexadecimal digits. ``data`` must contain all digits of the last number.
    Shapes: ``offsets`` (n,); returns (n,) uint64 and (n,) bool.
    """
    if width % _WORD_BYTES:
        data = data + b"\0" * _WORD_BYTES
    value, is_valid = np.zeros(len(offsets), np.uint64), np.ones(len(offsets), np.bool_)
    for first_digit in range(0, width, _WORD_BYTES):
        digits = min(width - first_digit, _WORD_BYTES)
        letters = _words_at(data, offsets + first_digit).byteswap()
        # the upper digits of an address mostly equal those of the row before: decode each run of equal words once
        is_new = begins_run(letters)
        decoded, is_hex = _decoded(letters[is_new], digits)
        decoded_row = cumsum(is_new) - 1
        value = value << np.uint64(4 * digits) | decoded[decoded_row]
        is_valid &= is_hex[decoded_row]
    return value, is_valid


def _decoded(letters: U64, digits: int) -> tuple[U64, Bools]:
    """Decode numbers from the first ``digits`` of eight letters, and tell which are valid. Shapes: (n,) each.

    The first letter is the highest byte of a word.
    """
    unused_bits = 8 * (_WORD_BYTES - digits)
    if unused_bits:  # shift the digits to the end, and put the letter "0" before them
        zeros = 0x3030303030303030 << (64 - unused_bits) & 2**64 - 1
        letters = letters >> np.uint64(unused_bits) | np.uint64(zeros)
    # the value of each digit: the low four bits, and 9 more for a letter, which has bit 6 ("A" is 0x41, "a" 0x61)
    value = (letters & _all_bytes(0x0F)) + np.uint64(9) * (letters >> np.uint64(6) & _all_bytes(1))
    # join pairs of digits to bytes, then pairs of bytes, then pairs of those: 01 02 03 04 → 0012 0034 → 00001234
    for shift, mask in ((4, 0x00FF00FF00FF00FF), (8, 0x0000FFFF0000FFFF), (16, 0xFFFFFFFF)):
        value = (value | value >> np.uint64(shift)) & np.uint64(mask)
    is_ascii = letters & _all_bytes(0x80) == 0
    is_hex = _between(letters, "0", "9") | _between(letters | _all_bytes(0x20), "a", "f")  # 0x20: lower case
    is_valid: Bools = is_ascii & (is_hex & _all_bytes(0x80) == _all_bytes(0x80))
    return value, is_valid


def _between(letters: U64, low: str, high: str) -> U64:
    """Set the high bit of each byte whose letter lies between ``low`` and ``high``, inclusive.

    The other bits are arbitrary. A letter of seven bits plus 0x80 − ``low`` has the high bit if the letter is ``low``
    or more; plus 0x7F − ``high``, if it is more than ``high``. No sum carries into the next byte.
    """
    seven_bits = letters & _all_bytes(0x7F)
    return (seven_bits + _all_bytes(0x80 - ord(low))) & ~(seven_bits + _all_bytes(0x7F - ord(high)))


def _all_bytes(byte: int) -> np.uint64:
    return np.uint64(_ONES * byte)


def differs_from_previous(data: bytes, starts: I64, ends: I64) -> Bools:
    """Return (n,) bool: whether ``data[starts[i] : ends[i]]`` differs from that of row i − 1; True for row 0."""
    data = data + b"\0" * _WORD_BYTES
    length = ends - starts
    differs = begins_run(length)
    # compare rows of the same length with the row before, eight bytes at a time, until they differ or end
    undecided, offset = flatnonzero(~differs), 0
    while len(undecided := undecided[length[undecided] > offset]):
        # shift out the bytes after the end, which are the upper ones of the word
        bytes_beyond = np.maximum(_WORD_BYTES - (length[undecided] - offset), 0).astype(np.uint64)
        difference = _words_at(data, starts[undecided] + offset) ^ _words_at(data, starts[undecided - 1] + offset)
        is_other = difference << (np.uint64(8) * bytes_beyond & np.uint64(63)) != 0
        differs[undecided[is_other]] = True
        undecided, offset = undecided[~is_other], offset + _WORD_BYTES
    return differs
