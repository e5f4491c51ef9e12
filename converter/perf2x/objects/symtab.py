"""Symbol tables of ELF files as columns, filtered as perf filters them.

pyelftools' own loop costs 16 µs a symbol; here a table is one numpy view over the section.
Source of truth: tools/perf/util/symbol-elf.c dso__load_sym_internal and the elf_sym__* functions beside it.
"""

from collections.abc import Mapping

import numpy as np

from perf2x.classes import dataclass
from perf2x.model.arrays import I64, U8, U32, U64, AnyArray, Bools
from perf2x.model.errors import ObjectError
from perf2x.objects.elf import SHF_ALLOC, ElfObject, Section

STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_GNU_IFUNC = 0, 1, 2, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STV_INTERNAL, STV_HIDDEN = 1, 2
SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_XINDEX = 0, 0xFF00, 0xFFF1, 0xFFFF

_FIELDS_64 = [("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"), ("size", "u8")]
_FIELDS_32 = [("name", "u4"), ("value", "u4"), ("size", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2")]


@dataclass(frozen=True, slots=True)
class SymbolRows:
    """Symbols of one table, in the table's order; ``start`` is an svma. Names are read one by one, when needed."""

    start: U64
    size: U64
    type: U8
    """STT_*"""
    binding: U8
    """STB_*"""
    name_offset: U32
    strings: bytes

    def __len__(self) -> int:
        return len(self.start)

    def name(self, row: int) -> str:
        """The symbol's name as the linker knows it; undecodable bytes are surrogate escapes."""
        return string_at(self.strings, int(self.name_offset[row]))


def string_at(strings: bytes, offset: int) -> str:
    """The NUL-terminated text at ``offset`` of a string table, "" outside of it."""
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else len(strings)].decode(errors="surrogateescape")


def raw_symbols(elf: ElfObject, section: Section) -> tuple[AnyArray, bytes]:
    """Every row of a symbol table section, as a structured array in native byte order, and its string table."""
    fields = _FIELDS_64 if elf.is_64 else _FIELDS_32
    dtype = np.dtype([(name, elf.byte_order + code) for name, code in fields])
    if section.entry_size not in (0, dtype.itemsize):
        raise ObjectError(f"{elf.name}, {section.name}: entries of {section.entry_size} bytes")
    data = elf.data(section)
    rows = np.frombuffer(data, dtype, len(data) // dtype.itemsize)
    if not 0 < section.link < len(elf.sections):
        raise ObjectError(f"{elf.name}, {section.name}: its string table is section {section.link}")
    return rows.astype(np.dtype(fields)), elf.data(elf.sections[section.link])


def function_symbols(elf: ElfObject, table: str, places: Mapping[int, int] | None = None) -> SymbolRows | None:
    """The rows of ``table`` (``.symtab`` or ``.dynsym``) that perf would name an address by; None without the table.

    ``places`` gives addresses to the sections of a relocatable file, by number; symbols of other sections are left out.
    """
    section = elf.section(table)
    if section is None:
        return None
    rows, strings = raw_symbols(elf, section)
    rows = rows[_wanted(elf, rows)]
    start = rows["value"].astype(np.uint64)
    if places is not None:
        placed = np.isin(rows["section"], np.array(list(places), np.uint16))
        rows, start = rows[placed], start[placed]
        start = start + np.array([places[int(index)] for index in rows["section"]], np.uint64)
    kind = (rows["info"] & 0xF).astype(np.uint8)
    if elf.machine == "EM_ARM":  # bit 0 marks Thumb code, it is no part of the address
        start = np.where(kind == STT_FUNC, start & np.uint64(2**64 - 2), start)
    keep = ~_mapping_symbols(elf, rows["name"], strings)
    binding = (rows["info"] >> 4).astype(np.uint8)
    size, name = rows["size"].astype(np.uint64), rows["name"].astype(np.uint32)
    return SymbolRows(start[keep], size[keep], kind[keep], binding[keep], name[keep], strings)


def _wanted(elf: ElfObject, rows: AnyArray) -> Bools:
    """elf_sym__filter, elf_sym__is_label, and the section must be loaded; labels need a text or data section."""
    kind, index = rows["info"] & 0xF, rows["section"]
    visible = ~np.isin(rows["other"] & 3, (STV_INTERNAL, STV_HIDDEN))
    is_label = (kind == STT_NOTYPE) & visible
    is_code_or_data = np.isin(kind, (STT_FUNC, STT_GNU_IFUNC, STT_OBJECT))
    named = (rows["name"] != 0) & (index != SHN_UNDEF)
    regular = (index < SHN_LORESERVE) & (index < len(elf.sections))
    safe = np.where(regular, index, 0).astype(np.int64)
    loaded = np.array([bool(s.flags & SHF_ALLOC) for s in elf.sections], np.bool_)[safe]
    spoken = np.array(["text" in s.name or "data" in s.name for s in elf.sections], np.bool_)[safe]
    in_section = regular & loaded & (spoken | ~is_label)
    # more sections than 16 bits count: the real number is elsewhere, and functions are loaded anyway
    wanted: Bools = named & ((in_section & (is_code_or_data | is_label)) | ((index == SHN_XINDEX) & (kind == STT_FUNC)))
    return wanted


def _mapping_symbols(elf: ElfObject, name_offset: AnyArray, strings: bytes) -> Bools:
    """ARM, AArch64 and RISC-V: ``$x``, ``$d.1`` … say what the bytes are, not which function they belong to."""
    letters = {"EM_ARM": b"adtx", "EM_AARCH64": b"adtx", "EM_RISCV": b"dx"}.get(elf.machine)
    if letters is None or not len(name_offset):
        return np.zeros(len(name_offset), np.bool_)
    text = np.frombuffer(strings + b"\0\0\0", np.uint8)
    at: I64 = np.minimum(name_offset.astype(np.int64), len(strings))
    second = np.isin(text[at + 1], np.frombuffer(letters, np.uint8))
    ends = np.isin(text[at + 2], (0, ord("."))) | (elf.machine == "EM_RISCV")
    found: Bools = (text[at] == ord("$")) & second & ends
    return found
