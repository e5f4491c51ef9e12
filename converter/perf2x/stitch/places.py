"""Where the frames of chains lie: mapping, address in it, kind; what several processes share is one location."""

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U8, U64, Bools
from perf2x.model.intern import Distinct, columns_equal, first_alike, hash_columns
from perf2x.stitch.mappings import Merged
from perf2x.stitch.spaces import AddressSpaces


@dataclass(frozen=True, slots=True)
class Located:
    """Distinct locations, in the order of their numbers."""

    mapping: I64
    """Row of ``Merged.table``, −1 where no mapping held the address."""
    address: U64
    is_return: Bools
    mode: U8
    root: I64
    """> 0: a made-up frame instead."""


def pictures(epoch: I64, mode: U8, through_exec: Bools) -> I64:
    """(n,) what an address is looked up with, as one number; bit 0 is left for return addresses."""
    picture: I64 = epoch << 12 | mode.astype(np.int64) << 2 | through_exec.astype(np.int64) << 1
    return picture


class Locations:
    """Distinct (mapping, address in it, kind), numbered from 0."""

    def __init__(self, spaces: AddressSpaces, merged: Merged, as_recorded: bool) -> None:
        self._spaces, self._merged, self._as_recorded = spaces, merged, as_recorded
        self._rows = Distinct(3)
        """Mapping; address, as int64 bits; root << 12 | mode << 2 | is_return."""
        self.hit = np.zeros(len(merged.number), np.bool_)

    def of(self, picture: I64, address: U64) -> I64:
        """(n,) the location of each frame; frames at one address of one picture are looked up once."""
        columns: list[U64 | I64] = [picture, address]

        def equal(rows: I64, others: I64) -> Bools:
            return columns_equal(columns, rows, columns, others)

        once, place = first_alike(hash_columns(*columns), equal)
        picture = picture[once]
        return self._found(picture >> 12, address[once], (picture & 2) != 0, picture & 0xFFD)[place]

    def made_up(self, root: I64) -> I64:
        """(n,) the locations of made-up frames."""
        none = np.full(len(root), -1, np.int64)
        return self._number(none, np.zeros(len(root), np.uint64), root << 12 | int(CpuMode.USER) << 2)

    def absorb(self, located: Located, hit: Bools) -> I64:
        """Add another table's locations; (n,) the number here of each."""
        self.hit |= hit
        kind = located.root << 12 | located.mode.astype(np.int64) << 2 | located.is_return
        return self._number(located.mapping, located.address, kind)

    def table(self) -> Located:
        """All locations, by number."""
        mapping, address, kind = self._rows.columns()
        return Located(
            mapping, address.view(np.uint64), (kind & 1) != 0, (kind >> 2 & 0xFF).astype(np.uint8), kind >> 12
        )

    def _found(self, epoch: I64, address: U64, in_exec: Bools, kind: I64) -> I64:
        mmap = self._spaces.find(epoch, address, in_exec)
        self.hit[mmap] = True
        address = address + self._merged.shift[mmap]
        if not self._as_recorded:
            lost = (mmap < 0) & (kind >> 2 == CpuMode.USER)
            address = np.where(lost, np.uint64(0), address)
        # nothing calls from below address 0
        kind = np.where(address == np.uint64(0), kind & ~1, kind)
        return self._number(self._merged.number[mmap], address, kind)

    def _number(self, mapping: I64, address: U64, kind: I64) -> I64:
        return self._rows.number(mapping, address.view(np.int64), kind)
