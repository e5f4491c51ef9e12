"""Hashes of rows of numbers, of equal or different lengths, resistant to deliberate collisions.

Rows with equal hashes are probably, but not certainly, equal; callers compare the rows. The weights of the hash
function are drawn at random when a process starts, so that a file cannot have many rows that collide, unless they are
very long (`hash_rows`). A forked process inherits the weights; any other process has its own. So no output may depend
on a hash, apart from that of `identity_of`.

Dictionaries whose keys are numbers from a file must use `salted_key`. CPython's hash of an integer is no secret, so a
file could choose numbers that all fall into the same slots, and n lookups would take time proportional to n².
"""

import os
from collections.abc import Iterable
from functools import cache

import numpy as np

from perf2x.base.columnar.arrays import I64, U64, AnyArray, sum_of, take
from perf2x.base.columnar.list_array import end_to_end, offsets_of, row_batches
from perf2x.base.frozen_struct import Frozen


def salted_key(number: int) -> bytes:
    """Return a dictionary key for an unsigned 64-bit number: its eight bytes, lowest first, whose hash is salted.

    Raises OverflowError for numbers outside that range.
    """
    return number.to_bytes(8, "little")


def numbers_from_keys(keys: Iterable[bytes]) -> U64:
    """Return (n,) uint64: the numbers from which `salted_key` made these keys."""
    return np.frombuffer(b"".join(keys), "<u8").astype(np.uint64)


_GOLDEN_RATIO = 0x9E3779B97F4A7C15  # 2⁶⁴ divided by the golden ratio
# Maximum number of words that `hash_rows` hashes together, unless a single row is longer.
_WORDS_AT_ONCE = 1 << 18
# Up to this many words, `hash_rows` uses a shorter table of powers, which takes hardly any time to build.
_FEW_WORDS = 1 << 14
_HALF = np.uint64(32)
# Number of random bytes from which weights are derived: three words of 8 bytes, and 32 for the key of `digests`.
SECRET_BYTES = 56


class Weights(Frozen):
    """Secret numbers that determine all hashes of this process."""

    word_factor: np.uint64
    """Odd number with which every word is multiplied first."""
    base: int
    """The number whose powers are the factors of a row's words in `hash_rows`: 1, base, base² …"""
    first_column: np.uint64
    """The factor of column i of a table is made from ``first_column`` + i."""
    digest_key: bytes
    """Key of `digests`."""

    @classmethod
    def drawn(cls, secret: bytes) -> "Weights":
        """Derive weights from ``SECRET_BYTES`` random bytes."""
        word_factor, base, first_column = np.frombuffer(secret, np.uint64, 3).tolist()
        # Modulo 2⁶⁴, the powers of a number that is 5 modulo 8 have the longest period.
        return cls(np.uint64(word_factor | 1), base & ~7 | 5, np.uint64(first_column), secret[24:])

    def column_factors(self, count: int) -> U64:
        """Return (count,) an odd factor for each column."""
        return mix(np.arange(count, dtype=np.uint64) + self.first_column) | np.uint64(1)


_weights = Weights.drawn(os.urandom(SECRET_BYTES))


def weights() -> Weights:
    """Return the weights that this process uses now."""
    return _weights


