"""Parses columns of large texts with a line per row: hexadecimal numbers, and runs of equal words.

Eight letters are read as one 64-bit number, and all numbers of a column are decoded together.
"""

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, Bools, begins_run, cumsum, flatnonzero

_WORD = 8
_ONES = 0x0101010101010101


def _words_at(text: bytes, at: I64) -> U64:
    """Return (n,) the eight bytes at each position as one little-endian number; the text must have all eight."""
    # positions are not aligned, which numpy allows
    every = np.ndarray((max(len(text) - _WORD + 1, 0),), "<u8", text, strides=(1,))
    return every[at].astype(np.uint64, copy=False)


def hex_numbers(text: bytes, at: I64, width: int) -> tuple[U64, Bools]:
    """Decode a hexadecimal number of ``width`` (1 to 16) digits at each position.

    Also returns which numbers are valid, that is, consist of hexadecimal digits alone. At least four bytes must follow
    the last number, as in ``ffff T a``. Shapes: ``at`` (n,); returns (n,) uint64 and (n,) bool.
    """
    if width % _WORD:
        text = text + b"\0" * _WORD
    value, valid = np.zeros(len(at), np.uint64), np.ones(len(at), np.bool_)
    for first in range(0, width, _WORD):
        digits = min(width - first, _WORD)
        letters = _words_at(text, at + first).byteswap()
        # the upper digits of an address mostly equal those of the row before
        is_new = begins_run(letters)
        digits_of, is_hex = _decoded(letters[is_new], digits)
        row = cumsum(is_new) - 1
        value = value << np.uint64(4 * digits) | digits_of[row]
        valid &= is_hex[row]
    return value, valid


def _decoded(letters: U64, digits: int) -> tuple[U64, Bools]:
    """Decode a number from the first ``digits`` of the eight letters in each word (the first is the highest byte).

    Also returns which numbers are valid: all their letters are hexadecimal digits.
    """
    unused = 8 * (_WORD - digits)
    if unused:  # the letters before the digits become zeros
        letters = letters >> np.uint64(unused) | np.uint64(0x3030303030303030 << (64 - unused) & 2**64 - 1)
    value = (letters & _all(0x0F)) + np.uint64(9) * (letters >> np.uint64(6) & _all(1))
    for shift, mask in ((4, 0x00FF00FF00FF00FF), (8, 0x0000FFFF0000FFFF), (16, 0xFFFFFFFF)):
        value = (value | value >> np.uint64(shift)) & np.uint64(mask)
    is_ascii = letters & _all(0x80) == 0
    is_hex = _between(letters, "0", "9") | _between(letters | _all(0x20), "a", "f")
    valid: Bools = is_ascii & (is_hex & _all(0x80) == _all(0x80))
    return value, valid


def _between(letters: U64, low: str, high: str) -> U64:
    """Return words with the high bit of each byte set where the letter lies between ``low`` and ``high``, inclusive.

    Only the low seven bits of each letter are added, so no sum carries into the next byte.
    """
    seven = letters & _all(0x7F)
    return (seven + _all(0x80 - ord(low))) & ~(seven + _all(0x7F - ord(high)))


def _all(byte: int) -> np.uint64:
    """Return a word of eight equal bytes."""
    return np.uint64(_ONES * byte)


def differs_from_previous(text: bytes, start: I64, end: I64) -> Bools:
    """Return (n,) bool: whether ``text[start[i] : end[i]]`` differs from that of the row before; True for row 0."""
    text = text + b"\0" * _WORD
    length = end - start
    is_new = begins_run(length)
    todo, at = flatnonzero(~is_new), 0
    while len(todo := todo[length[todo] > at]):
        # near the end of a word, compare only the bytes that still belong to it
        unused = (np.uint64(8) * np.maximum(_WORD - (length[todo] - at), 0).astype(np.uint64)) & np.uint64(63)
        differ = _words_at(text, start[todo] + at) ^ _words_at(text, start[todo - 1] + at)
        is_other = differ << unused != 0
        is_new[todo[is_other]] = True
        todo, at = todo[~is_other], at + _WORD
    return is_new
