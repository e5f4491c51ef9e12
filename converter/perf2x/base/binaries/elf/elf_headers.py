"""Reads ELF headers as plain tuples; each table is read in one piece and checked against the file's size.

pyelftools would add 40 ms of import time to every run, and take many times as long for each object. Source of truth:
the System V ABI, chapters 4 and 5; include/uapi/linux/elf.h.
"""

import os
import struct
from typing import IO, NamedTuple

from perf2x.errors import ObjectError

_IDENT_SIZE = 16
_CLASS_32, _CLASS_64 = 1, 2
_LITTLE, _BIG = 1, 2
# Value of ``e_shstrndx`` if the section number does not fit into it; the number is then in ``sh_link`` of section 0.
_SHN_XINDEX = 0xFFFF
# Value of ``e_phnum`` if the number of segments does not fit into it; the number is then in ``sh_info`` of section 0.
_PN_XNUM = 0xFFFF

# Fields after e_ident as ``struct`` codes: type, machine, version, entry, phoff, shoff, flags, ehsize, phentsize,
# phnum, shentsize, shnum, shstrndx.
_HEADER_FIELDS = {_CLASS_64: "HHIQQQIHHHHHH", _CLASS_32: "HHIIIIIHHHHHH"}
# Fields of a section header: name, type, flags, addr, offset, size, link, info, addralign, entsize.
_SECTION_FIELDS = {_CLASS_64: "IIQQQQIIQQ", _CLASS_32: "IIIIIIIIII"}
# Fields of a 64-bit program header: type, flags, offset, vaddr, paddr, filesz, memsz, align. In 32-bit headers, flags
# are second to last.
_SEGMENT_FIELDS = {_CLASS_64: "IIQQQQQQ", _CLASS_32: "IIIIIIII"}

_FILE_TYPES = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN", 4: "ET_CORE"}
_MACHINES = {
    2: "EM_SPARC", 3: "EM_386", 20: "EM_PPC", 21: "EM_PPC64", 22: "EM_S390", 40: "EM_ARM", 43: "EM_SPARCV9",
    62: "EM_X86_64", 183: "EM_AARCH64", 243: "EM_RISCV", 258: "EM_LOONGARCH",
}  # fmt: skip
_SECTION_TYPES = {
    0: "SHT_NULL", 1: "SHT_PROGBITS", 2: "SHT_SYMTAB", 3: "SHT_STRTAB", 4: "SHT_RELA", 5: "SHT_HASH", 6: "SHT_DYNAMIC",
    7: "SHT_NOTE", 8: "SHT_NOBITS", 9: "SHT_REL", 11: "SHT_DYNSYM", 14: "SHT_INIT_ARRAY", 15: "SHT_FINI_ARRAY",
}  # fmt: skip
_SEGMENT_TYPES = {
    0: "PT_NULL", 1: "PT_LOAD", 2: "PT_DYNAMIC", 3: "PT_INTERP", 4: "PT_NOTE", 6: "PT_PHDR", 7: "PT_TLS",
    0x6474E550: "PT_GNU_EH_FRAME",
}  # fmt: skip
SHF_ALLOC = 0x2
SHF_COMPRESSED = 0x800
PF_X = 0x1
# Maximum bytes of a name or path.
MAX_STRING_SIZE = 1 << 16
# Appended to a name that was cut off.
CUT_MARK = " [cut after 64 KiB]"


class ElfSection(NamedTuple):
    """One section header; the fields are those of Elf64_Shdr, in its order."""

    name: str
    type: str
    """``SHT_PROGBITS`` …, or the number as text."""
    flags: int
    address: int
    """svma; 0 if the section is not loaded."""
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class ElfSegment(NamedTuple):
    """One program header; the fields are those of Elf64_Phdr, in its order, without the physical address."""

    type: str
    """``PT_LOAD`` …, or the number as text."""
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


