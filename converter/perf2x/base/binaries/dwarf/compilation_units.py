"""Compilation units: headers, root entries, and the strings, addresses and ranges that attributes refer to.

- With ``-gsplit-dwarf``, the linked program has only a *skeleton* unit, with line table, addresses (``.debug_addr``)
  and a name. The *split unit* of the same id, in a ``.dwo`` or ``.dwp`` file, has the entries.
- ``dwz`` moves strings and entries that several files have in common to a *supplementary* file.

Source of truth: DWARF 5, sections 7.5.1, 7.26 and 7.27; for split files of DWARF 4, GNU's extension
(https://gcc.gnu.org/wiki/DebugFission).
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
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
from perf2x.base.columnar.hashing import salted_key
from perf2x.errors import ObjectError

# (form, value) by attribute.
Attributes = dict[int, tuple[int, int]]


class SharedTables(Struct, dict=True):
    """Abbreviation tables that the units of a file share, and budgets for abbreviation tables and range lists."""

    _sections: DebugSections
    _tables: dict[tuple[int, UnitEncoding], AbbreviationTable] = {}
    # Abbreviations of all tables by their encoded bytes.
    _by_bytes: dict[UnitEncoding, dict[bytes, Abbreviation]] = {}

    def abbreviations(self, offset: int, encoding: UnitEncoding) -> AbbreviationTable:
        """Return the abbreviation table at ``offset`` of ``.debug_abbrev``, the same object each time."""
        if offset >= len(self._sections.abbrev):
            raise ObjectError("debug info: its abbreviations are cut off")
        key = (offset, encoding)
        if key not in self._tables:
            by_bytes = self._by_bytes.setdefault(encoding, {})
            data, budget = self._sections.abbrev, self._abbreviation_budget
            self._tables[key] = AbbreviationTable(data, offset, encoding, budget, by_bytes)
        return self._tables[key]

    @cached_property
    def _abbreviation_budget(self) -> ReadBudget:
        return ReadBudget("abbreviations", len(self._sections.abbrev), times=4)

    @cached_property
    def unit_range_budget(self) -> ReadBudget:
        """The budget for ranges of whole units, each of which is read once."""
        return ReadBudget("ranges of units", len(self._sections.ranges) + len(self._sections.rnglists), times=2)

    @cached_property
    def range_budget(self) -> ReadBudget:
        """The budget for ranges of functions; inlined functions may share the list of the enclosing function."""
        return ReadBudget("ranges", len(self._sections.ranges) + len(self._sections.rnglists), times=16)


class DebugFile:
    """The units of one ``.debug_info`` section; their headers are read on first use."""

    def __init__(
        self, sections: DebugSections, supplementary: "DebugFile | None" = None, tables: SharedTables | None = None
    ) -> None:
        """``supplementary`` is the dwz file. ``tables`` may be those of a `DebugFile` with the same sections."""
        self.sections, self.supplementary, self.tables = sections, supplementary, tables or SharedTables(sections)
        self._by_id: dict[bytes, Unit] = {}  # by `salted_key` of the dwo id
        self._units_to_index: Iterator[Unit] | None = None  # units that are not in ``_by_id`` yet

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return self.sections.file.name

    @cached_property
    def units(self) -> "list[Unit]":
        """Units in file order, without those that are skipped (see `_read_unit`)."""
        return list(self._read_units())

    @cached_property
    def _starts(self) -> list[int]:
        return [unit.start for unit in self.units]

    def unit_at(self, offset: int) -> "Unit":
        """Return the unit that contains the entry at ``offset`` of ``.debug_info``. Raises ObjectError if there is
        none.
        """
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset >= self.units[index].end:
            raise ObjectError(f"{self.name}: debug info refers to an entry that does not exist")
        return self.units[index]

    def unit_of_id(self, dwo_id: int) -> "Unit | None":
        """Return the first unit with this id; None if there is none.

        In DWARF 4, the id is in the root entry, so root entries are read up to that unit. Raises ObjectError if one of
        them, or the header of any unit, cannot be read.
        """
        key = salted_key(dwo_id)
        self._units_to_index = self._units_to_index or iter(self.units)
        while key not in self._by_id:
            unit = next(self._units_to_index, None)
            if unit is None:
                return None
            self._by_id.setdefault(salted_key(unit.dwo_id), unit)
        return self._by_id[key]

    @cached_property
    def entry_budget(self) -> ReadBudget:
        """The budget for entries of units; any number of skeletons may refer to the same unit."""
        return ReadBudget("units", len(self.sections.info), times=16)

    @cached_property
    def nesting_budget(self) -> ReadBudget:
        """The budget for walks that look for the scopes of functions; one unit may need many of them."""
        return ReadBudget("units", len(self.sections.info), times=4)

    def _read_units(self) -> "Iterator[Unit]":
        data, byte_order, start = self.sections.info, self.sections.file.byte_order, 0
        while start + 12 <= len(data):  # room for a length of either format
            length, version_offset, offset_size = initial_length(byte_order, data, start)
            end = version_offset + length
            # the shortest header has seven bytes after the length: version, debug_abbrev_offset, address_size
            if length < 7 or end > len(data):
                raise ObjectError(f"{self.name}: a unit of debug info extends past its section")
            unit = _read_unit(self, start, version_offset, end, offset_size)
            if unit is not None:
                yield unit
            start = end


def _read_unit(file: DebugFile, start: int, offset: int, end: int, offset_size: int) -> "Unit | None":
    """Read a unit's header; None for type units, unknown versions or address sizes, and units without entries.

    ``start`` is the offset of the header, ``offset`` that of the version in it::

        version 2 to 4:  unit_length, version, debug_abbrev_offset, address_size
        version 5:       unit_length, version, unit_type, address_size, debug_abbrev_offset; skeleton, split: dwo_id
    """
    data, byte_order, offset_code = file.sections.info, file.sections.file.byte_order, "Q" if offset_size == 8 else "I"
    (version,) = struct.unpack_from(byte_order + "H", data, offset)
    unit_type, dwo_id = c.UT_COMPILE, 0
    if 2 <= version <= 4:
        abbreviations, address_size = struct.unpack_from(f"{byte_order}{offset_code}B", data, offset + 2)
        offset += 3 + offset_size
    elif version == 5:
        unit_type, address_size, abbreviations = struct.unpack_from(f"{byte_order}BB{offset_code}", data, offset + 2)
        offset += 4 + offset_size
        if unit_type in (c.UT_SKELETON, c.UT_SPLIT_COMPILE):
            (dwo_id,) = struct.unpack_from(byte_order + "Q", data, offset) if offset + 8 <= end else (0,)
            offset += 8
    else:
        return None
    if unit_type in (c.UT_TYPE, c.UT_SPLIT_TYPE) or address_size not in (4, 8) or offset >= end:
        return None
    encoding = UnitEncoding(byte_order, address_size, offset_size, version)
    return Unit(file, start, offset, end, encoding, abbreviations, dwo_id)


class Unit(Struct, dict=True, eq=False):
    """One unit. A split unit takes addresses and ranges from its skeleton, which is in another file."""

    file: DebugFile
    # Offsets in .debug_info: of the header, of the root entry, and after the last entry.
    start: int
    root_offset: int
    end: int
    encoding: UnitEncoding
    # An offset in .debug_abbrev.
    _abbreviations_offset: int
    # The id in a header of DWARF 5; 0 if there is none.
    _dwo_id: int
    skeleton: "Unit | None" = None
    """Set when a split unit is found; None for all other units."""

    @property
    def abbreviation_table(self) -> AbbreviationTable:
        """The unit's abbreviation table, read only as far as codes were looked up."""
        return self.file.tables.abbreviations(self._abbreviations_offset, self.encoding)

    @cached_property
    def abbreviations(self) -> dict[int, Abbreviation]:
        """The whole abbreviation table, by code."""
        return self.abbreviation_table.all()

    @cached_property
    def root(self) -> Attributes:
        """Attributes of the root entry."""
        try:
            code, offset = uleb128(self.file.sections.info, self.root_offset)
            abbreviation = self.abbreviation_table.find(code)
            return self.attributes(abbreviation, offset)[1] if abbreviation is not None else {}
        except (IndexError, ValueError):
            raise ObjectError(f"{self.file.name}: debug info is cut off") from None

    @property
    def dwo_id(self) -> int:
        """The id of a skeleton and its split unit; 0 for other units."""
        return self._dwo_id or self.root.get(c.AT_GNU_DWO_ID, (0, 0))[1] & 0xFFFFFFFFFFFFFFFF

    @property
    def dwo_name(self) -> str:
        """Path of the ``.dwo`` file. All skeletons state it, and split units of some compilers; "" elsewhere."""
        return self.string(self.root, c.AT_DWO_NAME) or self.string(self.root, c.AT_GNU_DWO_NAME)

    @property
    def comp_dir(self) -> str:
        """The directory that the compiler ran in."""
        return self.string(self.root, c.AT_COMP_DIR)

    def entry(self, offset: int) -> tuple[Abbreviation | None, Attributes]:
        """Decode the entry at an offset of ``.debug_info``; (None, {}) at the end of a list of siblings."""
        data = self.file.sections.info
        try:
            code, body = uleb128(data, offset)
            if not code:
                return None, {}
            return self.attributes(self.abbreviation(code), body)
        except (IndexError, ValueError):
            raise ObjectError(f"{self.file.name}: debug info is cut off") from None

    def abbreviation(self, code: int) -> Abbreviation:
        """Return the abbreviation of a code. Raises ObjectError when the table lacks it."""
        abbreviation = self.abbreviations.get(code)
        if abbreviation is None:
            raise ObjectError(f"{self.file.name}: an entry of debug info has the undefined abbreviation {code}")
        return abbreviation

    def attributes(self, abbreviation: Abbreviation, body: int) -> tuple[Abbreviation, Attributes]:
        """Decode an entry, whose attributes begin at ``body``: (``abbreviation``, its attributes)."""
        data, value, decoded, offset = self.file.sections.info, self.encoding.value, {}, body
        byte_order = ENDIAN[self.encoding.byte_order]
        for attribute, form, constant, size in abbreviation.attributes:
            if size:
                number, offset = int.from_bytes(data[offset : offset + size], byte_order), offset + size
            else:
                number, offset = value(data, offset, form, constant)
            decoded[attribute] = (form, number)
        if offset > len(data):
            raise ObjectError("debug info: a reference points outside its section")
        return abbreviation, decoded

    def string(self, entry: Attributes, attribute: int) -> str:
        """Return a string attribute of an entry; "" if it is missing, or in a missing file."""
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
            table = self._indexed_table_offset(c.AT_STR_OFFSETS_BASE, 8 if size == 4 else 16)
            return string_at(sections.strings, self.encoding.integer(sections.str_offsets, table + value * size, size))
        return ""

    def _indexed_table_offset(self, base_attribute: int, header_size: int) -> int:
        """Return the offset, in its section, of the array that the unit's indexes refer to.

        A split file has one array, right after the section's header; sections of DWARF 4 have no header.
        """
        is_split = self.file.sections.is_split
        default = header_size if is_split and self.encoding.version >= 5 else 0
        return self.root[base_attribute][1] if base_attribute in self.root and not is_split else default

    def address(self, form: int, value: int) -> int:
        """Return the address that an attribute states; an index is looked up in ``.debug_addr``.

        The indexes of a split unit refer to the ``.debug_addr`` of its skeleton's file.
        """
        if form not in c.INDEXED_ADDRESSES:
            return value
        linked_unit = self.skeleton or self
        base = linked_unit.root.get(c.AT_ADDR_BASE) or linked_unit.root.get(c.AT_GNU_ADDR_BASE) or (0, 0)
        size = self.encoding.address_size
        return self.encoding.integer(linked_unit.file.sections.addr, base[1] + value * size, size)

    def ranges(self, entry: Attributes) -> Ranges:
        """Return the address ranges of an entry with code; [] for other entries."""
        low, high = entry.get(c.AT_LOW_PC), entry.get(c.AT_HIGH_PC)
        pairs: Iterable[tuple[int, int]] = ()
        if c.AT_RANGES in entry:
            pairs = self._range_list(*entry[c.AT_RANGES], entry is self.root)
        elif low is not None and high is not None:
            start = self.address(*low)
            # DW_AT_high_pc is an address or, since DWARF 4, a length.
            is_address = high[0] == c.FORM_ADDR or high[0] in c.INDEXED_ADDRESSES
            pairs = [(start, self.address(*high) if is_address else start + high[1])]
        return [(start, end) for start, end in pairs if start < end < 2**64]

    def _range_list(self, form: int, value: int, is_root: bool) -> Iterator[tuple[int, int]]:
        linked_unit = self.skeleton or self
        low = linked_unit.root.get(c.AT_LOW_PC)
        base_address = linked_unit.address(*low) if low else 0
        # split units have their range lists in the linked file up to DWARF 4, in the split file from DWARF 5 on
        file = linked_unit.file if self.encoding.version < 5 else self.file
        budget = file.tables.unit_range_budget if is_root else file.tables.range_budget
        lists = RangeLists(self.file.name, self.encoding, base_address, budget, partial(self.address, c.FORM_ADDRX))
        if self.encoding.version < 5:
            # With GNU's extension, offsets in a split unit count from the skeleton's DW_AT_GNU_ranges_base; those of
            # root entries count from the start of the section.
            ranges_base = 0 if is_root else linked_unit.root.get(c.AT_GNU_RANGES_BASE, (0, 0))[1]
            return lists.debug_ranges(file.sections.ranges, value + ranges_base)
        data = file.sections.rnglists
        if form == c.FORM_RNGLISTX:  # an index into an array of offsets, which count from the start of that array
            size = self.encoding.offset_size
            table = self._indexed_table_offset(c.AT_RNGLISTS_BASE, 12 if size == 4 else 20)
            value = table + self.encoding.integer(data, table + value * size, size)
        return lists.rnglists(data, value)
