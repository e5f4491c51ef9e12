"""All mappings of a profile laid end to end, so that one number identifies an address in any of them."""

import numpy as np

from perf2x.base.columnar.arrays import I64, U64
from perf2x.stitcher.history.kernel_mappings import end_addresses
from perf2x.stitcher.history.profile_mappings import MergedMappings

_ROOM = 1 << 57
_MAX_LENGTH = 1 << 48
"""Longer mappings are damaged records or span an address space; they are left out, as are those beyond _ROOM."""


class AddressLayout:
    """Offsets of mappings in the layout.

    ::

        mapping (merged)        0 at 0x5000, 0x3000 long     1 at 0x9000, 0x1000 long
        begin                   0                            0x3000                        end 0x4000
        delta of a mapping recorded at 0x7000, merged into 1: 0x3000 − 0x7000
    """

    def __init__(self, merged: MergedMappings) -> None:
        mmaps, group = merged.mmaps, merged.number[:-1]
        count = int(group.max(initial=-1)) + 1
        length, start = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        length[group] = end_addresses(mmaps.start, mmaps.length) - mmaps.start
        start[group] = mmaps.start + merged.shift[:-1]
        # code at address 0 needs care with return addresses, see FrameKeys
        fits = (length < np.uint64(_MAX_LENGTH)) & (start != 0)
        taken = np.where(fits, length, np.uint64(0))
        begin = np.append(np.uint64(0), np.cumsum(taken))
        fits &= np.cumsum(taken.astype(np.float64)) < _ROOM  # the integers may have wrapped around
        self._group = np.flatnonzero(fits & (length > 0))
        self._begin = begin[self._group]
        self._start = start[self._group]
        self.delta: U64 = np.append(begin[group] - mmaps.start, np.uint64(0))
        """(recorded mappings + 1,) the sum of this and an address is its offset, modulo 2⁶⁴; the last row stands for
        no mapping."""
        self.is_outside = np.append(~fits[group], True)
        """(recorded mappings + 1,) whether the layout leaves each out."""

    def at(self, offset: U64) -> tuple[I64, U64]:
        """(n,) merged mapping and address of each offset in the layout."""
        if not len(self._begin):
            return np.full(len(offset), -1, np.int64), np.zeros(len(offset), np.uint64)
        row = np.maximum(np.searchsorted(self._begin, offset, "right") - 1, 0)
        return self._group[row], self._start[row] + (offset - self._begin[row])
