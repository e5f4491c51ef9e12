"""Writes debug info of one entry a unit, and whole objects, so that tests need no compiler."""

import struct
from pathlib import Path

from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

BUILD_ID = b"\x5a" * 20
NOTE = TinySection(".note.gnu.build-id", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + BUILD_ID, 0x300, "NOTE", 2)
TEXT = TinySection(".text", b"\x90" * 0x100, 0x1000, flags=6)
EMPTY_TEXT = TinySection(".text", bytes(0x100), 0x1000, type="NOBITS", flags=6)
PRODUCER, DWO_NAME, COMP_DIR = 0x25, 0x76, 0x1B
STRING, COMPILE_UNIT = 0x08, 0x11


def uleb(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def unit(attributes: list[tuple[int, int, bytes]]) -> tuple[bytes, bytes]:
    """(.debug_info, .debug_abbrev) of a unit with one entry, in DWARF 5."""
    pairs = b"".join(uleb(name) + uleb(form) for name, form, _ in attributes)
    table = b"\x01" + uleb(COMPILE_UNIT) + b"\0" + pairs + b"\0\0" + b"\0"
    body = b"\x01" + b"".join(value for _, _, value in attributes)
    head = struct.pack("<HBBI", 5, 1, 8, 0)
    return struct.pack("<I", len(head + body)) + head + body, table


def compiled() -> tuple[bytes, bytes]:
    return unit([(PRODUCER, STRING, b"GNU C17 12.2.0 -O2\0")])


def split(name: str) -> tuple[bytes, bytes]:
    return unit([(DWO_NAME, STRING, name.encode() + b"\0"), (COMP_DIR, STRING, b"/src\0")])


def debug_sections(info: bytes, table: bytes) -> list[TinySection]:
    return [TinySection(".debug_info", info), TinySection(".debug_abbrev", table)]


def with_symbols(text: TinySection, symbols: list[TinySymbol], more: list[TinySection] | None = None) -> bytes:
    """An object with a build id and a ``.symtab``."""
    return tiny_elf([text, NOTE, *symbol_sections(symbols, 3), *(more or [])])


def written(folder: Path, data: bytes, name: str = "prog") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)
