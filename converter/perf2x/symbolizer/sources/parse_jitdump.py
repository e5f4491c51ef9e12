"""Parses jit-PID.dump: JIT-compiled code with address, time, name and lines, written for ``perf inject --jit``.

A load record contains one function's code. Its lines and .eh_frame are in records before it.

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

_MAGIC = 0x4A695444  # "JiTD"
_CODE_LOAD, _CODE_MOVE, _DEBUG_INFO, _CLOSE, _UNWINDING_INFO = range(5)
# Bytes of the fixed fields at the start of each kind's body.
_FIXED_SIZES = {_CODE_LOAD: 40, _CODE_MOVE: 48, _DEBUG_INFO: 16, _CLOSE: 0, _UNWINDING_INFO: 24}
# Bytes of a line entry before its file name.
_LINE_SIZE = 16
_ARCH_TIMESTAMP = 1 << 0
_FILE_HEADER, _RECORD_HEADER = struct.Struct("IIIIIIQQ"), struct.Struct("IIQ")
_MAX_SIZE = 1 << 32  # of a dump, in bytes


class JitLine(Frozen):
    """The source line of the code from ``address`` on."""

    address: int
    line: int
    filename: str


class JitCode(Frozen):
    """Code that is at an address from ``time`` on; moved code has the same ``offset``."""

    time: int
    """Record time; ``JitDump.arch_timestamps`` tells by which clock."""
    address: int
    size: int
    offset: int
    """File offset of the code's bytes."""
    name: str
    lines: tuple[JitLine, ...] = ()
    load_address: int = 0
    """Address at load time, to which the addresses in ``lines`` and ``eh_frame`` refer."""
    eh_frame: bytes = b""
    """The code's .eh_frame as the runtime wrote it; empty without one."""


class JitDump(Frozen):
    """A parsed dump; its code is in file order."""

    pid: int
    """Process id in the process's own PID namespace."""
    arch_timestamps: bool
    """True if times come from the processor's counter, not from CLOCK_MONOTONIC."""
    codes: tuple[JitCode, ...]
    machine: int = 0
    """ELF machine number."""
    name: str = ""
    lines_outside: int = 0
    """Number of line entries outside their code, which were dropped."""
    damaged_runs: int = 0
    """Number of runs of bytes that are not records, and of records with other records inside."""


