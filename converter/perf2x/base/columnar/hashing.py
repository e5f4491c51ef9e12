"""Hashes of rows of numbers, of equal or different lengths, resistant to deliberate collisions.

Equal hashes only suggest equal rows; callers compare the rows. The weights of the hash function are drawn at random
when a process starts, so that nobody can write a file whose rows collide. Forked processes share the weights; in any
other process a hash means nothing, so no output may depend on a hash.

Dictionaries whose keys are numbers from a file must use `secret_key` of the number as the key: CPython hashes an
integer to itself, so a file could choose numbers that all fall into the same slots, and n lookups would take time in
n². Hashes of bytes, on the other hand, are salted in each process.
"""

import os
from collections.abc import Iterable
from functools import cache

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, AnyArray, sum_of, take
from perf2x.base.columnar.list_array import end_to_end, offsets_of, row_batches
from perf2x.base.frozen_struct import Frozen


def secret_key(number: int) -> bytes:
    """Return a dictionary key for an unsigned 64-bit number: its eight bytes, lowest first.

    Raises OverflowError for numbers outside that range.
    """
    return number.to_bytes(8, "little")


def numbers_from_keys(keys: Iterable[bytes]) -> U64:
    """Return (n,) uint64: the numbers from which `secret_key` made these keys, in the same order."""
    return np.frombuffer(b"".join(keys), "<u8").astype(np.uint64)


_ODD = 0x9E3779B97F4A7C15
_WORDS_AT_ONCE = 1 << 18
"""Words to hash together, and so the usual length of the table of powers."""
_FEW_WORDS = 1 << 14
"""Length of the table of powers where this suffices, as in small recordings; building it takes hardly any time."""
_HALF = np.uint64(32)
SECRET_BYTES = 56
"""Random bytes from which weights are derived: three words, and the key of `digests`."""


class Weights(Frozen):
    """Secret numbers that determine all hashes of this process."""

    word: np.uint64
    """Odd factor of every word."""
    place: int
    """Base of the polynomial in `hash_rows`: a word is multiplied by the power of this number for its place."""
    column: np.uint64
    """First of the consecutive numbers from which the factors of columns are made."""
    key: bytes
    """Key of `digests`."""

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
    """Return the weights that this process uses now."""
    return _weights


def mix(value: U64) -> U64:
    """Spread every bit of each word over the word (the finalizer of splitmix64); returns a new array."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: U64 = value ^ (value >> np.uint64(31))
    return mixed


def identity_of(*columns: U64 | I64) -> U64:
    """Return (n,) uint64: a hash of each row that is the same in every process, to identify rows in output.

    Never use it for lookups: it has no secret, so a file can contain rows whose hashes collide.
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
    """Return (n,) uint64: the hash of each row of words, row i being ``words[starts[i] : starts[i] + lengths[i]]``.

    The words of a row are the coefficients of a polynomial in r. All rows are laid end to end, so that one table of
    powers serves all of them; each row's sum is then divided by the power at which the row begins (modulo 2⁶⁴, where
    every odd number has an inverse)::

        words            a    b    c  |  d    e
        times            1    r    r² |  r³   r⁴
        sum / r^begin    a + br + cr² |  d + er

    Long rows can be made to collide whatever r is: thousands of words, of two values that alternate as in the
    Thue–Morse sequence. Callers that look up rows by their hash must stay fast when rows collide.
    """
    if sum_of(lengths) > _WORDS_AT_ONCE and len(lengths) > 1:
        runs = row_batches(lengths, _WORDS_AT_ONCE)
        return np.concatenate([_hash_rows(words, starts[run], lengths[run]) for run in runs])
    return _hash_rows(words, starts, lengths)


def digests(rows: Iterable[bytes]) -> list[bytes]:
    """Return a keyed 16-byte digest of each row; different rows never share a digest.

    Slow: one Python call per row.
    """
    from hashlib import blake2b  # hardly ever needed, and takes milliseconds to load

    return [blake2b(row, digest_size=16, key=_weights.key).digest() for row in rows]


def _blurred(words: U64) -> U64:
    """Return a new array of words, each replaced by a word that cannot be predicted; different words stay different."""
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
    """Return the first 2^``bits`` powers of r = ``number`` and of its inverse: (r⁰, r¹, …) and (r⁰, r⁻¹, …)."""
    return _powers_of(number, bits), _powers_of(pow(number, -1, 1 << 64), bits)


def _powers_of(number: int, bits: int) -> U64:
    factors = np.full(1 << bits, number, np.uint64)
    factors[0] = 1
    powers: U64 = np.multiply.accumulate(factors)
    return powers
