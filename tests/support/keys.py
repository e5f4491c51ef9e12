"""Integers that make a dictionary of CPython slow: each walks over all those before it."""

import numpy as np

PERTURB_SHIFT = 5
"""Objects/dictobject.c: the next slot is 5 · slot + (hash >>= 5) + 1."""


def colliding(bits: int, seed: int = 1) -> list[int]:
    """Positive numbers below 2^(bits + 11), for a dictionary of 2^bits slots, two thirds of which they fill.

    The first half lies, each number in its own slot, along the way that every walk takes in the end; the others are
    found by trying: all the slots that they see before they are on that way are taken, too.
    """
    size = 1 << bits
    room = size * 2 // 3 - 2
    way, slot = [], 1
    for _ in range(room // 2):
        way.append(slot)
        slot = (5 * slot + 1) % size
    place = np.full(size, size, np.int64)
    place[way] = np.arange(len(way))
    random, found = np.random.default_rng(seed), np.zeros(0, np.int64)
    while len(found) < room - len(way):
        left = random.integers(size, size << 11, 1 << 20)
        slots, perturb = left % size, left.copy()
        while len(left) and perturb.max() > 0:
            taken = place[slots] < len(way)
            left, slots, perturb = left[taken], slots[taken], perturb[taken] >> PERTURB_SHIFT
            slots = (5 * slots + perturb + 1) % size
        found = np.unique(np.concatenate([found, left[place[slots] < len(way)]]))
    return way + found[: room - len(way)].tolist()
