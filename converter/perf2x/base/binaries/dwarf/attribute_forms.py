"""Abbreviations and forms: the layout of an entry's attributes, and how to decode or skip them.

An entry (DIE) in ``.debug_info`` is an abbreviation code followed by the attributes' values. The abbreviation, in
``.debug_abbrev``, states the entry's tag, and a form for each attribute. Skipping entries is the inner loop of this
package. Source of truth: DWARF 5, sections 7.5.3 to 7.5.6.
"""

import struct

from perf2x.base.abi import ENDIAN
from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError

_FIXED_SIZES = {
    c.FORM_DATA1: 1, c.FORM_FLAG: 1, c.FORM_REF1: 1, c.FORM_STRX1: 1, c.FORM_ADDRX1: 1,
    c.FORM_DATA2: 2, c.FORM_REF2: 2, c.FORM_STRX2: 2, c.FORM_ADDRX2: 2, c.FORM_STRX3: 3, c.FORM_ADDRX3: 3,
    c.FORM_DATA4: 4, c.FORM_REF4: 4, c.FORM_STRX4: 4, c.FORM_ADDRX4: 4, c.FORM_REF_SUP4: 4,
    c.FORM_DATA8: 8, c.FORM_REF8: 8, c.FORM_REF_SIG8: 8, c.FORM_REF_SUP8: 8, c.FORM_DATA16: 16,
    c.FORM_FLAG_PRESENT: 0, c.FORM_IMPLICIT_CONST: 0,
}  # fmt: skip
_OFFSET_FORMS = frozenset((c.FORM_STRP, c.FORM_SEC_OFFSET, c.FORM_LINE_STRP, c.FORM_STRP_SUP, c.FORM_GNU_REF_ALT,
                      c.FORM_GNU_STRP_ALT, c.FORM_REF_ADDR))  # fmt: skip
_LEB_FORMS = frozenset((c.FORM_SDATA, c.FORM_UDATA, c.FORM_REF_UDATA, c.FORM_STRX, c.FORM_ADDRX, c.FORM_LOCLISTX,
                  c.FORM_RNGLISTX, c.FORM_GNU_ADDR_INDEX, c.FORM_GNU_STR_INDEX))  # fmt: skip
# Bytes of the length before a block.
_BLOCK_LENGTH_SIZES = {c.FORM_BLOCK1: 1, c.FORM_BLOCK2: 2, c.FORM_BLOCK4: 4}
# Steps of `UnitEncoding.skip`: over a LEB128 number, a string, or a block after a LEB128 length.
_STEP_LEB, _STEP_STRING, _STEP_BLOCK = -1, -2, -3
# 64-bit numbers need at most nine bytes after the first.
_MAX_LEB_CONTINUATION = 16
# A code above this number must be at most one and a half times the number of codes before it. Compilers number
# abbreviations 1, 2, 3, …; a hostile file could choose large codes that all collide as dictionary keys (see
# base/columnar/hashing.py). Smaller codes are too few to do harm.
_MAX_SPARSE_CODE = 1 << 16


def uleb128(data: bytes, offset: int) -> tuple[int, int]:
    """Decode the unsigned LEB128 number at ``offset``: (value, offset of the next byte).

    Raises IndexError if ``data`` ends within the number, ObjectError if the number is too long.
    """
    byte = data[offset]
    if byte < 0x80:
        return byte, offset + 1
    value, shift, start = byte & 0x7F, 7, offset
    while byte >= 0x80:
        offset += 1
        if offset - start > _MAX_LEB_CONTINUATION:
            raise ObjectError("debug info: an unterminated number")
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, offset + 1


def sleb128(data: bytes, offset: int) -> tuple[int, int]:
    """Decode a signed LEB128 number, as `uleb128` does an unsigned one."""
    value, end = uleb128(data, offset)
    bits = 7 * (end - offset)
    return (value - (1 << bits) if data[end - 1] & 0x40 else value), end


