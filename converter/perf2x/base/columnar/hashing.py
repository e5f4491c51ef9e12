"""Hashes of rows of numbers, of equal or different lengths, resistant to deliberate collisions.

Equal hashes only suggest equal rows; callers compare the rows. The weights are drawn when a process starts, so that
nobody can write a file whose rows collide. Forked processes share them. A hash means nothing in any other process, and
no output may depend on one.

Dictionaries whose keys are numbers from a file must use keys from here, too: CPython hashes an integer to itself, so a
file could choose numbers that all visit the same slots, and n lookups would take time in n². Hashes of bytes are salted
in each process.
"""

import os
from collections.abc import Iterable
from functools import cache

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, AnyArray, sum_of, take
from perf2x.base.columnar.list_array import end_to_end, offsets_of, row_batches
from perf2x.base.frozen_struct import Frozen


def secret_key(number: int) -> bytes:
    """Return the eight bytes of an unsigned 64-bit number, lowest first. Raises OverflowError for other numbers."""
    return number.to_bytes(8, "little")


def numbers_from_keys(keys: Iterable[bytes]) -> U64:
    """Return (n,) the numbers of these keys, in the same order."""
    return np.frombuffer(b"".join(keys), "<u8").astype(np.uint64)


_ODD = 0x9E3779B97F4A7C15
_WORDS_AT_ONCE = 1 << 18
_FEW_WORDS = 1 << 14
"""Enough for a small recording; a table of powers this short takes hardly any time to build."""
_HALF = np.uint64(32)
SECRET_BYTES = 56


class Weights(Frozen):
    """Secret numbers: odd factors for all words and for places in a row, the place where columns begin, and a key."""

    word: np.uint64
    place: int
    column: np.uint64
    key: bytes

    @classmethod
    def drawn(cls, secret: bytes) -> "Weights":
        """Derive weights from ``SECRET_BYTES`` random bytes."""
        word, place, column = np.frombuffer(secret, np.uint64, 3).tolist()
        # The powers of a number that is 5 modulo 8 have the longest period.
        return cls(np.uint64(word | 1), place & ~7 | 5, np.uint64(column), secret[24:])

    def of_columns(self, count: int) -> U64:
        """Return (count,) an odd factor for each column."""
        return mix(np.arange(count, dtype=np.uint64) + self.column) | np.uint64(1)


_weights = Weights.drawn(os.urandom(SECRET_BYTES))


def weights() -> Weights:
    """Return the weights in use."""
    return _weights


def use_weights(chosen: Weights) -> None:
    """Use these weights from now on; tables that contain hashes become invalid."""
    global _weights
    _weights = chosen


def mix(value: U64) -> U64:
    """Spread every bit of each word over the word (the finalizer of splitmix64); returns a new array."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: U64 = value ^ (value >> np.uint64(31))
    return mixed


def identity_of(*columns: U64 | I64) -> U64:
    """Return (n,) uint64: a number for each row that is the same in every process.

    It identifies rows in output; never use it for lookups, because it is not secret.
    """
    total = np.zeros(len(columns[0]), np.uint64)
    fixed = mix(np.arange(1, len(columns) + 1, dtype=np.uint64) * np.uint64(_ODD)) | np.uint64(1)
    for weight, column in zip(fixed, columns, strict=True):
        word = column.astype(np.uint64)
        total += (word ^ (word >> np.uint64(29))) * weight
    return mix(total)


def hash_columns(*columns: U64 | I64) -> U64:
    """Return (n,) uint64: the hash of each row of equally long integer columns."""
    total = np.zeros(len(columns[0]), np.uint64)
    for weight, column in zip(_weights.of_columns(len(columns)), columns, strict=True):
        total += _blurred(column.astype(np.uint64, copy=False)) * weight
    return mix(total)


def hash_rows(words: AnyArray, starts: I64, lengths: I64) -> U64:
    """(n,) uint64: one hash per row words[start : start + length].

    The words of a row are the coefficients of a polynomial. All rows lie end to end, so that one table of powers serves
    all of them; the power of a row's place is divided out (modulo 2⁶⁴, where every odd number has an inverse)::

        words            a    b    c  |  d    e
        times            1    r    r² |  r³   r⁴
        sum / r^begin    a + br + cr² |  d + er

    Long rows can be made to collide whatever r is (two words in the order of the Thue–Morse sequence, and thousands of
    them); callers that look up rows by their hash must tolerate this.
    """
    if sum_of(lengths) > _WORDS_AT_ONCE and len(lengths) > 1:
        runs = row_batches(lengths, _WORDS_AT_ONCE)
        return np.concatenate([_hash_rows(words, starts[run], lengths[run]) for run in runs])
    return _hash_rows(words, starts, lengths)


def digests(rows: Iterable[bytes]) -> list[bytes]:
    """Return a keyed digest of each row, so long that different rows never share one.

    Slow, with a Python call per row.
    """
    from hashlib import blake2b  # hardly ever needed, and takes milliseconds to load

    return [blake2b(row, digest_size=16, key=_weights.key).digest() for row in rows]


def _blurred(words: U64) -> U64:
    """Return each word in an unpredictable form, in a new array; equal words stay equal, different ones different."""
    blurred: U64 = words * _weights.word
    blurred ^= blurred >> _HALF
    return blurred


def _hash_rows(words: AnyArray, starts: I64, lengths: I64) -> U64:
    laid = _blurred(end_to_end(words, starts, lengths).astype(np.uint64, copy=False))
    usual = _WORDS_AT_ONCE if len(laid) > _FEW_WORDS else _FEW_WORDS
    powers, inverses = _powers(_weights.place, max(len(laid), usual).bit_length())
    laid *= powers[: len(laid)]
    sums = np.empty(len(laid) + 1, np.uint64)
    sums[0] = 0
    np.add.accumulate(laid, out=sums[1:])  # most rows are too short for reduceat
    offsets = offsets_of(lengths)
    hashes: U64 = np.diff(take(sums, offsets))
    hashes *= take(inverses, offsets[:-1])
    hashes += lengths.astype(np.uint64)
    return mix(hashes)


@cache
def _powers(number: int, bits: int) -> tuple[U64, U64]:
    """Return r⁰, r¹, … and r⁰, r⁻¹, …, 2^bits of each."""
    return _powers_of(number, bits), _powers_of(pow(number, -1, 1 << 64), bits)


def _powers_of(number: int, bits: int) -> U64:
    factors = np.full(1 << bits, number, np.uint64)
    factors[0] = 1
    powers: U64 = np.multiply.accumulate(factors)
    return powers
