"""All mappings of a profile laid end to end, so that a place in any of them is one number."""

import numpy as np

from perf2x.columnar.arrays import I64, U64
from perf2x.stitch.history.address_spaces import limits
from perf2x.stitch.profile_mappings import Merged

_ROOM = 1 << 57
_LONGEST = 1 << 48
"""Longer mappings are damage, or all of an address space; they are left out, as is what does not fit any more."""


class Layout:
    """Where each mapping lies.

    ::

        mapping (as merged)     0 at 0x5000, 0x3000 long     1 at 0x9000, 0x1000 long
        begin                   0                            0x3000                        end 0x4000
        delta of 0x7000 … a recorded mapping of 1            0x3000 − 0x7000
    """

    def __init__(self, merged: Merged) -> None:
        mmaps, group = merged.mmaps, merged.number[:-1]
        count = int(group.max(initial=-1)) + 1
        length, start = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        length[group] = limits(mmaps.start, mmaps.length) - mmaps.start
        start[group] = mmaps.start + merged.shift[:-1]
        # what has code at address 0 needs care with return addresses, see Places
        fits = (length < np.uint64(_LONGEST)) & (start != 0)
        taken = np.where(fits, length, np.uint64(0))
        begin = np.append(np.uint64(0), np.cumsum(taken))
        fits &= np.cumsum(taken.astype(np.float64)) < _ROOM  # the whole numbers may have come round
        self._group = np.flatnonzero(fits & (length > 0))
        self._begin = begin[self._group]
        self._start = start[self._group]
        self.delta: U64 = np.append(begin[group] - mmaps.start, np.uint64(0))
        """(recorded mappings + 1,) what to add to an address in each, modulo 2⁶⁴; the last is for none."""
        self.is_out = np.append(~fits[group], True)
        """(recorded mappings + 1,) whether each is in no layout."""

    def at(self, place: U64) -> tuple[I64, U64]:
        """(n,) mapping (as merged) and address of each place; for places of the layout."""
        if not len(self._begin):
            return np.full(len(place), -1, np.int64), np.zeros(len(place), np.uint64)
        row = np.maximum(np.searchsorted(self._begin, place, "right") - 1, 0)
        return self._group[row], self._start[row] + (place - self._begin[row])