def initial_length(byte_order: str, data: bytes, start: int) -> tuple[int, int, int]:
    """Read the length field at the start of a unit or table (DWARF 5, section 7.4).

    Returns (length of what follows, offset after the field, bytes of a section offset: 4, or 8 in 64-bit DWARF).
    """
    (length,) = struct.unpack_from(byte_order + "I", data, start)
    if length != 0xFFFFFFFF:
        return length, start + 4, 4
    (length,) = struct.unpack_from(byte_order + "Q", data, start + 4)
    return length, start + 12, 8


class UnitEncoding(Frozen):
    """The properties of a unit that determine the sizes of forms."""

    byte_order: str
    """``"<"`` or ``">"``."""
    address_size: int
    """In bytes."""
    offset_size: int
    """4, or 8 in 64-bit DWARF."""
    version: int

    def fixed_size(self, form: int) -> int:
        """Return the size of a form in bytes; −1 when it varies or the form is unknown."""
        if form in _FIXED_SIZES:
            return _FIXED_SIZES[form]
        if form == c.FORM_ADDR or (form == c.FORM_REF_ADDR and self.version < 3):
            return self.address_size
        return self.offset_size if form in _OFFSET_FORMS else -1

    def integer(self, data: bytes, offset: int, size: int) -> int:
        """Read an unsigned integer of ``size`` bytes. Raises ObjectError if it is not within the section ``data``."""
        if offset < 0 or offset + size > len(data):
            raise ObjectError("debug info: a value lies outside its section")
        return int.from_bytes(data[offset : offset + size], ENDIAN[self.byte_order])

    def value(self, data: bytes, offset: int, form: int, constant: int) -> tuple[int, int]:
        """Decode the attribute at ``offset``: (value, offset of the next attribute).

        The value of an inline string is the offset of its first byte in ``data``, that of a block the offset of its
        length. ``constant`` is the value of a DW_FORM_implicit_const, from the abbreviation.
        """
        size = self.fixed_size(form)
        if size >= 0:
            if form == c.FORM_FLAG_PRESENT:
                return 1, offset
            if form == c.FORM_IMPLICIT_CONST:
                return constant, offset
            return self.integer(data, offset, size), offset + size
        if form == c.FORM_SDATA:
            return sleb128(data, offset)
        if form in _LEB_FORMS:
            return uleb128(data, offset)
        return offset, self.skip(data, offset, (_skip_step(self, form),))

    def skip(self, data: bytes, offset: int, steps: tuple[int, ...]) -> int:
        """Return the offset after the attributes at ``offset``, given their steps."""
        for step in steps:
            if step >= 0:
                offset += step
            elif step == _STEP_LEB:
                while data[offset] >= 0x80:
                    offset += 1
                offset += 1
            elif step == _STEP_STRING:
                offset = data.index(b"\0", offset) + 1
            elif step == _STEP_BLOCK:
                length, offset = uleb128(data, offset)
                offset += length
            else:
                length_size = -step // 16
                offset += length_size + self.integer(data, offset, length_size)
        return offset


def _skip_step(encoding: UnitEncoding, form: int) -> int:
    """Return how to skip an attribute of a form: its size in bytes, if that is fixed.

    Otherwise it is one of the steps above or, for a block after a length of 1, 2 or 4 bytes, −16 × the size of that
    length.
    """
    size = encoding.fixed_size(form)
    if size >= 0:
        return size
    if form in _LEB_FORMS:
        return _STEP_LEB
    if form == c.FORM_STRING:
        return _STEP_STRING
    if form in (c.FORM_BLOCK, c.FORM_EXPRLOC):
        return _STEP_BLOCK
    if form in _BLOCK_LENGTH_SIZES:
        return -16 * _BLOCK_LENGTH_SIZES[form]
    raise ObjectError(f"debug info: unknown form {form:#x}")


