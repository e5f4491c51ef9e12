"""Abbreviations and forms: what an entry's bytes mean, and how long they are where nobody asks.

Walking over entries is the inner loop of everything here, so an abbreviation knows at once how long its entries are
where that does not depend on their bytes, and else the steps that skip them.
Source of truth: DWARF 5, sections 7.5.3 to 7.5.6.
"""

from msgspec import Struct

from perf2x.binary.dwarf import constants as c
from perf2x.binary.dwarf.read_budget import ReadBudget
from perf2x.tables.errors import ObjectError

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
"""Compilers count abbreviations from 1. Codes beyond this must be a count, too: keys of a dictionary can be chosen so
that lookups take as long as there are keys (see columnar/secret_keys.py), which so few keys keep short."""


def uleb128(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 number and where the next byte is; IndexError at the end of ``data``."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift, start = byte & 0x7F, 7, at
    while byte >= 0x80:
        at += 1
        if at - start > _LONGEST_LEB:
            raise ObjectError("debug info: a number without end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, at + 1


def sleb128(data: bytes, at: int) -> tuple[int, int]:
    """The same with a sign."""
    value, end = uleb128(data, at)
    bits = 7 * (end - at)
    return (value - (1 << bits) if data[end - 1] & 0x40 else value), end


class UnitEncoding(Struct, frozen=True):
    """What sizes depend on, of one unit."""

    byte_order: str
    address_size: int
    offset_size: int
    version: int

    @property
    def endian(self) -> str:
        """As int.from_bytes wants it."""
        return "little" if self.byte_order == "<" else "big"

    def fixed_size(self, form: int) -> int:
        """Bytes of a form; −1 where the bytes themselves tell."""
        if form in _FIXED:
            return _FIXED[form]
        if form == c.FORM_ADDR or (form == c.FORM_REF_ADDR and self.version < 3):
            return self.address_size
        return self.offset_size if form in _OFFSETS else -1

    def integer(self, data: bytes, at: int, size: int) -> int:
        """An unsigned integer of ``size`` bytes; ObjectError where there are not so many."""
        if at < 0 or at + size > len(data):
            raise ObjectError("debug info: it points outside its section")
        return int.from_bytes(data[at : at + size], self.endian)  # type: ignore[arg-type]

    def value(self, data: bytes, at: int, form: int, constant: int) -> tuple[int, int]:
        """A number, offset or index as it stands there, and where the next attribute is; blocks and strings give 0
        and where they start.
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
        """Where the bytes end that ``steps`` describe."""
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
    """How to skip a form: so many bytes, or a number, a string, a block, a block whose length has n bytes."""
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
    raise ObjectError(f"debug info: form {form:#x} is not known")


class Abbreviation(Struct, frozen=True):
    """The layout of entries with one code."""

    tag: int
    has_children: bool
    attributes: tuple[tuple[int, int, int], ...]
    """(attribute, form, implicit constant)"""
    size: int
    """Bytes of an entry after its code, −1 where they differ."""
    steps: tuple[int, ...]
    sibling: tuple[int, int]
    """(distance from the end of the entry, size) of the reference to the next sibling, (0, 0) without one that can be
    found so; GCC puts it last, behind attributes of any length.
    """
    tells_code: bool
    """Whether entries say where their code is."""
    extent: tuple[int, ...]
    """(offset of the first address, offset and size of the number of bytes of code), () where they lie elsewhere."""


class AbbreviationTable:
    """One table, read once and only as far as somebody asks.

    Errors: ObjectError when it is cut off, has forms that nobody knows or costs more than ``budget`` allows.
    """

    def __init__(self, data: bytes, at: int, encoding: UnitEncoding, budget: ReadBudget) -> None:
        self._data, self._at, self._encoding, self._budget = data, at, encoding, budget
        self._table: dict[int, Abbreviation] = {}
        self._ended = False
        self._error = ""

    def all(self) -> dict[int, Abbreviation]:
        """The whole table, by code."""
        while not self._ended:
            self._read_next()
        return self._table

    def find(self, code: int) -> Abbreviation | None:
        """What a code stands for, None where the table does not say; reads no farther than that code."""
        while code not in self._table and not self._ended:
            self._read_next()
        return self._table.get(code)

    def _read_next(self) -> None:
        """Add one abbreviation. What cannot be read once is not tried again."""
        if self._error:
            raise ObjectError(self._error)
        try:
            self._budget.spend(1)
            self._parse_next()
        except IndexError:
            self._error = "debug info: its abbreviations are cut off"
            raise ObjectError(self._error) from None
        except ObjectError as error:
            self._error = str(error)
            raise

    def _parse_next(self) -> None:
        data, start, at = self._data, self._at, self._at
        try:
            code, at = uleb128(data, at)
            if code > max(_SPARSE, len(self._table) * 3 // 2):
                raise ObjectError(f"debug info: {code} is no number of an abbreviation")
            self._ended = not code
            if self._ended:
                return
            tag, at = uleb128(data, at)
            has_children, at = data[at] != 0, at + 1
            attributes = []
            while True:
                attribute, at = uleb128(data, at)
                form, at = uleb128(data, at)
                constant, at = sleb128(data, at) if form == c.FORM_IMPLICIT_CONST else (0, at)
                if not attribute and not form:
                    break
                attributes.append((attribute, form, constant))
        finally:
            self._budget.spend(at - start)
        self._table.setdefault(code, _abbreviation(tag, has_children, tuple(attributes), self._encoding))
        self._at = at


def _abbreviation(
    tag: int, has_children: bool, attributes: tuple[tuple[int, int, int], ...], encoding: UnitEncoding
) -> Abbreviation:
    steps = [_skip_step(encoding, form) for _, form, _ in attributes]
    names = [attribute for attribute, _, _ in attributes]
    size = sum(steps) if all(step >= 0 for step in steps) else -1
    return Abbreviation(
        tag, has_children, attributes, size, tuple(_merge_fixed_steps(steps)), _sibling_reference(attributes, steps),
        c.AT_LOW_PC in names or c.AT_RANGES in names, _code_range_layout(attributes, steps),
    )  # fmt: skip


def _merge_fixed_steps(steps: list[int]) -> list[int]:
    """The same steps with runs of fixed ones added up."""
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
    """low_pc as an address and high_pc as a number, both at fixed places: what compilers write for most functions."""
    place: dict[int, tuple[int, int, int]] = {}
    at = 0
    for (attribute, form, _), step in zip(attributes, steps, strict=True):
        if step < 0:
            break
        place[attribute] = (at, step, form)
        at += step
    if c.AT_RANGES in place or c.AT_LOW_PC not in place or c.AT_HIGH_PC not in place:
        return ()
    low, high = place[c.AT_LOW_PC], place[c.AT_HIGH_PC]
    numbers = (c.FORM_DATA1, c.FORM_DATA2, c.FORM_DATA4, c.FORM_DATA8)
    return (low[0], high[0], high[1]) if low[2] == c.FORM_ADDR and high[2] in numbers else ()
