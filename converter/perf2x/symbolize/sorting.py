"""Addresses in order, and distinct numbers of columns that mostly come sorted."""

import numpy as np

from perf2x.model.arrays import I64, U64


def distinct(numbers: I64) -> tuple[I64, I64]:
    """Distinct numbers, rising, and each number's place among them: np.unique, without sorting what is sorted."""
    step = np.diff(numbers)
    if len(step) and int(step.min()) < 0:
        values, place = np.unique(numbers, return_inverse=True)
        return values, place.reshape(-1)
    is_new = np.ones(len(numbers), np.bool_)
    is_new[1:] = step != 0
    return numbers[is_new], np.cumsum(is_new) - 1


def distinct_known(numbers: I64) -> tuple[I64, I64]:
    """The same without −1, which stands for unknown and stays −1."""
    values, place = distinct(numbers)
    unknown = int(np.searchsorted(values, 0))
    return values[unknown:], place - unknown


def distinct_addresses(address: U64) -> tuple[U64, I64]:
    """Distinct addresses, rising, and each one's place among them: np.unique by ``stable_order``."""
    order = stable_order(address)
    ordered = address[order]
    is_new = np.ones(len(address), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    place = np.empty(len(address), np.int64)
    place[order] = np.cumsum(is_new) - 1
    return ordered[is_new], place


def stable_order(start: U64) -> I64:
    """Rows by their address, equal ones as they come; np.argsort(kind="stable"), several times quicker where it can be.

    Address and row are put into one word where they fit, and words are sorted: numpy has vector instructions for that.
    """
    low, high = (int(start.min()), int(start.max())) if len(start) else (0, 0)
    bits = len(start).bit_length()
    if (high - low).bit_length() + bits > 64:
        return np.argsort(start, kind="stable")
    word = (start - np.uint64(low)) << np.uint64(bits) | np.arange(len(start), dtype=np.uint64)
    word.sort()
    return (word & np.uint64((1 << bits) - 1)).astype(np.int64)
