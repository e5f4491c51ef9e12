"""Rows whose hashes are the same under the weights in use: what somebody who knew them would write into a file."""

import random

import numpy as np

from perf2x.base.columnar.hashing import SECRET_BYTES, Weights, weights

WORD = 1 << 64


def other_weights(seed: int) -> Weights:
    """Weights that are not those in use."""
    return Weights.drawn(random.Random(seed).randbytes(SECRET_BYTES))


def chains_alike(count: int) -> np.ndarray:
    """(count, 3) words of user addresses and one that makes up for them."""
    place = weights().base
    first, second = np.arange(0x1000, 0x1000 + count, dtype=np.uint64), np.arange(count, dtype=np.uint64) * np.uint64(7)
    last = (_blurred(first) + _blurred(second) * np.uint64(place)) * np.uint64(pow(-place * place, -1, WORD))
    return np.stack([first, second, _plain(last)], axis=1)


def pairs_alike(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Two columns."""
    factors = weights().column_factors(2).tolist()
    first = np.arange(count, dtype=np.uint64)
    second = _blurred(first) * np.uint64(factors[0]) * np.uint64(pow(-factors[1], -1, WORD))
    return first, _plain(second)


def chains_alike_under_any_weights(bits: int) -> np.ndarray:
    """(2 ** bits, 2 ** 11 · bits) words: pieces that are a Thue–Morse sequence of two words, or its complement.

    The difference of such pieces is (a − b)(1 − r)(1 − r²)(1 − r⁴)…, and enough of these factors are even.
    """
    sequence = np.array([one.bit_count() & 1 for one in range(1 << 11)], np.uint64)
    choice = np.arange(1 << bits)[:, None] >> np.arange(bits) & 1
    return np.concatenate([sequence ^ choice[:, [bit]].astype(np.uint64) for bit in range(bits)], axis=1) + np.uint64(9)


def _blurred(words: np.ndarray) -> np.ndarray:
    product = words * weights().word_factor
    return product ^ product >> np.uint64(32)


def _plain(blurred: np.ndarray) -> np.ndarray:
    """The words that become these."""
    return (blurred ^ blurred >> np.uint64(32)) * np.uint64(pow(int(weights().word_factor), -1, WORD))
