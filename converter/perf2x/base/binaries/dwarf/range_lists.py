"""Range lists: the address ranges of code that is not contiguous.

Source of truth: DWARF 5, sections 2.17.3, 7.25 and 7.28; DWARF 4, section 2.17.3 for ``.debug_ranges``.
"""

from collections.abc import Callable, Iterator
from struct import Struct as Pair

from perf2x.base.binaries.dwarf.attribute_forms import UnitEncoding, uleb128
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError

Ranges = list[tuple[int, int]]
"""(first address, one past the last)"""
_MAX_RANGES = 1 << 16
_END, _BASE_INDEX, _START_LENGTH_INDEX, _OFFSETS, _BASE, _START_LENGTH = 0, 1, 3, 4, 5, 7
_OPERANDS = {1: "x", 2: "xx", 3: "xn", 4: "nn", 5: "a", 6: "aa", 7: "an"}
"""Operands of DW_RLE_*: ``x`` is the index of an address, ``a`` an address, ``n`` a number."""


class RangeLists(Frozen):
    """Reads the range lists of one unit.

    Yields [first address, one past the last) of each range, skipping empty ones.
    """

    name: str
    """The file's name in messages."""
    encoding: UnitEncoding
    base: int
    """The address that offsets are relative to, unless a list sets another one."""
    budget: ReadBudget
    indexed_address: Callable[[int], int]
    """Returns an address by its index in ``.debug_addr``."""

    def debug_ranges(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the list at ``at`` in ``.debug_ranges``.

        The list consists of pairs: two offsets from the base, (highest address, new base), or (0, 0) at the end.
        """
        size, base = self.encoding.address_size, self.base
        highest = (1 << 8 * size) - 1
        pair = Pair(f"{self.encoding.byte_order}2{'Q' if size == 8 else 'I'}")
        for place in range(at, at + _MAX_RANGES * 2 * size, 2 * size):
            if place < 0 or place + 2 * size > len(data):
                raise ObjectError(f"{self.name}: a range list is cut off")
            start, end = pair.unpack_from(data, place)
            self.budget.spend(2 * size)
            if start == highest:
                base = end
            elif start == end == 0:
                return
            elif start < end:
                yield base + start, base + end

    def rnglists(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the list at ``at`` in ``.debug_rnglists``: entries of eight kinds (DW_RLE_*)."""
        base = self.base
        for _ in range(_MAX_RANGES):
            begin, kind, at = at, self.encoding.integer(data, at, 1), at + 1
            if kind == _END:
                return
            operands, at = self._operands(kind, data, at)
            self.budget.spend(at - begin)
            if kind in (_BASE_INDEX, _BASE):
                (base,) = operands
            else:
                start, end = operands
                if kind == _OFFSETS:
                    start, end = base + start, base + end
                elif kind in (_START_LENGTH_INDEX, _START_LENGTH):
                    end += start
                if start < end:
                    yield start, end

    def _operands(self, kind: int, data: bytes, at: int) -> tuple[list[int], int]:
        """Read the operands of an entry and look up indexed addresses: (operands, offset of the next entry)."""
        found = []
        for letter in _OPERANDS.get(kind, ""):
            if letter == "a":
                value, at = self.encoding.integer(data, at, self.encoding.address_size), at + self.encoding.address_size
            else:
                try:
                    value, at = uleb128(data, at)
                except IndexError:
                    raise ObjectError(f"{self.name}: a range list is cut off") from None
            found.append(self.indexed_address(value) if letter == "x" else value)
        if not found:
            raise ObjectError(f"{self.name}: a range list has an entry of the unknown kind {kind}")
        return found, at
