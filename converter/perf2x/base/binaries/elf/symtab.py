"""Reads ELF symbol tables and relocations as columns, and selects the symbols that perf uses.

Each table is one numpy view of the section: a loop with pyelftools takes 16 µs per symbol. Source of truth:
tools/perf/util/symbol-elf.c dso__load_sym_internal and elf_sym__*.
"""

from collections.abc import Mapping

import numpy as np

from perf2x.base.binaries.elf.elf_file import SHF_ALLOC, ElfObject, ElfSection
from perf2x.base.binaries.elf.elf_headers import string_at
from perf2x.base.columnar import (
    I64,
    U8,
    U32,
    U64,
    AnyArray,
    Bools,
    ColumnTable,
    as_int64,
    as_uint64,
    falses,
    flatnonzero,
)
from perf2x.errors import ObjectError

STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_GNU_IFUNC = 0, 1, 2, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
_STV_INTERNAL, _STV_HIDDEN = 1, 2
SHN_LORESERVE, SHN_XINDEX = 0xFF00, 0xFFFF

_FIELDS_64 = [("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"), ("size", "u8")]
_FIELDS_32 = [("name", "u4"), ("value", "u4"), ("size", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2")]


class SymbolRows(ColumnTable):
    """Symbols of one table, in its order."""

    start: U64
    """svma"""
    size: U64
    type: U8
    """STT_*"""
    binding: U8
    """STB_*"""
    # offset of the name in ``strings``
    name_offset: U32
    strings: bytes

    def name(self, row: int) -> str:
        """Return a symbol's linkage name; undecodable bytes become surrogate escapes."""
        return string_at(self.strings, int(self.name_offset[row]))


def raw_symbols(elf: ElfObject, section: ElfSection) -> tuple[AnyArray, bytes]:
    """Return all rows of a symbol table, as a structured array in native byte order, and its string table."""
    fields = _FIELDS_64 if elf.is_64 else _FIELDS_32
    dtype = np.dtype([(name, elf.byte_order + code) for name, code in fields])
    if section.entry_size not in (0, dtype.itemsize):
        raise ObjectError(f"{elf.name}, {section.name}: unsupported entry size of {section.entry_size} bytes")
    data = elf.data(section)
    rows = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
    if not 0 < section.link < len(elf.sections):
        raise ObjectError(f"{elf.name}, {section.name}: its string table, section {section.link}, is missing")
    return rows.astype(np.dtype(fields), copy=False), elf.data(elf.sections[section.link])


class Relocations(ColumnTable):
    """The rows of a relocation section, in its order."""

    offset: U64
    """The bytes to change begin here: an svma or, in relocatable files, an offset in the section."""
    symbol: I64
    """Row in the symbol table that the section links to."""
    type: U64
    """R_*"""
    addend: U64 | None
    """In two's complement, as wide as the file's words; None if addends are stored at ``offset`` (SHT_REL)."""


def relocations(elf: ElfObject, section: ElfSection) -> Relocations:
    """Return the rows of a relocation section, ignoring a partial row at its end."""
    dtype, word_size = ("u8", 8) if elf.is_64 else ("u4", 4)
    field_count = 3 if section.type == "SHT_RELA" else 2
    data = elf.data(section)
    words = np.frombuffer(data, elf.byte_order + dtype, len(data) // (field_count * word_size) * field_count)
    offset, info, *addend = as_uint64(words.reshape(-1, field_count).T)
    # r_info is the symbol and, in the lower bits, the type
    type_bits = np.uint64(32 if elf.is_64 else 8)
    relocation_type = info & ((np.uint64(1) << type_bits) - np.uint64(1))
    return Relocations(offset, (info >> type_bits).view(np.int64), relocation_type, addend[0] if addend else None)


def function_symbols(
    elf: ElfObject, table: str, section_addresses: Mapping[int, int] | None = None
) -> SymbolRows | None:
    """Return the symbols of ``table`` (``.symtab`` or ``.dynsym``) that perf uses as names; None if it is missing.

    For relocatable files, ``section_addresses`` is {section number: address}; symbols of other sections are left out.
    """
    section = elf.section(table)
    if section is None:
        return None
    rows, strings = raw_symbols(elf, section)
    indexes = flatnonzero(_is_nameable(elf, rows))
    if section_addresses is not None:
        indexes = indexes[np.isin(rows["section"][indexes], list(section_addresses))]
    if elf.machine in _MAPPING_LETTERS:
        indexes = indexes[~_is_mapping_symbol(elf, rows["name"][indexes], strings)]
    start, info = rows["value"][indexes].astype(np.uint64, copy=False), rows["info"][indexes]
    if section_addresses is not None:
        start = start + as_uint64([section_addresses[int(index)] for index in rows["section"][indexes]])
    # st_info is the binding and, in the lower four bits, the type
    symbol_type, binding = info & np.uint8(0xF), info >> np.uint8(4)
    if elf.machine == "EM_ARM":  # bit 0 marks Thumb code and is not part of the address
        start = np.where(symbol_type == STT_FUNC, start & np.uint64(2**64 - 2), start)
    size, name = rows["size"][indexes].astype(np.uint64, copy=False), rows["name"][indexes]
    return SymbolRows(start, size, symbol_type, binding, name, strings)


# A symbol's type, its section and its visibility each have a bit mask. The symbol is used if the masks have a bit in
# common.
_CODE_OR_DATA, _LABEL, _FUNCTION = 1, 2, 4


def _is_nameable(elf: ElfObject, rows: AnyArray) -> Bools:
    """Return which symbols perf uses as names (elf_sym__filter, elf_sym__is_label), shape (n,).

    Labels (STT_NOTYPE) must not be hidden, and their section must have "text" or "data" in its name.
    """
    by_section = np.zeros(1 << 16, np.uint8)
    for number, section in enumerate(elf.sections[1:SHN_LORESERVE], 1):
        if section.flags & SHF_ALLOC:
            allows_labels = "text" in section.name or "data" in section.name
            by_section[number] = _CODE_OR_DATA | _LABEL if allows_labels else _CODE_OR_DATA
    # SHN_XINDEX: the section number is stored elsewhere; only functions are sure to be in a loaded section
    by_section[SHN_XINDEX] = _FUNCTION
    common_bits = _BY_INFO[rows["info"]] & by_section[rows["section"]] & _BY_OTHER[rows["other"]]
    is_nameable: Bools = (common_bits != 0) & (rows["name"] != 0)
    return is_nameable


_BITS_OF_TYPE = {
    STT_FUNC: _CODE_OR_DATA | _FUNCTION,
    STT_GNU_IFUNC: _CODE_OR_DATA,
    STT_OBJECT: _CODE_OR_DATA,
    STT_NOTYPE: _LABEL,
}
# (256,) bits for each st_info; its low four bits are the type.
_BY_INFO = np.array([_BITS_OF_TYPE.get(info & 0xF, 0) for info in range(256)], np.uint8)
_NOT_HIDDEN = [0 if other & 3 in (_STV_INTERNAL, _STV_HIDDEN) else _LABEL for other in range(256)]
# (256,) bits for each st_other; its low two bits are the visibility.
_BY_OTHER = np.array(_NOT_HIDDEN, np.uint8) | np.uint8(_CODE_OR_DATA | _FUNCTION)
# Letters that may follow ``$`` in the name of a mapping symbol.
_MAPPING_LETTERS = {"EM_ARM": b"adtx", "EM_AARCH64": b"adtx", "EM_RISCV": b"dx"}


def _is_mapping_symbol(elf: ElfObject, name_offset: AnyArray, strings: bytes) -> Bools:
    """Return which symbols only mark where code (``$x``) or data (``$d``, ``$d.1``) begins, shape (n,)."""
    if not len(name_offset):
        return falses(0)
    characters = np.frombuffer(strings + b"\0\0\0", np.uint8)  # a name may begin at the end
    name_start: I64 = np.minimum(as_int64(name_offset), len(strings))
    has_letter = np.isin(characters[name_start + 1], np.frombuffer(_MAPPING_LETTERS[elf.machine], np.uint8))
    # on RISC-V, anything may follow the letter
    has_end = np.isin(characters[name_start + 2], (0, ord("."))) | (elf.machine == "EM_RISCV")
    is_mapping: Bools = (characters[name_start] == ord("$")) & has_letter & has_end
    return is_mapping