class _JitdumpParser(Struct):
    """Collects the code in a dump; ``byte_order`` is "<" or ">"."""

    data: bytes
    byte_order: str
    codes: list[JitCode] = field(default_factory=list)
    code_by_index: dict[bytes, JitCode] = field(default_factory=dict)
    """Code by its code_index, as eight bytes.

    Python's hashes of bytes are keyed, so that no file can make them collide (base/columnar/hashing.py).
    """
    lines: dict[bytes, tuple[JitLine, ...]] = field(default_factory=dict)
    """Lines of code whose load record has not come yet, by the code's address as eight bytes."""
    eh_frame: bytes = b""
    """The .eh_frame for the next load record."""
    lines_outside: int = 0

    def add_record(self, kind: int, start: int, end: int, time: int) -> None:
        """Parse a record, whose body is ``data[start:end]``; skip one that is too short for its kind."""
        if end - start < _FIXED_SIZES.get(kind, 0):
            return
        if kind == _CODE_LOAD:
            self._load(start, end, time)
        elif kind == _CODE_MOVE:
            self._move(start, time)
        elif kind == _DEBUG_INFO:
            self._debug_info(start, end)
        elif kind == _UNWINDING_INFO:
            # .eh_frame, then .eh_frame_hdr, which is not needed
            total_size, header_size, _ = struct.unpack_from(self.byte_order + "QQQ", self.data, start)
            self.eh_frame = self.data[start + 24 : min(start + 24 + max(total_size - header_size, 0), end)]

    def _load(self, start: int, end: int, time: int) -> None:
        # u32 pid, tid; u64 vma, code_addr, code_size, code_index; name with its final 0; code
        _, _, _, address, size = struct.unpack_from(self.byte_order + "IIQQQ", self.data, start)
        name_end = self.data.find(b"\0", start + 40, end)
        if name_end < 0 or size == 0 or address + size > 2**64:
            return
        name = self.data[start + 40 : name_end].decode(errors="surrogateescape")
        lines = self.lines.pop(self.data[start + 16 : start + 24], ())
        if is_v8(name):
            lines = tuple(replace(line, address=line.address - V8_SHIFT) for line in lines)
        inside = tuple(line for line in lines if address <= line.address < address + size)
        self.lines_outside += len(lines) - len(inside)
        code = JitCode(time, address, size, name_end + 1, name, inside, address, self.eh_frame)
        self.eh_frame = b""
        self.codes.append(code)
        self.code_by_index[self.data[start + 32 : start + 40]] = code

    def _move(self, start: int, time: int) -> None:
        # u32 pid, tid; u64 vma, old_code_addr, new_code_addr, code_size, code_index
        _, _, _, _, address, size = struct.unpack_from(self.byte_order + "IIQQQQ", self.data, start)
        code = self.code_by_index.get(self.data[start + 40 : start + 48])
        if code is None or size == 0 or address + size > 2**64:
            return
        self.codes.append(replace(code, time=time, address=address, size=min(size, code.size)))

    def _debug_info(self, start: int, end: int) -> None:
        # u64 code_addr, number of entries; each entry: u64 address, i32 line, discriminator, file name with its final 0
        (count,) = struct.unpack_from(self.byte_order + "Q", self.data, start + 8)
        lines: list[JitLine] = []
        position = start + 16
        while len(lines) < count and position + _LINE_SIZE < end:
            address, line, _ = struct.unpack_from(self.byte_order + "Qii", self.data, position)
            name_end = self.data.find(b"\0", position + _LINE_SIZE, end)
            if name_end < 0:
                break
            name = self.data[position + _LINE_SIZE : name_end]
            is_same_file = name == b"\xff" and lines  # the specification's mark for the file of the entry before
            filename = lines[-1].filename if is_same_file else name.decode(errors="surrogateescape")
            lines.append(JitLine(address, max(line, 0), filename))
            position = name_end + 1
        self.lines[self.data[start : start + 8]] = tuple(sorted(lines, key=lambda entry: entry.address))


def machine_of(dump: JitDump, arch: str) -> int:
    """Return the ELF machine number of a dump or, if it is 0 (CPython 3.13), of ``arch``.

    ``arch`` is as ``uname -m`` prints it; "" counts as x86_64.
    """
    return dump.machine or next((number for number, name in MACHINES.items() if name == (arch or "x86_64")), 0)


def read_jitdump(path: Path) -> JitDump:
    """Parse a dump, whose end may be truncated. Raises ObjectError if the file is not a dump."""
    return replace(parse_jitdump(read_object_file(path, _MAX_SIZE), shown_name(path)), name=str(path))


def parse_jitdump(data: bytes, name: str) -> JitDump:
    """Parse the contents of a dump; ``name`` is the file's name, for errors."""
    byte_order = _byte_order(data, name)
    _, version, header_size, machine, _, pid, _, flags = struct.unpack_from(byte_order + "IIIIIIQQ", data)
    if version != 1 or not _FILE_HEADER.size <= header_size <= len(data):
        raise ObjectError(f"{name}: unsupported jitdump version {version} with a header of {header_size} bytes")
    parser = _JitdumpParser(data, byte_order)
    records = _Records(data, byte_order)
    for kind, start, end, time in records.walk(header_size):
        parser.add_record(kind, start, end, time)
    codes, arch_timestamps = tuple(parser.codes), bool(flags & _ARCH_TIMESTAMP)
    return JitDump(pid, arch_timestamps, codes, machine, name, parser.lines_outside, records.damaged_runs)


def _byte_order(data: bytes, name: str) -> str:
    if len(data) < _FILE_HEADER.size:
        raise ObjectError(f"{name}: a jitdump has more than {len(data)} bytes")
    for byte_order in "<>":
        if struct.unpack_from(byte_order + "I", data)[0] == _MAGIC:
            return byte_order
    raise ObjectError(f"{name}: not a jitdump: it begins with {data[:4].hex()}")


# Writers pad records to a multiple of 8 or 16 bytes.
_MAX_PADDING = 16
_HEADER_START = {"<": re.compile(rb"(?=[\0-\4]\0{3}(?!\0{4}))"), ">": re.compile(rb"(?=\0{3}[\0-\4](?!\0{4}))")}
"""Pattern of a record's beginning, by byte order: a known kind, and a size that is not 0. Matches may overlap."""


