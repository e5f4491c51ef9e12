"""ELF headers as plain tuples; each table is read at once and checked against the file's size.

pyelftools would add 40 ms of import time to every run and take ten times as long per object; tests compare the two.
"""

import os
import struct
from typing import IO, NamedTuple

from perf2x.base.abi import elf_numbers
from perf2x.errors import ObjectError

SHF_ALLOC = 0x2
SHF_COMPRESSED = 0x800
PF_X = 0x1
LONGEST_TEXT = 1 << 16
"""The longest name or path."""
CUT = " [cut after 64 KiB]"


class ElfSection(NamedTuple):
    """One row of the section header table, names as in Elf64_Shdr without the ``sh_``."""

    name: str
    type: str
    """``SHT_PROGBITS`` …, or the number as text if `elf_numbers` has no name for it."""
    flags: int
    address: int
    """svma; 0 when the section is not loaded."""
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class ElfSegment(NamedTuple):
    """One program header, names as in Elf64_Phdr without the ``p_``."""

    type: str
    """``PT_LOAD`` …, or the number as text."""
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


class ElfHeaders:
    """The headers of ``stream``. Raises ObjectError for a file that is not ELF, and for tables that lie outside it."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name
        self.size = stream.seek(0, os.SEEK_END)
        ident = self._bytes(0, elf_numbers.IDENT_SIZE)
        if ident[:4] != b"\x7fELF":
            raise self._error("it does not begin with the magic number")
        self._class = ident[4]
        if self._class not in elf_numbers.HEADER or ident[5] not in (elf_numbers.LITTLE, elf_numbers.BIG):
            raise self._error(f"unknown word size {ident[4]} or byte order {ident[5]}")
        self.is_64 = self._class == elf_numbers.CLASS_64
        self.byte_order = "<" if ident[5] == elf_numbers.LITTLE else ">"
        layout = self.byte_order + elf_numbers.HEADER[self._class]
        fields = struct.unpack(layout, self._bytes(elf_numbers.IDENT_SIZE, struct.calcsize(layout)))
        self.type = elf_numbers.FILE_TYPES.get(fields[0], str(fields[0]))
        self.machine = elf_numbers.MACHINES.get(fields[1], str(fields[1]))
        self.entry = fields[3]
        segments_at, sections_at, (segment_size, segments, section_size, sections, names) = (*fields[4:6], fields[8:])
        first = self._rows("section headers", elf_numbers.SECTION, sections_at, min(sections_at, 1), section_size)
        if first:
            sections, names = sections or first[0][5], first[0][6] if names == elf_numbers.SHN_XINDEX else names
            segments = first[0][7] if segments == elf_numbers.PN_XNUM else segments
            rows = self._rows("section headers", elf_numbers.SECTION, sections_at, sections, section_size)
            self.sections = self._with_names(rows, names)
        else:
            self.sections = ()
        count = segments if segments_at else 0
        table = self._rows("program headers", elf_numbers.SEGMENT, segments_at, count, segment_size)
        self.segments = tuple(map(self._segment, table))

    def _error(self, why: str) -> ObjectError:
        return ObjectError(f"{self._name}: not a readable ELF file: {why}")

    def _bytes(self, offset: int, size: int) -> bytes:
        self._stream.seek(offset)
        found = self._stream.read(size)
        if len(found) != size:
            raise self._error("the header is cut off")
        return found

    def _rows(self, what: str, layouts: dict[int, str], offset: int, count: int, step: int) -> list[tuple[int, ...]]:
        """Read a table of headers that are ``step`` bytes apart; each may be longer than the known fields."""
        if not count:
            return []
        layout = struct.Struct(self.byte_order + layouts[self._class])
        if step < layout.size:
            raise ObjectError(f"{self._name}: {what} of {step} bytes each, {layout.size} expected")
        if offset + count * step > self.size:
            raise ObjectError(f"{self._name}: {count} {what} at {offset:#x} lie outside its {self.size:#x} bytes")
        table = self._bytes(offset, count * step)
        return [layout.unpack_from(table, at) for at in range(0, count * step, step)]

    def _with_names(self, rows: list[tuple[int, ...]], number: int) -> tuple[ElfSection, ...]:
        names = b""
        if 0 < number < len(rows):
            offset, size = rows[number][4:6]
            if offset + size > self.size:
                raise ObjectError(f"{self._name}: the names of sections lie outside its {self.size:#x} bytes")
            names = self._bytes(offset, size)
        types = elf_numbers.SECTION_TYPES
        return tuple([ElfSection(string_at(names, row[0]), types.get(row[1]) or str(row[1]), *row[2:]) for row in rows])

    def _segment(self, row: tuple[int, ...]) -> ElfSegment:
        if not self.is_64:
            row = (row[0], row[6], *row[1:6], row[7])
        kind, flags, offset, address, _, file_size, memory_size, alignment = row
        name = elf_numbers.SEGMENT_TYPES.get(kind, str(kind))
        return ElfSegment(name, flags, offset, address, file_size, memory_size, alignment)


def string_at(strings: bytes, offset: int) -> str:
    """Return the NUL-terminated string at ``offset`` of a string table; "" outside it.

    Any number of symbols may share one string, so one that is longer than compilers write is cut off and marked with
    CUT.
    """
    limit = offset + LONGEST_TEXT
    end = strings.find(b"\0", offset, limit + 1)
    text = strings[offset : end if end >= 0 else limit].decode(errors="surrogateescape")
    return text + CUT if end < 0 and limit < len(strings) else text
