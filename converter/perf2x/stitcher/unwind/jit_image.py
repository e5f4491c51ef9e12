"""Presents a jitdump to the unwinder as an ELF file in memory: its code in place, then one .eh_frame for all of it.

``perf inject --jit`` writes one ELF file per function (tools/perf/util/genelf.c jit_write_elf), with the runtime's
.eh_frame unchanged after the code, at the next multiple of 8. One image of the whole dump works as well, with file
offsets as addresses, if the entries are rewritten. Runtimes that keep frame pointers are unwound by them; their call
frame information covers the instructions before a frame is set up and after it is removed.
"""

import struct
from collections.abc import Sequence

from perf2x.base.binaries.cfi.frame_entries import Cie, FrameSection, fde_offsets
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError

_PROGBITS, _STRTAB, _ALLOC, _CODE = 1, 3, 2, 6
_NAMES = b"\0.text\0.eh_frame\0.shstrtab\0"
_WORD = 8
_CIE_VERSION = 3


class JitFrames(Frozen):
    """Call frame information of one function in a dump."""

    offset: int
    """File offset of the code."""
    size: int
    frames: bytes
    """The runtime's .eh_frame, made for an address right after the code."""


class _Entry(Frozen):
    """Rules for ``size`` bytes of code from ``start`` on."""

    cie: bytes
    start: int
    size: int
    instructions: bytes


def jit_image(data: bytes, machine: int, pieces: Sequence[JitFrames], name: str) -> ElfObject | None:
    """Make the image of a dump (``data``, ELF ``machine`` number); None without call frame information."""
    at = -(-len(data) // 16) * 16
    frames = _frame_section(pieces, 4 if machine in (3, 40) else _WORD)
    if not frames:
        return None
    body = data[64:].ljust(at - 64, b"\0") + frames + b"\0\0\0\0"
    names_at = 64 + len(body)
    tables = names_at + len(_NAMES)
    tables += -tables % 8
    body = (body + _NAMES).ljust(tables - 64, b"\0")
    program = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, tables, tables, 4096)
    sections = bytes(64) + _section_header(1, _PROGBITS, _CODE, 0, at)
    sections += _section_header(7, _PROGBITS, _ALLOC, at, len(frames) + 4) + _section_header(
        17, _STRTAB, 0, names_at, len(_NAMES)
    )
    # the ELF header replaces the headers of the dump and of the first record, where there is no code
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine & 0xFFFF, 1, 0, tables, tables + 56, 0, 64, 56, 1, 64, 4, 3)
    try:
        return open_elf(header + body + program + sections, name)
    except ObjectError:
        return None


def _section_header(name: int, kind: int, flags: int, offset: int, size: int) -> bytes:
    return struct.pack("<IIQQQQIIQQ", name, kind, flags, offset if flags else 0, offset, size, 0, 0, 8, 0)


def _frame_section(pieces: Sequence[JitFrames], address_size: int) -> bytes:
    """Return the .eh_frame of all functions; b"" if none has a readable entry."""
    section = bytearray()
    cies: dict[bytes, int] = {}
    cache: dict[tuple[int, bytes], list[_Entry]] = {}
    for piece in {piece.offset: piece for piece in pieces}.values():
        key = piece.size, piece.frames
        if key not in cache:
            cache[key] = _entries(piece, address_size)
        for entry in cache[key]:
            if entry.cie not in cies:
                cies[entry.cie] = len(section)
                section += entry.cie
            start = piece.offset + entry.start
            body = struct.pack("<IQQB", len(section) + 4 - cies[entry.cie], start, entry.size, 0) + entry.instructions
            section += _with_length(body)
    return bytes(section)


def _entries(piece: JitFrames, address_size: int) -> list[_Entry]:
    """Return the entries for one function. A single entry applies to all of its code, whatever address it has."""
    frames_at = -(-piece.size // 8) * 8
    section = FrameSection(piece.frames, frames_at, True, "<", address_size)
    offsets = fde_offsets(section, past_terminator=False)
    found = []
    for offset in offsets:
        try:
            fde = section.fde(offset)
        except ObjectError:
            continue
        start, end = (0, piece.size) if len(offsets) == 1 else (fde.start, fde.end)
        if start < end <= piece.size:
            cie, instructions = _written_anew(fde.cie, section.data), section.data[slice(*fde.instructions)]
            found.append(_Entry(cie, start, end - start, instructions))
    return found


def _written_anew(cie: Cie, data: bytes) -> bytes:
    """Return a CIE for FDEs with absolute addresses of 8 bytes (DW_EH_PE_absptr, the default)."""
    augmentation = b"zS\0" if cie.is_signal_frame else b"z\0"
    numbers = _leb128(cie.code_alignment) + _leb128(cie.data_alignment, signed=True) + _leb128(cie.return_register)
    body = bytes(4) + bytes([_CIE_VERSION]) + augmentation + numbers + b"\0" + data[slice(*cie.instructions)]
    return _with_length(body)


def _with_length(body: bytes) -> bytes:
    """Prepend the length, and pad with DW_CFA_nop to a multiple of 8."""
    body += b"\0" * (-(4 + len(body)) % _WORD)
    return struct.pack("<I", len(body)) + body


def _leb128(value: int, *, signed: bool = False) -> bytes:
    last = 0x3F if signed else 0x7F
    out = bytearray()
    while not -last - 1 <= value <= last:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)