class Abbreviation(Frozen):
    """The layout of all entries with one abbreviation code."""

    tag: int
    has_children: bool
    attributes: tuple[tuple[int, int, int, int], ...]
    """(DW_AT_*, form, value of DW_FORM_implicit_const or 0, fixed number of bytes or 0) of each attribute."""
    size: int
    """Bytes of an entry after its code; −1 if they vary."""
    steps: tuple[int, ...]
    """For `UnitEncoding.skip`."""
    sibling: tuple[int, int]
    """(distance of DW_AT_sibling's first byte from the end of the entry, its size in bytes).

    We count from the end, because GCC writes it last, after attributes of any size. (0, 0) if the entry lacks it, if
    its form is not a reference within the unit, or if its size or that of an attribute after it varies.
    """
    may_have_code: bool
    """The entry may have addresses: DW_AT_low_pc or DW_AT_ranges."""
    pc_layout: tuple[int, ...]
    """(offset of DW_AT_low_pc, offset of DW_AT_high_pc, size of DW_AT_high_pc).

    Offsets count from the first attribute. Empty unless both offsets are fixed, DW_AT_low_pc is a DW_FORM_addr and
    DW_AT_high_pc a length, as compilers write them. Empty, too, if DW_AT_ranges is at a fixed offset.
    """

    leaf_size: int
    """Bytes of the whole entry if it has a fixed size, no children and no addresses; otherwise 0.

    The code is taken to have one byte.
    """
    sibling_jump: tuple[int, ...]
    """(bytes of the entry, offset of DW_AT_sibling in it), for types, functions and inlined calls without addresses.

    The code is taken to have one byte. Empty for other tags, for entries that may have addresses or whose size varies,
    and unless DW_AT_sibling has four bytes.
    """


class AbbreviationTable:
    """One abbreviation table, parsed only as far as codes are looked up.

    Lookups raise ObjectError if the table is cut off, has unknown forms or implausible codes, or exceeds ``budget``.
    """

    def __init__(
        self, data: bytes, offset: int, encoding: UnitEncoding, budget: ReadBudget, by_bytes: dict[bytes, Abbreviation]
    ) -> None:
        """``by_bytes`` has abbreviations by their encoded bytes, because the tables of a file have many in common."""
        self._data, self._encoding, self._budget, self._by_bytes = data, encoding, budget, by_bytes
        self._table: dict[int, Abbreviation] = {}
        # by one-byte code; also 0 and () for codes that were not parsed yet
        self.leaf_sizes = [0] * 256
        self.sibling_jumps: list[tuple[int, ...]] = [()] * 256
        self._is_complete = False
        # ``_read_end`` is larger than ``_next_offset`` only after an error, or at the end of the table.
        self._next_offset, self._read_end = offset, offset
        self._error = ""

    def all(self) -> dict[int, Abbreviation]:
        """Return the abbreviations of the whole table by code."""
        self._read(-1)
        return self._table

    def find(self, code: int) -> Abbreviation | None:
        """Return the abbreviation of a code; None if the table lacks it."""
        if code not in self._table:
            self._read(code)
        return self._table.get(code)

    def _read(self, wanted_code: int) -> None:
        """Read up to ``wanted_code``, or to the end for −1. An error is raised again at the next attempt."""
        if self._error:
            raise ObjectError(self._error)
        start = self._next_offset
        try:
            try:
                self._parse_up_to(wanted_code)
            finally:
                self._budget.spend(self._read_end - start)
        except IndexError:
            self._error = "debug info: the abbreviations are cut off"
            raise ObjectError(self._error) from None
        except ObjectError as error:
            self._error = str(error)
            raise

    def _parse_up_to(self, wanted_code: int) -> None:
        data, table, by_bytes, code = self._data, self._table, self._by_bytes, 0
        while code != wanted_code and not self._is_complete:
            code, begin = uleb128(data, self._next_offset)
            self._read_end = begin
            if code > _MAX_SPARSE_CODE and code > len(table) * 3 // 2:
                raise ObjectError(f"debug info: abbreviation code {code} is implausibly large")
            if not code:
                self._is_complete = True
                return
            # An abbreviation ends with two zeros. If the byte before them is 0, too (no children, or an implicit
            # constant 0), the search finds them one byte too early. Then `by_bytes` lacks the slice, and the
            # abbreviation is parsed.
            end = data.find(b"\0\0", begin) + 2
            end = self._read_end = end if end > 1 else len(data)
            abbreviation = by_bytes.get(data[begin:end])
            if abbreviation is None:
                abbreviation, end = self._parse(begin)
                by_bytes[data[begin:end]] = abbreviation
            if code not in table:
                table[code] = abbreviation
                if code < 0x80:
                    self.leaf_sizes[code], self.sibling_jumps[code] = abbreviation.leaf_size, abbreviation.sibling_jump
            self._next_offset = self._read_end = end

    def _parse(self, offset: int) -> tuple[Abbreviation, int]:
        data = self._data
        tag, offset = uleb128(data, offset)
        has_children, offset = data[offset] != 0, offset + 1
        attributes: list[tuple[int, int, int]] = []
        while True:
            attribute, offset = uleb128(data, offset)
            form, offset = uleb128(data, offset)
            constant, offset = sleb128(data, offset) if form == c.FORM_IMPLICIT_CONST else (0, offset)
            if not attribute and not form:
                return _abbreviation(tag, has_children, tuple(attributes), self._encoding), offset
            attributes.append((attribute, form, constant))


