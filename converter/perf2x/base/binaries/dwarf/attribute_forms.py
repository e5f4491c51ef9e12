"""Abbreviations and forms: the layout of an entry's attributes, and how to decode or skip them.

Walking over entries is the inner loop of this package, so an abbreviation caches the size of its entries where it is
fixed, and otherwise the steps that skip them. Source of truth: DWARF 5, sections 7.5.3 to 7.5.6.
"""

import struct

from perf2x.base.abi import ENDIAN
from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError

_FIXED = {
    c.FORM_DATA1: 1, c.FORM_FLAG: 1, c.FORM_REF1: 1, c.FORM_STRX1: 1, c.FORM_ADDRX1: 1,
    c.FORM_DATA2: 2, c.FORM_REF2: 2, c.FORM_STRX2: 2, c.FORM_ADDRX2: 2, c.FORM_STRX3: 3, c.FORM_ADDRX3: 3,
    c.FORM_DATA4: 4, c.FORM_REF4: 4, c.FORM_STRX4: 4, c.FORM_ADDRX4: 4, c.FORM_REF_SUP4: 4,
    c.FORM_DATA8: 8, c.FORM_REF8: 8, c.FORM_REF_SIG8: 8, c.FORM_REF_SUP8: 8, c.FORM_DATA16: 16,
    c.FORM_FLAG_PRESENT: 0, c.FORM_IMPLICIT_CONST: 0,
}  # fmt: skip
_OFFSETS = frozenset((c.FORM_STRP, c.FORM_SEC_OFFSET, c.FORM_LINE_STRP, c.FORM_STRP_SUP, c.FORM_GNU_REF_ALT,
                      c.FORM_GNU_STRP_ALT, c.FORM_REF_ADDR))  # fmt: skip
_LEB = frozenset((c.FORM_SDATA, c.FORM_UDATA, c.FORM_REF_UDATA, c.FORM_STRX, c.FORM_ADDRX, c.FORM_LOCLISTX,
                  c.FORM_RNGLISTX, c.FORM_GNU_ADDR_INDEX, c.FORM_GNU_STR_INDEX))  # fmt: skip
_LENGTHS = {c.FORM_BLOCK1: 1, c.FORM_BLOCK2: 2, c.FORM_BLOCK4: 4}
_STEP_LEB, _STEP_STRING, _STEP_BLOCK = -1, -2, -3
_LONGEST_LEB = 16
_SPARSE = 1 << 16
"""Above this number, abbreviation codes must be dense.

Compilers number abbreviations from 1; a hostile file could choose large codes that all collide as dictionary keys (see
base/columnar/hashing.py). Below this number there are too few codes to do harm.
"""


