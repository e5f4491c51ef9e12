"""Parses jit-PID.dump: JIT-compiled code with address, time, name and lines, written for ``perf inject --jit``.

Source of truth: tools/perf/Documentation/jitdump-specification.txt, tools/perf/util/jitdump.h and jitdump.c.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from perf2x.base.abi import MACHINES
from perf2x.base.files.read_file import read_object_file
from perf2x.base.files.temporary import shown_name
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError
from perf2x.symbolizer.sources.jit_functions import V8_SHIFT, is_v8

_MAGIC = 0x4A695444
_CODE_LOAD, _CODE_MOVE, _DEBUG_INFO, _CLOSE, _UNWINDING_INFO = range(5)
_FIXED = {_CODE_LOAD: 40, _CODE_MOVE: 48, _DEBUG_INFO: 16, _CLOSE: 0, _UNWINDING_INFO: 24}
"""Fixed size of each kind's body in bytes."""
_LINE_SIZE = 16
"""Bytes of a line entry before its file name."""
_ARCH_TIMESTAMP = 1 << 0
_FILE_HEADER, _PREFIX = struct.Struct("IIIIIIQQ"), struct.Struct("IIQ")
_MAX_SIZE = 1 << 32


class JitLine(Frozen):
    """The source line of the code from ``address`` on."""

    address: int
    line: int
    filename: str


class JitCode(Frozen):
    """Code that is at an address from ``time`` on; a move record creates another JitCode with the same ``offset``."""

    time: int
    address: int
    size: int
    offset: int
    """File offset of the code's bytes, which distinguishes code that had the same address at different times."""
    name: str
    lines: tuple[JitLine, ...] = ()
    first: int = 0
    """Address at load time, which ``lines`` refer to."""
    unwinding: bytes = b""
    """The runtime's .eh_frame for the code."""


class JitDump(Frozen):
    """A parsed dump, with code in file order."""

    pid: int
    """Process id in the process's own PID namespace."""
    arch_timestamps: bool
    """True if times come from the processor's counter, not from CLOCK_MONOTONIC."""
    codes: tuple[JitCode, ...]
    machine: int = 0
    """ELF machine number."""
    name: str = ""
    """Path of the file."""
    outside: int = 0
    """Lines dropped because they are outside their code."""
    damaged: int = 0
    """Runs of bytes in which no record was found."""


class _JitdumpParser(Struct):
    """State of parsing a dump record by record."""

    data: bytes
    order: str
    codes: list[JitCode] = field(default_factory=list)
    by_index: dict[bytes, JitCode] = field(default_factory=dict)
    """Code by its index in the dump, as eight bytes.

    Python's hashes of bytes are keyed, so that no file can make them collide; those of integers are not
    (base/columnar/hashing.py).
    """
    lines: dict[bytes, tuple[JitLine, ...]] = field(default_factory=dict)
    """Lines by the address of the code as eight bytes."""
    unwinding: bytes = b""
    """The .eh_frame for the next load."""
    outside: int = 0

    def take(self, kind: int, start: int, end: int, time: int) -> None:
        """Parse a record's body; skip it if it is too short for its kind."""
        if end - start < _FIXED.get(kind, 0):
            return
        if kind == _CODE_LOAD:
            self._load(start, end, time)
        elif kind == _CODE_MOVE:
            self._move(start, time)
        elif kind == _DEBUG_INFO:
            self._debug(start, end)
        elif kind == _UNWINDING_INFO:
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
        while len(rows) < count and at + _LINE_SIZE < end:
            place, line, _ = struct.unpack_from(self.order + "Qii", self.data, at)
            stop = self.data.find(b"\0", at + _LINE_SIZE, end)
            if stop < 0:
                break
            name = self.data[at + _LINE_SIZE : stop]
            same = name == b"\xff" and rows
            filename = rows[-1].filename if same else name.decode(errors="surrogateescape")
            rows.append(JitLine(place, max(line, 0), filename))
            at = stop + 1
        self.lines[self.data[start : start + 8]] = tuple(sorted(rows, key=lambda row: row.address))


def machine_of(dump: JitDump, arch: str) -> int:
    """Return the ELF machine number of a dump or, because CPython 3.13 writes none, of the recording's ``arch``."""
    return dump.machine or next((number for number, name in MACHINES.items() if name == (arch or "x86_64")), 0)


def read_jitdump(path: Path) -> JitDump:
    """Parse a dump. Raises ObjectError if the file is not one.

    A truncated end is normal: the complete records before it are used.
    """
    return replace(parse_jitdump(read_object_file(path, _MAX_SIZE), shown_name(path)), name=str(path))


def parse_jitdump(data: bytes, name: str) -> JitDump:
    """Parse the contents of a dump; see ``read_jitdump``."""
    order = _byte_order(data, name)
    _, version, size, machine, _, pid, _, flags = struct.unpack_from(order + "IIIIIIQQ", data)
    if version != 1 or not _FILE_HEADER.size <= size <= len(data):
        raise ObjectError(f"{name}: unsupported jitdump version {version} with a header of {size} bytes")
    reader = _JitdumpParser(data, order)
    records = _Records(data, order)
    for kind, start, end, time in records.walk(size):
        reader.take(kind, start, end, time)
    codes, ticks = tuple(reader.codes), bool(flags & _ARCH_TIMESTAMP)
    return JitDump(pid, ticks, codes, machine, name, reader.outside, records.damaged)


