"""Writes what Android's simpleperf adds to perf.data: files with symbols, META_INFO, and records with wide sizes.

Written from simpleperf's record_file_writer.cpp, record_file.proto and record.h.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tests.forge.events import Event

FILE, META_INFO, DEBUG_UNWIND, DEBUG_UNWIND_FILE, FILE2, ETM_BRANCH_LIST, INIT_MAP = range(128, 135)
KERNEL, MODULE, ELF, DEX, PERF_MAP, UNKNOWN = range(6)
KERNEL_SYMBOL, SPLIT, SPLIT_END, EVENT_ID, TRACING_DATA = 32769, 32772, 32773, 32774, 32777
JIT_MAP = 0x4000
"""Bit of prot in MMAP2: symbols of the file have addresses of the process."""


@dataclass(frozen=True)
class PhoneFile:
    """One file; ``symbols`` are (address, length, name). ``offset`` None: not written (FILE only)."""

    path: str
    kind: int = ELF
    symbols: tuple[tuple[int, int, str], ...] = ()
    min_vaddr: int = 0
    offset: int | None = 0
    dex_offsets: tuple[int, ...] = ()

    def struct(self, order: str) -> bytes:
        """Write an entry of FILE."""
        out = self.path.encode() + b"\0" + struct.pack(order + "IQI", self.kind, self.min_vaddr, len(self.symbols))
        for start, length, name in self.symbols:
            out += struct.pack(order + "QI", start, length) + name.encode() + b"\0"
        if self.kind == DEX:
            out += struct.pack(f"{order}I{len(self.dex_offsets)}Q", len(self.dex_offsets), *self.dex_offsets)
        if self.kind in (MODULE, ELF) and self.offset is not None:
            out += struct.pack(order + "Q", self.offset)
        return out

    def message(self) -> bytes:
        """Write an entry of FILE2; proto3 leaves out what is 0."""
        out = text_field(1, self.path) + number_field(2, self.kind) + number_field(3, self.min_vaddr)
        for start, length, name in self.symbols:
            out += bytes_field(4, number_field(1, start) + number_field(2, length) + text_field(3, name))
        if self.kind == DEX:
            out += bytes_field(5, bytes_field(1, b"".join(map(varint, self.dex_offsets))))
        if self.kind in (ELF, MODULE):
            out += bytes_field({ELF: 6, MODULE: 7}[self.kind], number_field(1, self.offset or 0))
        return out


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def text_field(number: int, value: str) -> bytes:
    return bytes_field(number, value.encode())


def file_section(files: Sequence[PhoneFile], number: int, order: str = "<") -> bytes:
    """Write section FILE or FILE2."""
    entries = [file.struct(order) if number == FILE else file.message() for file in files]
    return b"".join(struct.pack(order + "I", len(entry)) + entry for entry in entries)


def meta_info(**facts: str) -> bytes:
    """Write section META_INFO."""
    return b"".join(f"{key}\0{value}\0".encode() for key, value in facts.items())


@dataclass(frozen=True, kw_only=True)
class Wide:
    """A record of simpleperf's own: its size has 32 bits, the upper ones where others have misc."""

    number: int
    body: bytes
    event: int = 0

    def encode(self, events: Sequence[Event], order: str) -> bytes:
        size = len(self.body) + 8
        return struct.pack(order + "IHH", self.number, size >> 16, size & 0xFFFF) + self.body


def split(record: Wide, length: int) -> list[Wide]:
    """Split a record into parts of ``length`` bytes, and the end mark."""
    whole = record.encode((), "<")
    parts = [whole[at : at + length] for at in range(0, len(whole), length)]
    return [*(Wide(number=SPLIT, body=part) for part in parts), Wide(number=SPLIT_END, body=b"")]


def with_size(data: bytes, pad: int = 8) -> bytes:
    """Write the body of TRACING_DATA and KERNEL_SYMBOL."""
    return struct.pack("<I", len(data)) + data + bytes(-len(data) % pad)