class _Records(Struct):
    """Finds the records of a dump, including those after bytes that belong to no record.

    A program that forks may write its buffer twice, or in part, so the size in a header alone proves nothing. A record
    is *consistent* if the sizes of its fields add up to this size, except for padding. Lines need only fit, because
    their file names vary in length. A header counts if its record is consistent, or if a consistent record or the end
    of the file follows it.
    """

    data: bytes
    byte_order: str
    end: int = 0
    """End of the last record that was found."""
    damaged_runs: int = 0

    def walk(self, start: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield (kind, start and end of the body, time) of each record from ``start`` on."""
        self.end, is_record = start, self._is_record(start)
        while start >= 0:
            kind, size, time = self._header(start)
            end = start + size if is_record else start
            # If no record follows directly, search for one, even inside this one: it may be the beginning of a record
            # that was written again.
            following = end
            if not self._is_record(end):
                following = self._search(start + _RECORD_HEADER.size if is_record else start + 1)
            if following != end:  # a truncated record or zeros at the end of the file are normal
                self.damaged_runs += following >= 0 or self._is_damage(end)
            if is_record:
                self.end = min(end, following) if following >= 0 else end
                yield kind, start + _RECORD_HEADER.size, self.end, time
            start, is_record = following, True

    def _header(self, start: int) -> tuple[int, int, int]:
        """Return kind, size and time; all are 0 if the file ends within the header."""
        if start + _RECORD_HEADER.size > len(self.data):
            return 0, 0, 0
        kind, size, time = struct.unpack_from(self.byte_order + "IIQ", self.data, start)
        return kind, size, time

    def _fits_file(self, start: int) -> bool:
        return _RECORD_HEADER.size <= self._header(start)[1] <= len(self.data) - start

    def _is_record(self, start: int) -> bool:
        if not self._fits_file(start) or self._is_consistent(start):
            return self._fits_file(start)
        end = start + self._header(start)[1]
        return len(self.data) - end < _RECORD_HEADER.size or (self._fits_file(end) and self._is_consistent(end))

    def _is_consistent(self, start: int, *, with_code: bool = False) -> bool:
        """Return whether a record is consistent; ``with_code``: a load record must contain its code.

        A search requires the code, because bytes inside a record may look like a load record without code.
        """
        kind, size, _ = self._header(start)
        fixed_size = _RECORD_HEADER.size + _FIXED_SIZES.get(kind, size)
        if size < fixed_size:
            return False
        fields_size = fixed_size
        if kind == _CODE_LOAD:
            # up to the end of the name; not positive if the name has no end
            fields_size = self.data.find(b"\0", start + fixed_size, start + size) + 1 - start
            code_size = int(struct.unpack_from(self.byte_order + "Q", self.data, start + fixed_size - 16)[0])
            size_after_name = size - fields_size
            has_code = 0 <= size_after_name - code_size < _MAX_PADDING
            return (
                fields_size > 0 and code_size > 0 and (has_code or (size_after_name < _MAX_PADDING and not with_code))
            )
        if kind == _DEBUG_INFO:
            count = int(struct.unpack_from(self.byte_order + "Q", self.data, start + fixed_size - 8)[0])
            return 0 < count * (_LINE_SIZE + 1) <= size - fixed_size  # file names have at least their final 0
        if kind == _UNWINDING_INFO:
            fields_size += struct.unpack_from(self.byte_order + "Q", self.data, start + _RECORD_HEADER.size)[0]
        return kind in _FIXED_SIZES and 0 <= size - fields_size < _MAX_PADDING

    def _search(self, begin: int) -> int:
        starts = (match.start() for match in _HEADER_START[self.byte_order].finditer(self.data, begin))
        return next(
            (start for start in starts if self._fits_file(start) and self._is_consistent(start, with_code=True)), -1
        )

    def _is_damage(self, start: int) -> bool:
        """Return whether the rest of the file is damage; a truncated record, zeros and a few bytes are normal there."""
        kind, size, _ = self._header(start)
        bytes_left = len(self.data) - start
        is_truncated = kind <= _UNWINDING_INFO and size > bytes_left
        return bytes_left >= _RECORD_HEADER.size and not is_truncated and self.data.count(0, start) < bytes_left
