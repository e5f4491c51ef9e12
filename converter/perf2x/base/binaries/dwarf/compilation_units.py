"""Compilation units: headers, root entries, and the strings, addresses and ranges that attributes refer to.

Source of truth: DWARF 5, sections 7.5.1, 7.26 and 7.27; GNU's forms of split files for DWARF 4.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, partial

from msgspec import Struct

from perf2x.base.abi import ENDIAN
from perf2x.base.binaries.dwarf import dwarf_numbers as c
from perf2x.base.binaries.dwarf.attribute_forms import (
    Abbreviation,
    AbbreviationTable,
    UnitEncoding,
    initial_length,
    uleb128,
)
from perf2x.base.binaries.dwarf.debug_sections import DebugSections
from perf2x.base.binaries.dwarf.range_lists import RangeLists, Ranges
from perf2x.base.binaries.dwarf.read_budget import ReadBudget
from perf2x.base.binaries.elf.elf_headers import string_at
from perf2x.base.columnar.hashing import secret_key
from perf2x.errors import ObjectError

Attributes = dict[int, tuple[int, int]]
"""{attribute: (form, value)}"""


class SharedTables(Struct, dict=True):
    """State shared by the units of a file: abbreviation tables, and budgets for reading range lists."""

    _sections: DebugSections
    _tables: dict[tuple[int, UnitEncoding], AbbreviationTable] = {}
    _known: dict[UnitEncoding, dict[bytes, Abbreviation]] = {}

    def abbreviations(self, offset: int, encoding: UnitEncoding) -> AbbreviationTable:
        """Return the abbreviation table at ``offset``, shared by the units that use it."""
        if offset >= len(self._sections.abbrev):
            raise ObjectError("debug info: its abbreviations are cut off")
        key = (offset, encoding)
        if key not in self._tables:
            known = self._known.setdefault(encoding, {})
            data, budget = self._sections.abbrev, self._abbreviation_budget
            self._tables[key] = AbbreviationTable(data, offset, encoding, budget, known)
        return self._tables[key]

    @cached_property
    def _abbreviation_budget(self) -> ReadBudget:
        return ReadBudget("abbreviations", len(self._sections.abbrev), times=4)

    @cached_property
    def unit_range_budget(self) -> ReadBudget:
        """The budget for ranges of whole units, which are cached."""
        return ReadBudget("ranges of units", len(self._sections.ranges) + len(self._sections.rnglists), times=2)

    @cached_property
    def range_budget(self) -> ReadBudget:
        """The budget for ranges of functions; inlined functions may share the list of the enclosing function."""
        return ReadBudget("ranges", len(self._sections.ranges) + len(self._sections.rnglists), times=16)


class DebugFile:
    """The units of one ``.debug_info``; their headers are read on first use."""

    def __init__(
        self, sections: DebugSections, supplementary: "DebugFile | None" = None, tables: SharedTables | None = None
    ) -> None:
        self.sections, self.supplementary, self.tables = sections, supplementary, tables or SharedTables(sections)
        self._by_id: dict[bytes, Unit] = {}
        self._unread: Iterator[Unit] | None = None

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return self.sections.file.name

    @cached_property
    def units(self) -> "list[Unit]":
        """Units in file order, without type units and unknown versions."""
        return list(self._headers())

    @cached_property
    def _starts(self) -> list[int]:
        return [unit.start for unit in self.units]

    def unit_at(self, offset: int) -> "Unit":
        """Return the unit that contains the entry at ``offset``. Raises ObjectError if there is none."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset >= self.units[index].end:
            raise ObjectError(f"{self.name}: debug info refers to an entry that does not exist")
        return self.units[index]

    def unit_of_id(self, dwo_id: int) -> "Unit | None":
        """Return the first unit with that id; None without one.

        Raises ObjectError when an earlier unit cannot be read.
        """
        key = secret_key(dwo_id)
        self._unread = self._unread or iter(self.units)
        while key not in self._by_id:
            unit = next(self._unread, None)
            if unit is None:
                return None
            self._by_id.setdefault(secret_key(unit.dwo_id), unit)
        return self._by_id[key]

    @cached_property
    def entry_budget(self) -> ReadBudget:
        """The budget for walks over units: any number of skeletons may refer to the same unit."""
        return ReadBudget("units", len(self.sections.info), times=16)

    @cached_property
    def nesting_budget(self) -> ReadBudget:
        """The budget for walks that search for the functions around entries; addresses of one unit may cause many."""
        return ReadBudget("units", len(self.sections.info), times=4)

    def _headers(self) -> "Iterator[Unit]":
        data, order, start = self.sections.info, self.sections.file.byte_order, 0
        while start + 12 <= len(data):
            length, at, size = initial_length(order, data, start)
            end = at + length
            if length < 7 or end > len(data):
                raise ObjectError(f"{self.name}: a unit of debug info extends past its section")
            unit = _unit(self, start, at, end, size)
            if unit is not None:
                yield unit
            start = end


