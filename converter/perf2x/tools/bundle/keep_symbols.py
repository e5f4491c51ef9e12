"""Reduces an ELF file to what names and stacks need: replaces nearly all code, data and debug info by zeros.

The size and all offsets stay, and so do addresses and the build id.
"""

import re
import struct
from collections.abc import Iterator, Sequence

from perf2x.base.binaries.elf.elf_file import ElfObject, ElfSection
from perf2x.base.binaries.go.pclntab import is_go

_KEPT_SECTIONS = re.compile(
    r"\.(symtab|strtab|symtab_shndx|dynsym|dynstr|shstrtab|note.*|gnu_debuglink|gnu_debugdata"
    r"|eh_frame|eh_frame_hdr|z?debug_frame|plt.*|iplt|rela?(\..*)?|gopclntab|data\.rel\.ro\.gopclntab|go\..*)"
)
_DEBUG_SECTIONS = re.compile(r"\.z?debug_|\.gdb_index|\.debug_gdb")
_SHT_NOBITS = 8
_SHF_EXECINSTR = 0x4


def without_code_and_data(elf: ElfObject, known_code: Sequence[re.Pattern[bytes]]) -> bytes:
    """Return the file with zeros for everything but headers, `_KEPT_SECTIONS` and ``known_code``.

    The headers of emptied debug sections get the type SHT_NOBITS. A file without section headers is returned unchanged.
    Raises ObjectError if the file cannot be read.
    """
    data = elf.read(0, elf.size)
    if not elf.sections:
        return data
    new_file = bytearray(elf.size)
    is_go_program = is_go(elf)
    # (offset, size) of what is kept; the first 64 bytes contain the ELF header
    ranges = [(0, 64), *_header_tables(elf, data)]
    ranges += [(s.offset, s.size) for s in elf.sections if s.type != "SHT_NOBITS" and _is_kept(s, is_go_program)]
    ranges += [span for pattern in known_code for span in _find_code(elf, data, pattern)]
    for start, size in ranges:
        new_file[start : start + size] = data[start : start + size]
    _mark_debug_as_absent(elf, new_file)
    return bytes(new_file)


def _is_kept(section: ElfSection, is_go_program: bool) -> bool:
    """Return whether a section is kept; in Go programs, the function table may be in .data.rel.ro."""
    return _KEPT_SECTIONS.fullmatch(section.name) is not None or (is_go_program and section.name == ".data.rel.ro")


def _find_code(elf: ElfObject, data: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    for section in elf.sections:
        if section.flags & _SHF_EXECINSTR and section.type != "SHT_NOBITS":
            for match in pattern.finditer(data, section.offset, section.offset + section.size):
                yield match.start(), match.end() - match.start()


def _header_tables(elf: ElfObject, data: bytes) -> list[tuple[int, int]]:
    """Return (offset, size) of the program headers, then of the section headers."""
    # Elf64_Ehdr or Elf32_Ehdr: e_phoff and e_shoff; then e_phentsize, e_phnum and e_shentsize
    offsets_format = elf.byte_order + ("QQ" if elf.is_64 else "II")
    programs, sections = struct.unpack_from(offsets_format, data, 32 if elf.is_64 else 28)
    program_size, program_count, section_size = struct.unpack_from(
        elf.byte_order + "HHH", data, 54 if elf.is_64 else 42
    )
    # e_phnum is at most 0xFFFF (PN_XNUM); ``elf.segments`` has all segments
    count = max(program_count, len(elf.segments))
    return [(programs, program_size * count), (sections, section_size * len(elf.sections))]


def _mark_debug_as_absent(elf: ElfObject, new_file: bytearray) -> None:
    (_, _), (table, size) = _header_tables(elf, bytes(new_file))
    header_size = size // len(elf.sections)
    for row, section in enumerate(elf.sections):
        if _DEBUG_SECTIONS.match(section.name) and not _is_kept(section, False):
            # sh_type is at byte 4 of a section header
            struct.pack_into(elf.byte_order + "I", new_file, table + row * header_size + 4, _SHT_NOBITS)
