"""Reads ELF symbol tables as columns, and selects the symbols that perf uses.

A loop with pyelftools takes 16 µs per symbol; here a table is one numpy view of the section. Source of truth:
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
    """Symbols of one table, in table order; ``start`` is an svma. Names are decoded one by one, on demand."""

    start: U64
    size: U64
    type: U8
    """STT_*"""
    binding: U8
    """STB_*"""
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
    """A relocation section's rows, in its order."""

    offset: U64
    symbol: I64
    """Row in the symbol table that the section links to."""
    kind: U64
    """R_*"""
    addend: U64 | None
    """In two's complement, as wide as the file's words; None if addends are stored at ``offset`` (SHT_REL)."""


def relocations(elf: ElfObject, section: ElfSection) -> Relocations:
    """Return the rows of a relocation section, ignoring a partial row at its end."""
    word, width = ("u8", 8) if elf.is_64 else ("u4", 4)
    count = 3 if section.type == "SHT_RELA" else 2
    data = elf.data(section)
    words = np.frombuffer(data, elf.byte_order + word, len(data) // (count * width) * count)
    offset, info, *addend = as_uint64(words.reshape(-1, count).T)
    bits = np.uint64(32 if elf.is_64 else 8)
    kind = info & ((np.uint64(1) << bits) - np.uint64(1))
    return Relocations(offset, (info >> bits).view(np.int64), kind, addend[0] if addend else None)


def function_symbols(elf: ElfObject, table: str, places: Mapping[int, int] | None = None) -> SymbolRows | None:
    """Return the rows of ``table`` (``.symtab`` or ``.dynsym``) that perf uses as names; None without the table.

    ``places`` maps section numbers of a relocatable file to addresses; symbols of other sections are left out.
    """
    section = elf.section(table)
    if section is None:
        return None
    rows, strings = raw_symbols(elf, section)
    chosen = flatnonzero(_is_nameable(elf, rows))
    if places is not None:
        chosen = chosen[np.isin(rows["section"][chosen], np.array(list(places), np.uint16))]
    if elf.machine in _MAPPING_LETTERS:
        chosen = chosen[~_mapping_symbols(elf, rows["name"][chosen], strings)]
    start, info = rows["value"][chosen].astype(np.uint64, copy=False), rows["info"][chosen]
    if places is not None:
        start = start + as_uint64([places[int(index)] for index in rows["section"][chosen]])
    kind = info & np.uint8(0xF)
    if elf.machine == "EM_ARM":  # bit 0 marks Thumb code and is not part of the address
        start = np.where(kind == STT_FUNC, start & np.uint64(2**64 - 2), start)
    size, name = rows["size"][chosen].astype(np.uint64, copy=False), rows["name"][chosen]
    return SymbolRows(start, size, kind, info >> np.uint8(4), name, strings)


# Bits for the kind of a symbol, and for the kinds that its section and its visibility allow. A symbol is used if all
# three have a bit in common.
_CODE_OR_DATA, _LABEL, _FUNCTION = 1, 2, 4


def _is_nameable(elf: ElfObject, rows: AnyArray) -> Bools:
    """Return (n,) which symbols perf uses as names (elf_sym__filter, elf_sym__is_label).

    These are the symbols in loaded sections; a label is used only if its section is one of text or data.
    """
    by_section = np.zeros(1 << 16, np.uint8)
    for number, section in enumerate(elf.sections[1:SHN_LORESERVE], 1):
        if section.flags & SHF_ALLOC:
            allows_labels = "text" in section.name or "data" in section.name
            by_section[number] = _CODE_OR_DATA | _LABEL if allows_labels else _CODE_OR_DATA
    # SHN_XINDEX: the section number is stored elsewhere, and functions are always loaded
    by_section[SHN_XINDEX] = _FUNCTION
    common = _BY_INFO[rows["info"]] & by_section[rows["section"]] & _BY_OTHER[rows["other"]]
    nameable: Bools = (common != 0) & (rows["name"] != 0)
    return nameable


_KINDS = {
    STT_FUNC: _CODE_OR_DATA | _FUNCTION,
    STT_GNU_IFUNC: _CODE_OR_DATA,
    STT_OBJECT: _CODE_OR_DATA,
    STT_NOTYPE: _LABEL,
}
# (256,) the kind of symbol for each st_info.
_BY_INFO = np.array([_KINDS.get(info & 0xF, 0) for info in range(256)], np.uint8)
_NOT_HIDDEN = [0 if other & 3 in (_STV_INTERNAL, _STV_HIDDEN) else _LABEL for other in range(256)]
# (256,) the kinds of symbol that each st_other (visibility) allows: all, but no hidden labels.
_BY_OTHER = np.array(_NOT_HIDDEN, np.uint8) | np.uint8(_CODE_OR_DATA | _FUNCTION)
_MAPPING_LETTERS = {"EM_ARM": b"adtx", "EM_AARCH64": b"adtx", "EM_RISCV": b"dx"}


def _mapping_symbols(elf: ElfObject, name_offset: AnyArray, strings: bytes) -> Bools:
    """Return (n,) which symbols are mapping symbols (ARM, AArch64, RISC-V), as ``$x`` for code, ``$d.1`` for data."""
    if not len(name_offset):
        return falses(0)
    text = np.frombuffer(strings + b"\0\0\0", np.uint8)
    at: I64 = np.minimum(as_int64(name_offset), len(strings))
    second = np.isin(text[at + 1], np.frombuffer(_MAPPING_LETTERS[elf.machine], np.uint8))
    ends = np.isin(text[at + 2], (0, ord("."))) | (elf.machine == "EM_RISCV")
    found: Bools = (text[at] == ord("$")) & second & ends
    return found
