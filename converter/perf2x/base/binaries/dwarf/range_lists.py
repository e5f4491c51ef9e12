"""Range lists: the address ranges of code that is not contiguous.

Source of truth: DWARF 5, sections 2.17.3, 7.25 and 7.28; DWARF 4, section 2.17.3 for ``.debug_ranges``.
"""

import struct
from collections.abc import Callable, Iterator

from perf2x.base.binaries.dwarf.attribute_forms import UnitEncoding, uleb128
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError

# (first address, one past the last)
Ranges = list[tuple[int, int]]
# The rest of a longer list is ignored.
_MAX_LIST_ENTRIES = 1 << 16
# DW_RLE_end_of_list, base_addressx, startx_length, offset_pair, base_address, start_length. The operands of startx_endx
# (2) and start_end (6) are the range itself.
_END, _BASE_INDEX, _START_LENGTH_INDEX, _OFFSETS, _BASE, _START_LENGTH = 0, 1, 3, 4, 5, 7
# Operands by kind: ``x`` is the index of an address (LEB128), ``a`` an address, ``n`` a number (LEB128).
_OPERANDS = {1: "x", 2: "xx", 3: "xn", 4: "nn", 5: "a", 6: "aa", 7: "an"}


class RangeLists(Frozen):
    """Reads the range lists of one unit; empty ranges are skipped."""

    file_name: str
    """The file's name in messages."""
    encoding: UnitEncoding
    base_address: int
    """The address that offsets are relative to; an entry of a list may replace it for the rest of that list."""
    budget: ReadBudget
    indexed_address: Callable[[int], int]
    """Returns an address by its index in ``.debug_addr``."""

    def debug_ranges(self, data: bytes, list_offset: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the list at ``list_offset`` in ``.debug_ranges``, also empty and impossible ones.

        A pair of words is two offsets from the base address, or (highest address, new base address), or (0, 0) at the
        end.
        """
        size, base = self.encoding.address_size, self.base_address
        highest = (1 << 8 * size) - 1
        pair = struct.Struct(f"{self.encoding.byte_order}2{'Q' if size == 8 else 'I'}")
        for offset in range(list_offset, list_offset + _MAX_LIST_ENTRIES * 2 * size, 2 * size):
            if offset < 0 or offset + 2 * size > len(data):
                raise ObjectError(f"{self.file_name}: a range list is cut off")
            start, end = pair.unpack_from(data, offset)
            self.budget.spend(2 * size)
            if start == highest:
                base = end
            elif start == end == 0:
                return
            else:
                yield base + start, base + end

    def rnglists(self, data: bytes, offset: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the list at ``offset`` in ``.debug_rnglists``, also empty and impossible ones.

        The list's entries are DW_RLE_*.
        """
        base = self.base_address
        for _ in range(_MAX_LIST_ENTRIES):
            begin, kind, offset = offset, self.encoding.integer(data, offset, 1), offset + 1
            if kind == _END:
                return
            operands, offset = self._operands(kind, data, offset)
            self.budget.spend(offset - begin)
            if kind in (_BASE_INDEX, _BASE):
                (base,) = operands
            else:
                start, end = operands
                if kind == _OFFSETS:
                    start, end = base + start, base + end
                elif kind in (_START_LENGTH_INDEX, _START_LENGTH):
                    end += start
                yield start, end

    def _operands(self, kind: int, data: bytes, offset: int) -> tuple[list[int], int]:
        """Return (operands, with indexed addresses looked up; offset of the next entry)."""
        operands = []
        size = self.encoding.address_size
        for letter in _OPERANDS.get(kind, ""):
            if letter == "a":
                value, offset = self.encoding.integer(data, offset, size), offset + size
            else:
                try:
                    value, offset = uleb128(data, offset)
                except IndexError:
                    raise ObjectError(f"{self.file_name}: a range list is cut off") from None
            operands.append(self.indexed_address(value) if letter == "x" else value)
        if not operands:
            raise ObjectError(f"{self.file_name}: a range list has an entry of the unknown kind {kind}")
        return operands, offset
