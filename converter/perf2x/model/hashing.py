"""Hashes of rows: of equally long columns, and of rows of different lengths. They only suggest that rows are equal."""

from functools import cache

import numpy as np

from perf2x.model.arrays import I64, U64, AnyArray
from perf2x.model.ragged import end_to_end, offsets_of, pieces

_ODD = 0x9E3779B97F4A7C15
_WORDS_AT_ONCE = 1 << 17


def mix(value: U64) -> U64:
    """Spread every bit of each word over the word (the finalizer of splitmix64); changes nothing in place."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: U64 = value ^ (value >> np.uint64(31))
    return mixed


def hash_columns(*columns: U64 | I64) -> U64:
    """(n,) uint64: one hash per row of equally long integer columns."""
    total = np.zeros(len(columns[0]), np.uint64)
    weights = mix(np.arange(1, len(columns) + 1, dtype=np.uint64) * np.uint64(_ODD)) | np.uint64(1)
    for weight, column in zip(weights, columns, strict=True):
        word = column.astype(np.uint64)
        total += (word ^ (word >> np.uint64(29))) * weight
    return mix(total)


def hash_rows(words: AnyArray, starts: I64, lengths: I64) -> U64:
    """(n,) uint64: one hash per row words[start : start + length].

    The words of a row are the coefficients of a polynomial. All rows lie end to end, so that one table of powers does
    for all of them; what the place of a row added is divided out (modulo 2⁶⁴, where every odd number has an inverse)::

        words            a    b    c  |  d    e
        times            1    r    r² |  r³   r⁴
        sum / r^begin    a + br + cr² |  d + er
    """
    if int(lengths.sum()) > _WORDS_AT_ONCE and len(lengths) > 1:
        runs = pieces(lengths, _WORDS_AT_ONCE)
        return np.concatenate([_hash_rows(words, starts[run], lengths[run]) for run in runs])
    return _hash_rows(words, starts, lengths)


def _hash_rows(words: AnyArray, starts: I64, lengths: I64) -> U64:
    laid = end_to_end(words, starts, lengths).astype(np.uint64, copy=False)
    powers, inverses = _powers(max(len(laid), _WORDS_AT_ONCE).bit_length())
    laid = laid ^ (laid >> np.uint64(29))
    laid *= powers[: len(laid)]
    hashes = lengths.astype(np.uint64)
    filled = np.flatnonzero(lengths)
    if len(filled):
        begins = offsets_of(lengths)[filled]
        hashes[filled] += np.add.reduceat(laid, begins) * inverses[begins]
    return mix(hashes)


@cache
def _powers(bits: int) -> tuple[U64, U64]:
    """r⁰, r¹, … and r⁰, r⁻¹, …, 2^bits of each."""
    return _powers_of(_ODD, bits), _powers_of(pow(_ODD, -1, 1 << 64), bits)


def _powers_of(number: int, bits: int) -> U64:
    factors = np.full(1 << bits, number, np.uint64)
    factors[0] = 1
    powers: U64 = np.multiply.accumulate(factors)
    return powers