class ElfHeaders:
    """The ELF header, sections and segments of a file."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        """``name`` is the file's name in messages.

        Raises ObjectError for a file that is not ELF, and for tables that lie outside it.
        """
        self._stream, self._name = stream, name
        self.size = stream.seek(0, os.SEEK_END)
        ident = self._bytes(0, _IDENT_SIZE)
        if ident[:4] != b"\x7fELF":
            raise self._error("it does not begin with the magic number")
        self._class = ident[4]
        if self._class not in _HEADER_FIELDS or ident[5] not in (_LITTLE, _BIG):
            raise self._error(f"unknown word size {ident[4]} or byte order {ident[5]}")
        self.is_64 = self._class == _CLASS_64
        self.byte_order = "<" if ident[5] == _LITTLE else ">"
        layout = self.byte_order + _HEADER_FIELDS[self._class]
        fields = struct.unpack(layout, self._bytes(_IDENT_SIZE, struct.calcsize(layout)))
        self.type = _FILE_TYPES.get(fields[0], str(fields[0]))
        self.machine = _MACHINES.get(fields[1], str(fields[1]))
        self.entry = fields[3]
        phoff, shoff, (phentsize, phnum, shentsize, shnum, shstrndx) = (*fields[4:6], fields[8:])
        # Fields 5 to 7 of section 0 (sh_size, sh_link, sh_info) are the numbers that do not fit into the header.
        zeroth = self._rows("section headers", _SECTION_FIELDS, shoff, min(shoff, 1), shentsize)
        if zeroth:
            shnum, shstrndx = shnum or zeroth[0][5], zeroth[0][6] if shstrndx == _SHN_XINDEX else shstrndx
            phnum = zeroth[0][7] if phnum == _PN_XNUM else phnum
            rows = self._rows("section headers", _SECTION_FIELDS, shoff, shnum, shentsize)
            self.sections = self._named_sections(rows, shstrndx)
        else:
            self.sections = ()
        segment_count = phnum if phoff else 0
        rows = self._rows("program headers", _SEGMENT_FIELDS, phoff, segment_count, phentsize)
        self.segments = tuple(map(self._segment, rows))

    def _error(self, why: str) -> ObjectError:
        return ObjectError(f"{self._name}: not a readable ELF file: {why}")

    def _bytes(self, offset: int, size: int) -> bytes:
        self._stream.seek(offset)
        data = self._stream.read(size)
        if len(data) != size:
            raise self._error("the header is cut off")
        return data

    def _rows(self, what: str, layouts: dict[int, str], offset: int, count: int, size: int) -> list[tuple[int, ...]]:
        """Read ``count`` headers of ``size`` bytes each; fields after those of ``layouts`` are ignored."""
        if not count:
            return []
        layout = struct.Struct(self.byte_order + layouts[self._class])
        if size < layout.size:
            raise ObjectError(f"{self._name}: {what} of {size} bytes each, {layout.size} expected")
        if offset + count * size > self.size:
            raise ObjectError(f"{self._name}: {count} {what} at {offset:#x} lie outside its {self.size:#x} bytes")
        table = self._bytes(offset, count * size)
        return [layout.unpack_from(table, start) for start in range(0, count * size, size)]

    def _named_sections(self, rows: list[tuple[int, ...]], shstrndx: int) -> tuple[ElfSection, ...]:
        names = b""
        if 0 < shstrndx < len(rows):
            offset, size = rows[shstrndx][4:6]
            if offset + size > self.size:
                raise ObjectError(f"{self._name}: the names of sections lie outside its {self.size:#x} bytes")
            names = self._bytes(offset, size)
        types = _SECTION_TYPES
        return tuple([ElfSection(string_at(names, row[0]), types.get(row[1]) or str(row[1]), *row[2:]) for row in rows])

    def _segment(self, row: tuple[int, ...]) -> ElfSegment:
        if not self.is_64:  # move the flags to the second place
            row = (row[0], row[6], *row[1:6], row[7])
        kind, flags, offset, address, _, file_size, memory_size, alignment = row
        name = _SEGMENT_TYPES.get(kind, str(kind))
        return ElfSegment(name, flags, offset, address, file_size, memory_size, alignment)


def string_at(strings: bytes, offset: int) -> str:
    """Return the NUL-terminated string at ``offset`` of a string table; "" outside the table.

    A string longer than MAX_STRING_SIZE bytes is cut off, and CUT_MARK is appended. Any number of symbols may share one
    string, so without this limit a small file could fill the memory.
    """
    limit = offset + MAX_STRING_SIZE
    end = strings.find(b"\0", offset, limit + 1)
    string = strings[offset : end if end >= 0 else limit].decode(errors="surrogateescape")
    return string + CUT_MARK if end < 0 and limit < len(strings) else string
