"""Parse jit-PID.dump: compiled code with address, time, name and lines, written by runtimes for ``perf inject --jit``.

Source of truth: tools/perf/Documentation/jitdump-specification.txt, tools/perf/util/jitdump.h and jitdump.c.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.abi.perffile import MACHINES
from perf2x.base.errors import ObjectError
from perf2x.base.files.read_file import read_object_file
from perf2x.base.files.temporary import shown_name
from perf2x.symbolizer.sources.jit_names import V8_SHIFT, is_v8

MAGIC = 0x4A695444
CODE_LOAD, CODE_MOVE, DEBUG_INFO, UNWINDING_INFO = 0, 1, 2, 4
ARCH_TIMESTAMP = 1 << 0
HEADER, PREFIX = struct.Struct("IIIIIIQQ"), struct.Struct("IIQ")
MAX_SIZE = 1 << 32


class JitLine(Struct, frozen=True):
    """Code belongs to this line from ``address`` on."""

    address: int
    line: int
    filename: str


class JitCode(Struct, frozen=True):
    """A piece of code at one address from one time on; a move makes a second one with the same ``offset``."""

    time: int
    address: int
    size: int
    offset: int
    """File offset of the code's bytes, which distinguishes pieces that had the same address at different times."""
    name: str
    lines: tuple[JitLine, ...] = ()
    first: int = 0
    """Address at load time, which ``lines`` refer to."""
    unwinding: bytes = b""
    """The runtime's .eh_frame for the code."""


class JitDump(Struct, frozen=True):
    """A parsed dump, code in file order."""

    pid: int
    """Process id in the process's own namespace."""
    arch_timestamps: bool
    """True if times come from the processor's counter, not from CLOCK_MONOTONIC."""
    codes: tuple[JitCode, ...]
    truncated: bool
    """True if the last record is cut off: the program was still running or was killed."""
    machine: int = 0
    """ELF machine number."""
    name: str = ""
    """Path of the file."""
    outside: int = 0
    """Lines that were left out because they are outside their piece of code."""


class _JitdumpParser(Struct):
    """State of parsing a dump record by record."""

    data: bytes
    order: str
    codes: list[JitCode] = field(default_factory=list)
    by_index: dict[bytes, JitCode] = field(default_factory=dict)
    """Code by the eight bytes of its number: hashes of bytes are keyed, those of integers are not
    (base/columnar/hashing.py).
    """
    lines: dict[bytes, tuple[JitLine, ...]] = field(default_factory=dict)
    """Lines by the eight bytes of the code's address."""
    unwinding: bytes = b""
    """The .eh_frame for the next load."""
    outside: int = 0

    def take(self, kind: int, start: int, end: int, time: int) -> None:
        """Parse a record's body; skip it if it is too short for its kind."""
        if kind == CODE_LOAD and end - start >= 40:
            self._load(start, end, time)
        elif kind == CODE_MOVE and end - start >= 48:
            self._move(start, time)
        elif kind == DEBUG_INFO and end - start >= 16:
            self._debug(start, end)
        elif kind == UNWINDING_INFO and end - start >= 24:
            size, header, _ = struct.unpack_from(self.order + "QQQ", self.data, start)
            self.unwinding = self.data[start + 24 : min(start + 24 + max(size - header, 0), end)]

    def _load(self, start: int, end: int, time: int) -> None:
        _, _, _, address, size = struct.unpack_from(self.order + "IIQQQ", self.data, start)
        name_end = self.data.find(b"\0", start + 40, end)
        if name_end < 0 or size == 0 or address + size > 2**64:
            return
        name = self.data[start + 40 : name_end].decode(errors="surrogateescape")
        lines = self.lines.pop(self.data[start + 16 : start + 24], ())
        if is_v8(name):
            lines = tuple(replace(line, address=line.address - V8_SHIFT) for line in lines)
        inside = tuple(line for line in lines if address <= line.address < address + size)
        self.outside += len(lines) - len(inside)
        code = JitCode(time, address, size, name_end + 1, name, inside, address, self.unwinding)
        self.unwinding = b""
        self.codes.append(code)
        self.by_index[self.data[start + 32 : start + 40]] = code

    def _move(self, start: int, time: int) -> None:
        _, _, _, _, address, size = struct.unpack_from(self.order + "IIQQQQ", self.data, start)
        code = self.by_index.get(self.data[start + 40 : start + 48])
        if code is None or size == 0 or address + size > 2**64:
            return
        self.codes.append(
            JitCode(time, address, min(size, code.size), code.offset, code.name, code.lines, code.first, code.unwinding)
        )

    def _debug(self, start: int, end: int) -> None:
        (count,) = struct.unpack_from(self.order + "Q", self.data, start + 8)
        rows: list[JitLine] = []
        at = start + 16
        while len(rows) < count and at + 16 < end:
            place, line, _ = struct.unpack_from(self.order + "Qii", self.data, at)
            stop = self.data.find(b"\0", at + 16, end)
            if stop < 0:
                break
            name = self.data[at + 16 : stop]
            same = name == b"\xff" and rows
            filename = rows[-1].filename if same else name.decode(errors="surrogateescape")
            rows.append(JitLine(place, max(line, 0), filename))
            at = stop + 1
        self.lines[self.data[start : start + 8]] = tuple(sorted(rows, key=lambda row: row.address))


def machine_of(dump: JitDump, arch: str) -> int:
    """The ELF machine number that a dump states, else that of the recording's ``arch``: CPython 3.13 states none."""
    return dump.machine or next((number for number, name in MACHINES.items() if name == (arch or "x86_64")), 0)


def read_jitdump(path: Path) -> JitDump:
    """Parse a dump; ObjectError if the file is not one. A cut-off end is normal, and the records before it count."""
    return replace(parse_jitdump(read_object_file(path, MAX_SIZE), shown_name(path)), name=str(path))


def parse_jitdump(data: bytes, name: str) -> JitDump:
    """Parse the contents of a dump; see ``read_jitdump``."""
    order = _byte_order(data, name)
    _, version, size, machine, _, pid, _, flags = struct.unpack_from(order + "IIIIIIQQ", data)
    if version != 1 or not HEADER.size <= size <= len(data):
        raise ObjectError(f"{name}: jitdump version {version}, header of {size} bytes")
    reader = _JitdumpParser(data, order)
    end = size
    for kind, start, end, time in _jitdump_records(data, order, size):
        reader.take(kind, start, end, time)
    return JitDump(
        pid, bool(flags & ARCH_TIMESTAMP), tuple(reader.codes), end != len(data), machine, name, reader.outside
    )


def _byte_order(data: bytes, name: str) -> str:
    if len(data) < HEADER.size:
        raise ObjectError(f"{name}: {len(data)} bytes are not a jitdump")
    for order in "<>":
        if struct.unpack_from(order + "I", data)[0] == MAGIC:
            return order
    raise ObjectError(f"{name}: not a jitdump, it begins with {data[:4].hex()}")


def _jitdump_records(data: bytes, order: str, at: int) -> Iterator[tuple[int, int, int, int]]:
    """(kind, start and end of the body, time) of each complete record; an impossible size ends the file."""
    while at + PREFIX.size <= len(data):
        kind, size, time = struct.unpack_from(order + "IIQ", data, at)
        if size < PREFIX.size or at + size > len(data):
            return
        yield kind, at + PREFIX.size, at + size, time
        at += size