def _unit(file: DebugFile, start: int, at: int, end: int, offset_size: int) -> "Unit | None":
    """Read a unit's header; None for type units and unknown versions::

    version 2 to 4:  length, version, abbreviations, address size
    version 5:       length, version, kind, address size, abbreviations, id of the split file where the kind has one
    """
    data, order, word = file.sections.info, file.sections.file.byte_order, "Q" if offset_size == 8 else "I"
    (version,) = struct.unpack_from(order + "H", data, at)
    kind, dwo_id = c.UT_COMPILE, 0
    if 2 <= version <= 4:
        abbreviations, address_size = struct.unpack_from(f"{order}{word}B", data, at + 2)
        at += 3 + offset_size
    elif version == 5:
        kind, address_size, abbreviations = struct.unpack_from(f"{order}BB{word}", data, at + 2)
        at += 4 + offset_size
        if kind in (c.UT_SKELETON, c.UT_SPLIT_COMPILE):
            (dwo_id,) = struct.unpack_from(order + "Q", data, at) if at + 8 <= end else (0,)
            at += 8
    else:
        return None
    if kind in (c.UT_TYPE, c.UT_SPLIT_TYPE) or address_size not in (4, 8) or at >= end:
        return None
    return Unit(file, start, at, end, UnitEncoding(order, address_size, offset_size, version), abbreviations, dwo_id)


