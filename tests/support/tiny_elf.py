"""Writes small ELF files of every word size and byte order, so that tests need no compiler."""

import struct
from dataclasses import dataclass

TYPES = {"PROGBITS": 1, "SYMTAB": 2, "STRTAB": 3, "RELA": 4, "NOTE": 7, "NOBITS": 8, "REL": 9, "DYNSYM": 11}


@dataclass(frozen=True)
class TinySection:
    """A section; those with SHF_ALLOC (2) get a PT_LOAD of their own, executable with SHF_EXECINSTR (4)."""

    name: str
    data: bytes
    address: int = 0
    type: str = "PROGBITS"
    flags: int = 0
    link: int = 0
    info: int = 0
    entry_size: int = 0


@dataclass(frozen=True)
class TinySymbol:
    name: str
    value: int
    size: int = 0
    type: int = 2
    binding: int = 1
    section: int = 1
    other: int = 0


def symbol_sections(
    symbols, index, is_64=True, byte_order="<", table=".symtab", strings=".strtab"
) -> list[TinySection]:
    """A symbol table and its strings, to stand as sections ``index`` and ``index + 1``."""
    names, rows = bytearray(1), bytearray(24 if is_64 else 16)
    for symbol in symbols:
        info = symbol.binding << 4 | symbol.type
        at = len(names) if symbol.name else 0
        if is_64:
            row = (at, info, symbol.other, symbol.section, symbol.value, symbol.size)
            rows += struct.pack(byte_order + "IBBHQQ", *row)
        else:
            row = (at, symbol.value, symbol.size, info, symbol.other, symbol.section)
            rows += struct.pack(byte_order + "IIIBBH", *row)
        names += symbol.name.encode(errors="surrogateescape") + b"\0" if symbol.name else b""
    kind = "DYNSYM" if table == ".dynsym" else "SYMTAB"
    return [
        TinySection(table, bytes(rows), type=kind, link=index + 1, entry_size=24 if is_64 else 16),
        TinySection(strings, bytes(names), type="STRTAB"),
    ]


def tiny_elf(sections, is_64=True, byte_order="<", machine=62, kind=3) -> bytes:
    """The bytes of an ELF file: header, program headers, sections from index 1, ``.shstrtab``, section headers."""
    header_size, segment_size = (64, 56) if is_64 else (52, 32)
    loads = [section for section in sections if section.flags & 2]
    names = b"\0" + b"".join(s.name.encode() + b"\0" for s in sections) + b".shstrtab\0"
    body, offsets = b"", []
    start = header_size + segment_size * len(loads)
    for section in [*sections, TinySection(".shstrtab", names)]:
        body += b"\0" * (-(start + len(body)) % 16)
        offsets.append(start + len(body))
        body += b"" if section.type == "NOBITS" else section.data
    body += b"\0" * (-(start + len(body)) % 8)
    word = "Q" if is_64 else "I"
    header = b"\x7fELF" + bytes([2 if is_64 else 1, 1 if byte_order == "<" else 2, 1]) + b"\0" * 9
    header += struct.pack(
        f"{byte_order}HHI{word}{word}{word}IHHHHHH", kind, machine, 1, 0, header_size if loads else 0,
        start + len(body), 0, header_size, segment_size, len(loads), 64 if is_64 else 40, len(sections) + 2,
        len(sections) + 1,
    )  # fmt: skip
    segments = b"".join(_segment(s, offsets[i], is_64, byte_order) for i, s in enumerate(sections) if s.flags & 2)
    table = b"\0" * (64 if is_64 else 40)
    for section, offset in zip([*sections, TinySection(".shstrtab", names, type="STRTAB")], offsets, strict=True):
        at = names.index(b"\0" + section.name.encode() + b"\0") + 1
        table += struct.pack(
            f"{byte_order}II{word}{word}{word}{word}II{word}{word}", at, TYPES[section.type], section.flags,
            section.address, offset, len(section.data), section.link, section.info, 4, section.entry_size,
        )  # fmt: skip
    return header + segments + body + table


def _segment(section, offset, is_64, byte_order) -> bytes:
    flags = 5 if section.flags & 4 else 4
    size = len(section.data)
    if is_64:
        row = (1, flags, offset, section.address, section.address, size, size, 4096)
        return struct.pack(byte_order + "IIQQQQQQ", *row)
    row = (1, offset, section.address, section.address, size, size, flags, 4096)
    return struct.pack(byte_order + "IIIIIIII", *row)