def _abbreviation(
    tag: int, has_children: bool, attributes: tuple[tuple[int, int, int], ...], encoding: UnitEncoding
) -> Abbreviation:
    steps = [_skip_step(encoding, form) for _, form, _ in attributes]
    names = [name for name, _, _ in attributes]
    size = sum(steps) if all(step >= 0 for step in steps) else -1
    sibling = _sibling_reference(attributes, steps)
    may_have_code = c.AT_LOW_PC in names or c.AT_RANGES in names
    is_fixed_without_code = size >= 0 and not may_have_code
    # children of types, and of functions and inlined calls without addresses, need not be searched for code
    is_skippable = tag in c.TYPE_TAGS or tag in c.CODE_TAGS
    return Abbreviation(
        tag, has_children,
        tuple((*attribute, max(step, 0)) for attribute, step in zip(attributes, steps, strict=True)), size,
        tuple(_merge_fixed_steps(steps)), sibling, may_have_code, _pc_layout(attributes, steps),
        1 + size if is_fixed_without_code and not has_children else 0,
        (1 + size, 1 + size - sibling[0]) if is_fixed_without_code and sibling[1] == 4 and is_skippable else (),
    )  # fmt: skip


def _merge_fixed_steps(steps: list[int]) -> list[int]:
    """Turn [4, 4, _STEP_LEB, 2, 1] into [8, _STEP_LEB, 3]."""
    merged: list[int] = []
    for step in steps:
        if merged and merged[-1] >= 0 and step >= 0:
            merged[-1] += step
        else:
            merged.append(step)
    return merged


def _sibling_reference(attributes: tuple[tuple[int, int, int], ...], steps: list[int]) -> tuple[int, int]:
    for index, (attribute, form, _) in enumerate(attributes):
        if attribute == c.AT_SIBLING and form in c.LOCAL_REFERENCES and all(step >= 0 for step in steps[index:]):
            return sum(steps[index:]), steps[index]
    return 0, 0


def _pc_layout(attributes: tuple[tuple[int, int, int], ...], steps: list[int]) -> tuple[int, ...]:
    located: dict[int, tuple[int, int, int]] = {}  # {attribute: (offset, size, form)}
    offset = 0
    for (attribute, form, _), step in zip(attributes, steps, strict=True):
        if step < 0:
            break
        located[attribute] = (offset, step, form)
        offset += step
    if c.AT_RANGES in located or c.AT_LOW_PC not in located or c.AT_HIGH_PC not in located:
        return ()
    low, high = located[c.AT_LOW_PC], located[c.AT_HIGH_PC]
    length_forms = (c.FORM_DATA1, c.FORM_DATA2, c.FORM_DATA4, c.FORM_DATA8)
    return (low[0], high[0], high[1]) if low[2] == c.FORM_ADDR and high[2] in length_forms else ()