def uleb128(data: bytes, at: int) -> tuple[int, int]:
    """Decode an unsigned LEB128 number: (value, offset of the next byte). Raises IndexError at the end of ``data``."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift, start = byte & 0x7F, 7, at
    while byte >= 0x80:
        at += 1
        if at - start > _LONGEST_LEB:
            raise ObjectError("debug info: an unterminated number")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, at + 1


def sleb128(data: bytes, at: int) -> tuple[int, int]:
    """Decode a signed LEB128 number: (value, offset of the next byte). Raises IndexError at the end of ``data``."""
    value, end = uleb128(data, at)
    bits = 7 * (end - at)
    return (value - (1 << bits) if data[end - 1] & 0x40 else value), end


def initial_length(order: str, data: bytes, at: int) -> tuple[int, int, int]:
    """Read the length at the start of a table: (length, offset after it, bytes of an offset); DWARF 5, section 7.4."""
    (length,) = struct.unpack_from(order + "I", data, at)
    if length != 0xFFFFFFFF:
        return length, at + 4, 4
    (length,) = struct.unpack_from(order + "Q", data, at + 4)
    return length, at + 12, 8


class UnitEncoding(Frozen):
    """The properties of a unit that determine the sizes of forms."""

    byte_order: str
    address_size: int
    offset_size: int
    version: int

    def fixed_size(self, form: int) -> int:
        """Return the size of a form in bytes; −1 when it varies."""
        if form in _FIXED:
            return _FIXED[form]
        if form == c.FORM_ADDR or (form == c.FORM_REF_ADDR and self.version < 3):
            return self.address_size
        return self.offset_size if form in _OFFSETS else -1

    def integer(self, data: bytes, at: int, size: int) -> int:
        """Read an unsigned integer of ``size`` bytes. Raises ObjectError outside the section."""
        if at < 0 or at + size > len(data):
            raise ObjectError("debug info: a reference points outside its section")
        return int.from_bytes(data[at : at + size], ENDIAN[self.byte_order])

    def value(self, data: bytes, at: int, form: int, constant: int) -> tuple[int, int]:
        """Decode an attribute: (number, offset or index, offset of the next attribute).

        For blocks and strings the value is the offset of their first byte.
        """
        size = self.fixed_size(form)
        if size >= 0:
            if form == c.FORM_FLAG_PRESENT:
                return 1, at
            return (constant, at) if form == c.FORM_IMPLICIT_CONST else (self.integer(data, at, size), at + size)
        if form == c.FORM_SDATA:
            return sleb128(data, at)
        if form in _LEB:
            return uleb128(data, at)
        start = at
        return start, self.skip(data, at, (_skip_step(self, form),))

    def skip(self, data: bytes, at: int, steps: tuple[int, ...]) -> int:
        """Return the offset after the attributes that ``steps`` describe."""
        for step in steps:
            if step >= 0:
                at += step
            elif step == _STEP_LEB:
                while data[at] >= 0x80:
                    at += 1
                at += 1
            elif step == _STEP_STRING:
                at = data.index(b"\0", at) + 1
            elif step == _STEP_BLOCK:
                length, at = uleb128(data, at)
                at += length
            else:
                size = -step // 16
                at += size + self.integer(data, at, size)
        return at


def _skip_step(encoding: UnitEncoding, form: int) -> int:
    """Return how to skip a form: its size if fixed, else a _STEP_*, or −16 × the size of the length before a block."""
    size = encoding.fixed_size(form)
    if size >= 0:
        return size
    if form in _LEB:
        return _STEP_LEB
    if form == c.FORM_STRING:
        return _STEP_STRING
    if form in (c.FORM_BLOCK, c.FORM_EXPRLOC):
        return _STEP_BLOCK
    if form in _LENGTHS:
        return -16 * _LENGTHS[form]
    raise ObjectError(f"debug info: unknown form {form:#x}")


class Abbreviation(Frozen):
    """The layout of all entries with one abbreviation code."""

    tag: int
    has_children: bool
    attributes: tuple[tuple[int, int, int, int], ...]
    """(attribute, form, implicit constant, size of an integer of fixed size, else 0)"""
    size: int
    """Bytes of an entry after its code, −1 when that varies."""
    steps: tuple[int, ...]
    sibling: tuple[int, int]
    """(distance from the end of the entry, size) of the reference to the next sibling.

    (0, 0) when there is none at a fixed distance. GCC puts it last, after attributes of any length.
    """
    may_have_code: bool
    """The entry may have addresses: DW_AT_low_pc or DW_AT_ranges."""
    extent: tuple[int, ...]
    """(offset of DW_AT_low_pc, offset and size of DW_AT_high_pc as a length) where both are fixed, else ()."""

    leaf: int
    """Size including a one-byte code, if it is fixed and the entries have neither children nor addresses; otherwise 0.
    """
    passed: tuple[int, ...]
    """Size as above, and the offset of the four-byte reference to the sibling, for types and functions without
    addresses; empty for all others.
    """


class AbbreviationTable:
    """One abbreviation table, parsed lazily up to the codes that are looked up.

    Raises ObjectError when it is cut off, has unknown forms or exceeds ``budget``.
    """

    def __init__(
        self, data: bytes, at: int, encoding: UnitEncoding, budget: ReadBudget, known: dict[bytes, Abbreviation]
    ) -> None:
        """``known`` has abbreviations by their bytes, because the tables of one file have many in common."""
        self._data, self._at, self._encoding, self._budget, self._known = data, at, encoding, budget, known
        self._table: dict[int, Abbreviation] = {}
        self.leaves = [0] * 256
        self.passed: list[tuple[int, ...]] = [()] * 256
        """``Abbreviation.leaf`` and ``passed`` by one-byte code; 0 and empty for those not looked up yet."""
        self._ended, self._end = False, at
        self._error = ""

    def all(self) -> dict[int, Abbreviation]:
        """Return the abbreviations of the whole table by code."""
        self._read(-1)
        return self._table

    def find(self, code: int) -> Abbreviation | None:
        """Return the abbreviation of a code, None if the table lacks it; reads no further than that code."""
        if code not in self._table:
            self._read(code)
        return self._table.get(code)

    def _read(self, number: int) -> None:
        """Read up to a code, or to the end. An error is remembered and raised again at the next attempt."""
        if self._error:
            raise ObjectError(self._error)
        start = self._at
        try:
            try:
                self._parse_up_to(number)
            finally:
                self._budget.spend(self._end - start)
        except IndexError:
            self._error = "debug info: the abbreviations are cut off"
            raise ObjectError(self._error) from None
        except ObjectError as error:
            self._error = str(error)
            raise

    def _parse_up_to(self, number: int) -> None:
        data, table, known, code = self._data, self._table, self._known, 0
        while code != number and not self._ended:
            code, begin = uleb128(data, self._at)
            self._end = begin
            if code > _SPARSE and code > len(table) * 3 // 2:
                raise ObjectError(f"debug info: no abbreviation has the number {code}")
            if not code:
                self._ended = True
                return
            # two zeros may be an earlier constant and an attribute, but then no abbreviation is known by that slice
            end = data.find(b"\0\0", begin) + 2
            end = self._end = end if end > 1 else len(data)
            found = known.get(data[begin:end])
            if found is None:
                found, end = self._parse(begin)
                known[data[begin:end]] = found
            if code not in table:
                table[code] = found
                if code < 0x80:
                    self.leaves[code], self.passed[code] = found.leaf, found.passed
            self._at = self._end = end

    def _parse(self, at: int) -> tuple[Abbreviation, int]:
        """Parse an abbreviation after its code: (abbreviation, offset after it)."""
        data = self._data
        tag, at = uleb128(data, at)
        has_children, at = data[at] != 0, at + 1
        attributes: list[tuple[int, int, int]] = []
        while True:
            attribute, at = uleb128(data, at)
            form, at = uleb128(data, at)
            constant, at = sleb128(data, at) if form == c.FORM_IMPLICIT_CONST else (0, at)
            if not attribute and not form:
                return _abbreviation(tag, has_children, tuple(attributes), self._encoding), at
            attributes.append((attribute, form, constant))


def _abbreviation(
    tag: int, has_children: bool, attributes: tuple[tuple[int, int, int], ...], encoding: UnitEncoding
) -> Abbreviation:
    steps = [_skip_step(encoding, form) for _, form, _ in attributes]
    names = [attribute for attribute, _, _ in attributes]
    size = sum(steps) if all(step >= 0 for step in steps) else -1
    sibling = _sibling_reference(attributes, steps)
    may_have_code = c.AT_LOW_PC in names or c.AT_RANGES in names
    is_fixed, holds_none = size >= 0 and not may_have_code, tag in c.TAG_TYPES or tag in c.TAGS_WITH_CODE
    sized = zip(attributes, (max(step, 0) for step in steps), strict=True)
    return Abbreviation(
        tag, has_children, tuple((*one, step) for one, step in sized), size, tuple(_merge_fixed_steps(steps)), sibling,
        may_have_code, _code_range_layout(attributes, steps), 1 + size if is_fixed and not has_children else 0,
        (1 + size, 1 + size - sibling[0]) if is_fixed and sibling[1] == 4 and holds_none else (),
    )  # fmt: skip


def _merge_fixed_steps(steps: list[int]) -> list[int]:
    """Merge consecutive steps of fixed size into one."""
    joined: list[int] = []
    for step in steps:
        if joined and joined[-1] >= 0 and step >= 0:
            joined[-1] += step
        else:
            joined.append(step)
    return joined


def _sibling_reference(attributes: tuple[tuple[int, int, int], ...], steps: list[int]) -> tuple[int, int]:
    for index, (attribute, form, _) in enumerate(attributes):
        if attribute == c.AT_SIBLING and form in c.LOCAL_REFERENCES and all(step >= 0 for step in steps[index:]):
            return sum(steps[index:]), steps[index]
    return 0, 0


def _code_range_layout(attributes: tuple[tuple[int, int, int], ...], steps: list[int]) -> tuple[int, ...]:
    """Locate low_pc as an address and high_pc as a length at fixed offsets: the layout of most functions."""
    located: dict[int, tuple[int, int, int]] = {}
    at = 0
    for (attribute, form, _), step in zip(attributes, steps, strict=True):
        if step < 0:
            break
        located[attribute] = (at, step, form)
        at += step
    if c.AT_RANGES in located or c.AT_LOW_PC not in located or c.AT_HIGH_PC not in located:
        return ()
    low, high = located[c.AT_LOW_PC], located[c.AT_HIGH_PC]
    numbers = (c.FORM_DATA1, c.FORM_DATA2, c.FORM_DATA4, c.FORM_DATA8)
    return (low[0], high[0], high[1]) if low[2] == c.FORM_ADDR and high[2] in numbers else ()
