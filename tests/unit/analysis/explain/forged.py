"""Writes debug info of one entry a unit, SFrame indexes and whole objects, so that tests need no compiler."""

import struct
from pathlib import Path

from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

BUILD_ID = b"\x5a" * 20
NOTE = TinySection(".note.gnu.build-id", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + BUILD_ID, 0x300, "NOTE", 2)
TEXT = TinySection(".text", b"\x90" * 0x100, 0x1000, flags=6)
EMPTY_TEXT = TinySection(".text", bytes(0x100), 0x1000, type="NOBITS", flags=6)
PRODUCER, LANGUAGE, NAME, DWO_NAME, COMP_DIR = 0x25, 0x13, 0x03, 0x76, 0x1B
STRING, DATA2, STRP_ALT = 0x08, 0x05, 0x1F21
COMPILE_UNIT, PARTIAL_UNIT = 0x11, 0x3C


def uleb(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def unit(attributes: list[tuple[int, int, bytes]], version: int = 5, tag: int = COMPILE_UNIT, order: str = "<",
         others: int = 0) -> tuple[bytes, bytes]:  # fmt: skip
    """(.debug_info, .debug_abbrev) of a unit with one entry; ``others`` abbreviations stand before its own."""
    abbreviations = b"".join(uleb(2 + n) + b"\x34\0\x03\x08\x49\x13\0\0" for n in range(others))
    pairs = b"".join(uleb(name) + uleb(form) for name, form, _ in attributes)
    table = abbreviations + b"\x01" + uleb(tag) + b"\0" + pairs + b"\0\0" + b"\0"
    body = b"\x01" + b"".join(value for _, _, value in attributes)
    head = struct.pack(order + "HBBI", 5, 1, 8, 0) if version == 5 else struct.pack(order + "HIB", version, 0, 8)
    return struct.pack(order + "I", len(head + body)) + head + body, table


def compiled(producer: str = "GNU C17 12.2.0 -O2", language: int = 0x0C, version: int = 5) -> tuple[bytes, bytes]:
    values = [(PRODUCER, STRING, producer.encode() + b"\0"), (LANGUAGE, DATA2, struct.pack("<H", language))]
    return unit(values, version)


def split(name: str) -> tuple[bytes, bytes]:
    return unit([(DWO_NAME, STRING, name.encode() + b"\0"), (COMP_DIR, STRING, b"/src\0")])


def debug_sections(info: bytes, table: bytes) -> list[TinySection]:
    return [TinySection(".debug_info", info), TinySection(".debug_abbrev", table)]


def with_symbols(text: TinySection, symbols: list[TinySymbol], more: list[TinySection] | None = None) -> bytes:
    """An object with a build id and a ``.symtab``."""
    return tiny_elf([text, NOTE, *symbol_sections(symbols, 3), *(more or [])])


def sframe(rows: list[tuple[int, int]], address: int, version: int = 2, flags: int = 0, count: int = -1) -> TinySection:
    """An index of (start, size) and nothing else."""
    body = b""
    for start, size in rows:
        base = address + (28 + len(body) if flags & 4 or version == 3 else 0)
        body += struct.pack(
            "<qII" if version == 3 else "<iIIIBBH", start - base, size, 0, *[0] * (0 if version == 3 else 4)
        )
    header = struct.pack("<HBBBbbB5I", 0xDEE2, version, flags, 3, 0, -8, 0, len(rows) if count < 0 else count, 0, 0, 0,
                         len(body))  # fmt: skip
    return TinySection(".sframe", header + body, address, flags=2)


def written(folder: Path, data: bytes, name: str = "prog") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)
