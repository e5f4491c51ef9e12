"""Reduces an ELF file to its symbols and unwind tables; code, data and debug info become zeros.

All headers and offsets stay, so addresses map as before and the build id is the same. Zeros take hardly any space in a
compressed bundle.
"""

import re
import struct
from collections.abc import Iterator, Sequence

from perf2x.base.binaries.elf.elf_file import ElfObject, ElfSection
from perf2x.base.binaries.go.pclntab import is_go

_KEPT = re.compile(
    r"\.(symtab|strtab|symtab_shndx|dynsym|dynstr|shstrtab|note.*|gnu_debuglink|gnu_debugdata"
    r"|eh_frame|eh_frame_hdr|z?debug_frame|plt.*|iplt|rela?(\..*)?|gopclntab|data\.rel\.ro\.gopclntab|go\..*)"
)
_DEBUG = re.compile(r"\.z?debug_|\.gdb_index|\.debug_gdb")
_SHT_NOBITS = 8
_SHF_EXECINSTR = 0x4


def keep_symbols_only(elf: ElfObject, known_code: Sequence[re.Pattern[bytes]]) -> bytes:
    """Return the file with zeros for everything but symbols and unwind tables; debug sections become SHT_NOBITS.

    Code that matches ``known_code`` is kept, too: the unwinder recognizes it by its bytes (signal trampolines, starts
    of coroutines). A file without section headers is returned unchanged, because its parts are unknown. Raises
    ObjectError if it cannot be read.
    """
    whole = elf.read(0, elf.size)
    if not elf.sections:
        return whole
    kept = bytearray(elf.size)
    go = is_go(elf)
    ranges = [(0, 64), *_header_tables(elf, whole)]
    ranges += [(s.offset, s.size) for s in elf.sections if s.type != "SHT_NOBITS" and _is_kept(s, go)]
    ranges += [span for pattern in known_code for span in _find_code(elf, whole, pattern)]
    for start, size in ranges:
        kept[start : start + size] = whole[start : start + size]
    _without_debug(elf, kept)
    return bytes(kept)


def _is_kept(section: ElfSection, go: bool) -> bool:
    return _KEPT.fullmatch(section.name) is not None or (go and section.name == ".data.rel.ro")


def _find_code(elf: ElfObject, whole: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the offset and size of each match of the pattern in executable sections."""
    for section in elf.sections:
        if section.flags & _SHF_EXECINSTR and section.type != "SHT_NOBITS":
            for match in pattern.finditer(whole, section.offset, section.offset + section.size):
                yield match.start(), match.end() - match.start()


def _header_tables(elf: ElfObject, whole: bytes) -> list[tuple[int, int]]:
    """Return (offset, size) of the program headers and the section headers (Elf64_Ehdr, Elf32_Ehdr)."""
    form = elf.byte_order + ("QQ" if elf.is_64 else "II")
    programs, sections = struct.unpack_from(form, whole, 32 if elf.is_64 else 28)
    program_size, program_count, section_size = struct.unpack_from(
        elf.byte_order + "HHH", whole, 54 if elf.is_64 else 42
    )
    # a count of 0xFFFF (PN_XNUM) means that the real one is stored elsewhere; then more than the table is copied
    count = max(program_count, len(elf.segments))
    return [(programs, program_size * count), (sections, section_size * len(elf.sections))]


def _without_debug(elf: ElfObject, kept: bytearray) -> None:
    """Change debug sections to SHT_NOBITS in ``kept``, the new file; sh_type is the second word of a section header."""
    (_, _), (table, size) = _header_tables(elf, bytes(kept))
    step = size // len(elf.sections)
    for row, section in enumerate(elf.sections):
        if _DEBUG.match(section.name) and not _is_kept(section, False):
            struct.pack_into(elf.byte_order + "I", kept, table + row * step + 4, _SHT_NOBITS)
