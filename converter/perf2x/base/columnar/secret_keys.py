"""Keys for dictionaries of numbers that a file states.

CPython hashes an integer to itself, so that whoever writes a file can choose numbers that all walk the same way through
a dictionary's slots, and make n lookups take the time of n². The hash of bytes has a secret of the process in it.
"""

from collections.abc import Iterable

import numpy as np

from perf2x.base.columnar.arrays import U64


def secret_key(number: int) -> bytes:
    """The eight bytes of an unsigned 64-bit number, lowest first; OverflowError for others."""
    return number.to_bytes(8, "little")


def numbers_from_keys(keys: Iterable[bytes]) -> U64:
    """(n,) the numbers again, in the order of the keys."""
    return np.frombuffer(b"".join(keys), "<u8").astype(np.uint64)