def _byte_order(data: bytes, name: str) -> str:
    if len(data) < _FILE_HEADER.size:
        raise ObjectError(f"{name}: a jitdump has more than {len(data)} bytes")
    for order in "<>":
        if struct.unpack_from(order + "I", data)[0] == _MAGIC:
            return order
    raise ObjectError(f"{name}: not a jitdump: it begins with {data[:4].hex()}")


_SLACK = 16
"""Padding at the end of a record is shorter, in bytes: writers pad records to a multiple of 8 or 16."""
_HEADER = {"<": re.compile(rb"(?=[\0-\4]\0{3}(?!\0{4}))"), ">": re.compile(rb"(?=\0{3}[\0-\4](?!\0{4}))")}
"""Where a record may begin: a known kind and a size that is not 0. A lookahead, because candidates overlap."""


class _Records(Struct):
    """Finds the records of a dump, including those after bytes that belong to no record.

    A program that forks may write its buffer twice, or in part, so the size of a record alone proves nothing. A record
    counts if its fields fill it, or if it is followed by a record that its fields fill, or by the end of the file.
    """

    data: bytes
    order: str
    end: int = 0
    """End of the last complete record."""
    damaged: int = 0
    """Runs of bytes that are not records, or records with others inside."""

    def walk(self, at: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield (kind, start and end of the body, time) of each complete record from ``at`` on."""
        self.end, is_whole = at, self._is_whole(at)
        while at >= 0:
            kind, size, time = self._header(at)
            end = at + size if is_whole else at
            following = end if self._is_whole(end) else self._next(at + _PREFIX.size if is_whole else at + 1)
            if following != end:
                self.damaged += following >= 0 or self._is_foreign(end)
            if is_whole:
                self.end = min(end, following) if following >= 0 else end
                yield kind, at + _PREFIX.size, self.end, time
            at, is_whole = following, True

    def _header(self, at: int) -> tuple[int, int, int]:
        """Return kind, size and time; a size of 0 if there is no header."""
        if at + _PREFIX.size > len(self.data):
            return 0, 0, 0
        kind, size, time = struct.unpack_from(self.order + "IIQ", self.data, at)
        return kind, size, time

    def _is_inside(self, at: int) -> bool:
        return _PREFIX.size <= self._header(at)[1] <= len(self.data) - at

    def _is_whole(self, at: int) -> bool:
        """Return whether a complete record begins here.

        If its fields do not fill it, a record that its fields fill, or the end of the file, must follow.
        """
        if not self._is_inside(at) or self._is_filled(at):
            return self._is_inside(at)
        end = at + self._header(at)[1]
        return len(self.data) - end < _PREFIX.size or (self._is_inside(end) and self._is_filled(end))

    def _is_filled(self, at: int, *, with_code: bool = False) -> bool:
        """Return whether a record's fields fill it: their sizes add up to the size of the record, except for padding.

        ``with_code``: a load record must include the bytes of its code; otherwise they may be missing. A search needs
        them, because bytes in the middle of a record sometimes look like a load record without code.
        """
        kind, size, _ = self._header(at)
        fixed = _PREFIX.size + _FIXED.get(kind, size)
        if size < fixed:
            return False
        filled = fixed
        if kind == _CODE_LOAD:
            filled = self.data.find(b"\0", at + fixed, at + size) + 1 - at
            code = int(struct.unpack_from(self.order + "Q", self.data, at + fixed - 16)[0])
            rest = size - filled
            return filled > 0 and code > 0 and (0 <= rest - code < _SLACK or (rest < _SLACK and not with_code))
        if kind == _DEBUG_INFO:
            count = int(struct.unpack_from(self.order + "Q", self.data, at + fixed - 8)[0])
            return 0 < count * (_LINE_SIZE + 1) <= size - fixed
        if kind == _UNWINDING_INFO:
            filled += struct.unpack_from(self.order + "Q", self.data, at + _PREFIX.size)[0]
        return kind in _FIXED and 0 <= size - filled < _SLACK

    def _next(self, begin: int) -> int:
        """Return the first position from ``begin`` on with a record that its fields fill, including code.

        Returns −1 if there is none.
        """
        places = (match.start() for match in _HEADER[self.order].finditer(self.data, begin))
        return next((at for at in places if self._is_inside(at) and self._is_filled(at, with_code=True)), -1)

    def _is_foreign(self, at: int) -> bool:
        """Return whether the bytes from ``at`` to the end of the file are neither a truncated record nor zeros."""
        kind, size, _ = self._header(at)
        is_cut = kind <= _UNWINDING_INFO and size > len(self.data) - at
        return len(self.data) - at >= _PREFIX.size and not is_cut and self.data.count(0, at) < len(self.data) - at