def mix(words: U64) -> U64:
    """Return (n,) words in which every bit depends on all bits of the given word (the finalizer of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: U64 = words ^ (words >> np.uint64(31))
    return mixed


def identity_of(*columns: U64 | I64) -> U64:
    """Return (n,) uint64: a hash of each row that is the same in every process, to identify rows in output.

    Never use it for lookups: its factors are no secret, so a file can contain many rows whose hashes collide.
    """
    sums = np.zeros(len(columns[0]), np.uint64)
    factors = mix(np.arange(1, len(columns) + 1, dtype=np.uint64) * np.uint64(_GOLDEN_RATIO)) | np.uint64(1)
    for factor, column in zip(factors, columns, strict=True):
        words = column.astype(np.uint64)
        sums += (words ^ (words >> np.uint64(29))) * factor
    return mix(sums)


def hash_columns(*columns: U64 | I64) -> U64:
    """Return (n,) uint64: the hash of each row of equally long integer columns."""
    sums = np.zeros(len(columns[0]), np.uint64)
    for factor, column in zip(_weights.column_factors(len(columns)), columns, strict=True):
        sums += _scrambled(column.astype(np.uint64, copy=False)) * factor
    return mix(sums)


def hash_rows(words: AnyArray, starts: I64, lengths: I64) -> U64:
    """Return (n,) uint64: the hash of each row of words, row i being ``words[starts[i] : starts[i] + lengths[i]]``.

    A hash is made from the value of a polynomial at the secret number r = ``Weights.base``; its coefficients are the
    scrambled words of the row. All rows are laid end to end and share one table of the powers of r. So the sum of a row
    is divided by the power at which the row begins. Everything is modulo 2⁶⁴. For two rows, [a b c] and [d e]::

        words                   a     b     c   |   d     e
        multiplied by           1     r     r²  |   r³    r⁴
        sum of each row         a + br + cr²    |   dr³ + er⁴
        divided by 1 or r³      a + br + cr²    |   d + er

    Long rows can be made to collide whatever r is: thousands of words, of two values that alternate as in the
    Thue–Morse sequence. So callers must stay fast when rows collide.
    """
    if sum_of(lengths) > _WORDS_AT_ONCE and len(lengths) > 1:
        runs = row_batches(lengths, _WORDS_AT_ONCE)
        return np.concatenate([_hash_rows(words, starts[run], lengths[run]) for run in runs])
    return _hash_rows(words, starts, lengths)


def digests(rows: Iterable[bytes]) -> list[bytes]:
    """Return a keyed 16-byte digest of each row; a collision is too improbable to consider.

    Slow: one Python call per row.
    """
    from hashlib import blake2b  # hardly ever needed, and takes milliseconds to load

    return [blake2b(row, digest_size=16, key=_weights.digest_key).digest() for row in rows]


def _scrambled(words: U64) -> U64:
    """Replace each word by one that nobody can predict; different words stay different."""
    scrambled: U64 = words * _weights.word_factor
    scrambled ^= scrambled >> _HALF
    return scrambled


def _hash_rows(words: AnyArray, starts: I64, lengths: I64) -> U64:
    terms = _scrambled(end_to_end(words, starts, lengths).astype(np.uint64, copy=False))
    # two lengths of the tables of powers, so that nearly all calls find their table in the cache
    least_powers = _WORDS_AT_ONCE if len(terms) > _FEW_WORDS else _FEW_WORDS
    powers, inverse_powers = _powers_and_inverses(_weights.base, max(len(terms), least_powers).bit_length())
    terms *= powers[: len(terms)]
    # the sum of a row is the difference between running sums; np.add.reduceat is slower, as most rows are short
    running_sums = np.empty(len(terms) + 1, np.uint64)
    running_sums[0] = 0
    np.add.accumulate(terms, out=running_sums[1:])
    offsets = offsets_of(lengths)
    hashes: U64 = np.diff(take(running_sums, offsets))
    hashes *= take(inverse_powers, offsets[:-1])
    hashes += lengths.astype(np.uint64)  # tells apart rows that differ only in zeros at the end
    return mix(hashes)


@cache
def _powers_and_inverses(base: int, bits: int) -> tuple[U64, U64]:
    # every odd number has an inverse modulo 2⁶⁴
    return _powers_of(base, bits), _powers_of(pow(base, -1, 1 << 64), bits)


def _powers_of(base: int, bits: int) -> U64:
    """Return (2^bits,) uint64: 1, base, base² … modulo 2⁶⁴."""
    factors = np.full(1 << bits, base, np.uint64)
    factors[0] = 1
    powers: U64 = np.multiply.accumulate(factors)
    return powers
