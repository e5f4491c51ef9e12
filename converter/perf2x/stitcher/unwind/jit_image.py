"""Presents a jitdump to the unwinder as an ELF file in memory.

A jitdump may hold an .eh_frame for each function. Its addresses are relative to where it is stored. The runtime assumes
that it follows the code, at the next multiple of 8 (jit_write_elf in tools/perf/util/genelf.c). Here all entries become
one section with absolute addresses. They equal offsets in the dump, because the image is loaded at address 0::

    0              ELF header, in place of the headers of the dump and of its first record
    64             the rest of the dump; .text is the whole dump
    eh_frame_at    .eh_frame
                   .shstrtab, program header, section headers
"""

import struct
from collections.abc import Sequence

from perf2x.base.binaries.cfi.frame_entries import Cie, FrameSection, fde_offsets
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError

_PROGBITS, _STRTAB, _ALLOC, _CODE = 1, 3, 2, 6  # SHT_PROGBITS, SHT_STRTAB; SHF_ALLOC, SHF_ALLOC | SHF_EXECINSTR
_SECTION_NAMES = b"\0.text\0.eh_frame\0.shstrtab\0"
_CIE_VERSION = 3


class JitFunction(Frozen):
    """One function in a dump, with its call frame information."""

    offset: int
    """File offset of the code."""
    size: int
    eh_frame: bytes
    """The runtime's .eh_frame; its addresses are right if it begins at the first multiple of 8 after the code."""


class _Fde(Frozen):
    """An FDE and its CIE; ``start`` is an offset in the function's code."""

    cie: bytes
    start: int
    size: int
    instructions: bytes


def jit_image(data: bytes, machine: int, functions: Sequence[JitFunction], name: str) -> ElfObject | None:
    """Make the image of a jitdump; None without usable call frame information.

    ``machine`` is an ELF machine number. ``name`` names the file in messages.
    """
    eh_frame_at = -(-len(data) // 16) * 16
    frames = _frame_section(functions, 4 if machine in (3, 40) else 8)  # EM_386, EM_ARM
    if not frames:
        return None
    # the ELF header takes the first 64 bytes
    body = data[64:].ljust(eh_frame_at - 64, b"\0") + frames + b"\0\0\0\0"  # a length of 0 ends the section
    names_at = 64 + len(body)
    tables_at = names_at + len(_SECTION_NAMES)
    tables_at += -tables_at % 8
    body = (body + _SECTION_NAMES).ljust(tables_at - 64, b"\0")
    # PT_LOAD, PF_R | PF_X: the file up to the tables, at address 0
    program_header = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, tables_at, tables_at, 4096)
    # .text is the whole dump; 1, 7 and 17 are offsets in _SECTION_NAMES
    section_headers = bytes(64) + _section_header(1, _PROGBITS, _CODE, 0, eh_frame_at)
    section_headers += _section_header(7, _PROGBITS, _ALLOC, eh_frame_at, len(frames) + 4) + _section_header(
        17, _STRTAB, 0, names_at, len(_SECTION_NAMES)
    )
    # ELFCLASS64, little-endian, ET_DYN
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    # e_type, machine, version, entry, phoff, shoff, flags, ehsize, phentsize, phnum, shentsize, shnum, shstrndx
    header += struct.pack(
        "<HHIQQQIHHHHHH", 3, machine & 0xFFFF, 1, 0, tables_at, tables_at + 56, 0, 64, 56, 1, 64, 4, 3
    )
    try:
        return open_elf(header + body + program_header + section_headers, name)
    except ObjectError:
        return None


def _section_header(name: int, kind: int, flags: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, offset if flags else 0, offset, size, 0, 0, 8, 0)


def _frame_section(functions: Sequence[JitFunction], address_size: int) -> bytes:
    section = bytearray()
    cies: dict[bytes, int] = {}  # offset in the section of each distinct CIE
    cache: dict[tuple[int, bytes], list[_Fde]] = {}  # runtimes emit the same entries for many functions
    # moved code is listed again, with the same offset
    for function in {function.offset: function for function in functions}.values():
        key = function.size, function.eh_frame
        if key not in cache:
            cache[key] = _fdes(function, address_size)
        for fde in cache[key]:
            if fde.cie not in cies:
                cies[fde.cie] = len(section)
                section += fde.cie
            start = function.offset + fde.start
            # an FDE: distance back to its CIE, first address, size, no augmentation data, instructions
            body = struct.pack("<IQQB", len(section) + 4 - cies[fde.cie], start, fde.size, 0) + fde.instructions
            section += _with_length(body)
    return bytes(section)


def _fdes(function: JitFunction, address_size: int) -> list[_Fde]:
    """Return a function's FDEs except those that cannot be read, or that are for code outside the function.

    A single FDE applies to all code of the function, whatever its addresses.
    """
    section = FrameSection(function.eh_frame, -(-function.size // 8) * 8, True, "<", address_size)
    offsets = fde_offsets(section, past_terminator=False)
    fdes = []
    for offset in offsets:
        try:
            fde = section.fde(offset)
        except ObjectError:
            continue
        start, end = (0, function.size) if len(offsets) == 1 else (fde.start, fde.end)
        if start < end <= function.size:
            cie, instructions = _rewrite_cie(fde.cie, section.data), section.data[slice(*fde.instructions)]
            fdes.append(_Fde(cie, start, end - start, instructions))
    return fdes


def _rewrite_cie(cie: Cie, data: bytes) -> bytes:
    """Rewrite a CIE for FDEs with absolute addresses of 8 bytes (DW_EH_PE_absptr)."""
    augmentation = b"zS\0" if cie.is_signal_frame else b"z\0"
    numbers = _leb128(cie.code_alignment) + _leb128(cie.data_alignment, signed=True) + _leb128(cie.return_register)
    body = bytes(4) + bytes([_CIE_VERSION]) + augmentation + numbers + b"\0" + data[slice(*cie.instructions)]
    return _with_length(body)


def _with_length(body: bytes) -> bytes:
    """Prepend the length, and pad with DW_CFA_nop (0)."""
    body += b"\0" * (-(4 + len(body)) % 8)
    return struct.pack("<I", len(body)) + body


def _leb128(value: int, *, signed: bool = False) -> bytes:
    largest = 0x3F if signed else 0x7F
    encoded = bytearray()
    while not -largest - 1 <= value <= largest:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value & 0x7F)
    return bytes(encoded)