class Unit(Struct, dict=True, eq=False):
    """One unit. A split unit takes addresses and ranges from its skeleton, which is in another file."""

    file: DebugFile
    start: int
    first: int
    end: int
    encoding: UnitEncoding
    _abbreviations: int
    _dwo_id: int
    skeleton: "Unit | None" = None

    @property
    def abbreviation_table(self) -> AbbreviationTable:
        """The abbreviation table of the unit, perhaps not yet read."""
        return self.file.tables.abbreviations(self._abbreviations, self.encoding)

    @cached_property
    def abbreviations(self) -> dict[int, Abbreviation]:
        """All abbreviations by code."""
        return self.abbreviation_table.all()

    @cached_property
    def root(self) -> Attributes:
        """Attributes of the unit's own entry; reads only the abbreviations that it needs."""
        try:
            code, at = uleb128(self.file.sections.info, self.first)
            found = self.abbreviation_table.find(code)
            return self.attributes(found, at)[1] if found is not None else {}
        except (IndexError, ValueError):
            raise ObjectError(f"{self.file.name}: debug info is cut off") from None

    @property
    def dwo_id(self) -> int:
        """The id that a skeleton and its split unit share, 0 for other units."""
        return self._dwo_id or self.root.get(c.AT_GNU_DWO_ID, (0, 0))[1] & 0xFFFFFFFFFFFFFFFF

    @property
    def dwo_name(self) -> str:
        """Path of the ``.dwo`` file of a skeleton; "" for other units."""
        return self.text(self.root, c.AT_DWO_NAME) or self.text(self.root, c.AT_GNU_DWO_NAME)

    @property
    def comp_dir(self) -> str:
        """The directory that the compiler ran in."""
        return self.text(self.root, c.AT_COMP_DIR)

    def entry(self, offset: int) -> tuple[Abbreviation | None, Attributes]:
        """Read the entry at an offset of ``.debug_info``; (None, {}) at the end of a list of siblings."""
        data = self.file.sections.info
        try:
            code, at = uleb128(data, offset)
            if not code:
                return None, {}
            return self.attributes(self.abbreviation(code), at)
        except (IndexError, ValueError):
            raise ObjectError(f"{self.file.name}: debug info is cut off") from None

    def abbreviation(self, code: int) -> Abbreviation:
        """Return the abbreviation of a code. Raises ObjectError when the table lacks it."""
        found = self.abbreviations.get(code)
        if found is None:
            raise ObjectError(f"{self.file.name}: an entry of debug info has the undefined abbreviation {code}")
        return found

    def attributes(self, abbreviation: Abbreviation, at: int) -> tuple[Abbreviation, Attributes]:
        """Decode all attributes of the entry whose bytes begin at ``at``."""
        data, value, found = self.file.sections.info, self.encoding.value, {}
        order = ENDIAN[self.encoding.byte_order]
        for attribute, form, constant, size in abbreviation.attributes:
            if size:
                number, at = int.from_bytes(data[at : at + size], order), at + size
            else:
                number, at = value(data, at, form, constant)
            found[attribute] = (form, number)
        if at > len(data):
            raise ObjectError("debug info: a reference points outside its section")
        return abbreviation, found

    def text(self, entry: Attributes, attribute: int) -> str:
        """Return a string attribute, "" when it is absent."""
        form, value = entry.get(attribute, (0, 0))
        sections = self.file.sections
        if form == c.FORM_STRP:
            return string_at(sections.strings, value)
        if form == c.FORM_STRING:
            return string_at(sections.info, value)
        if form == c.FORM_LINE_STRP:
            return string_at(sections.line_str, value)
        if form in c.SUPPLEMENTARY_STRINGS:
            return string_at(self.file.supplementary.sections.strings, value) if self.file.supplementary else ""
        if form in c.INDEXED_STRINGS:
            size = self.encoding.offset_size
            at = self._base(c.AT_STR_OFFSETS_BASE, 8 if size == 4 else 16) + value * size
            return string_at(sections.strings, self.encoding.integer(sections.str_offsets, at, size))
        return ""

    def _base(self, attribute: int, header: int) -> int:
        """Return the start of the table that an index refers to.

        It is the stated base or, in split files of DWARF 5, the end of the header.
        """
        split = header if self.file.sections.is_split and self.encoding.version >= 5 else 0
        return self.root[attribute][1] if attribute in self.root and not self.file.sections.is_split else split

    def address(self, form: int, value: int) -> int:
        """Return an address, looked up in the linked file's ``.debug_addr`` where the form is an index."""
        if form not in c.INDEXED_ADDRESSES:
            return value
        home = self.skeleton or self
        base = home.root.get(c.AT_ADDR_BASE) or home.root.get(c.AT_GNU_ADDR_BASE) or (0, 0)
        size = self.encoding.address_size
        return self.encoding.integer(home.file.sections.addr, base[1] + value * size, size)

    def ranges(self, entry: Attributes) -> Ranges:
        """Return [(first address, one past the last)] of an entry with code, [] for other entries."""
        low = entry.get(c.AT_LOW_PC)
        if c.AT_RANGES in entry:
            return list(self._range_list_of(*entry[c.AT_RANGES], entry is self.root))
        high = entry.get(c.AT_HIGH_PC)
        if low is None or high is None:
            return []
        start = self.address(*low)
        is_address = high[0] == c.FORM_ADDR or high[0] in c.INDEXED_ADDRESSES
        end = self.address(*high) if is_address else start + high[1]
        return [(start, end)] if start < end else []

    def _range_list_of(self, form: int, value: int, of_root: bool) -> Iterator[tuple[int, int]]:
        home = self.skeleton or self
        low = home.root.get(c.AT_LOW_PC)
        base = home.address(*low) if low else 0
        file = home.file if self.encoding.version < 5 else self.file
        budget = file.tables.unit_range_budget if of_root else file.tables.range_budget
        lists = RangeLists(self.file.name, self.encoding, base, budget, partial(self.address, c.FORM_ADDRX))
        if self.encoding.version < 5:
            shift = 0 if of_root else home.root.get(c.AT_GNU_RANGES_BASE, (0, 0))[1]
            return lists.debug_ranges(file.sections.ranges, value + shift)
        data = file.sections.rnglists
        if form == c.FORM_RNGLISTX:
            size = self.encoding.offset_size
            start = self._base(c.AT_RNGLISTS_BASE, 12 if size == 4 else 20)
            value = start + self.encoding.integer(data, start + value * size, size)
        return lists.rnglists(data, value)
