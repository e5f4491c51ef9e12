"""Decodes the sections in which simpleperf lists files: those with their symbols, and those of debug unwinding.

Files with symbols have two encodings: FILE has structs, FILE2 has protobuf messages. Source of truth:
simpleperf/record_file_writer.cpp, record_file_reader.cpp and record_file.proto.
"""

from array import array
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import HeaderFeature
from perf2x.base.columnar import argsort, as_uint64
from perf2x.model.recording import FileKind, RecordedFile, shown_path
from perf2x.reader.header.section_reader import SectionError, SectionReader, decode_string

_MAX_U64 = 2**64 - 1  # also stands for an unknown offset of a file
_MAX_FILES, _MAX_SYMBOLS = 1 << 16, 1 << 19
"""Largest number of files in a section, and of symbols in a file, so that a hostile section cannot exhaust memory.

Python's objects take more memory than the bytes of a section. Real sections stay below: simpleperf lists only files
with samples.
"""


class _Draft(Struct):
    path: str = ""
    kind: int = 0
    min_vaddr: int = 0
    offset: int = 0
    starts: "array[int]" = field(default_factory=lambda: array("Q"))
    lengths: "array[int]" = field(default_factory=lambda: array("Q"))
    names: list[str] = field(default_factory=list)
    symbol_count: int = 0

    def add_symbol(self, start: int, length: int, name: str) -> None:
        self.symbol_count += 1
        if self.symbol_count > _MAX_SYMBOLS:
            raise SectionError(f"more than {_MAX_SYMBOLS:,} symbols in a file")
        if length and name:  # no address lies in a symbol of length 0
            self.starts.append(start)
            self.lengths.append(length)
            self.names.append(name)

    def file(self) -> RecordedFile:
        starts = as_uint64(self.starts)
        order = argsort(starts)
        start, length = starts[order], as_uint64(self.lengths)[order]
        return RecordedFile(
            kind=FileKind(min(self.kind, FileKind.UNKNOWN)),
            min_vaddr=self.min_vaddr,
            offset=self.offset if self.offset != _MAX_U64 else None,
            start=start,
            end=start + np.minimum(length, ~start),  # ~start is the most that can be added without overflow
            names=[self.names[row] for row in order.tolist()],
        )


def read_files(number: int, section: SectionReader) -> Iterator[tuple[str, RecordedFile]]:
    """Yield path and description of each file that has symbols. Raises SectionError if the section is damaged.

    ``number`` is HeaderFeature.SIMPLEPERF_FILE or SIMPLEPERF_FILE2. Layout: { u32 size; file } to the end; in FILE, a
    file is a struct; in FILE2, a protobuf message FileFeature.
    """
    file_count = 0
    while section.bytes_left:
        file_count += 1
        draft = _DECODERS[number](SectionReader(section.take(section.u32()), section.byte_order))
        if not draft.path or file_count > _MAX_FILES:
            raise SectionError("a file without a name" if not draft.path else f"more than {_MAX_FILES:,} files")
        if draft.names:
            yield shown_path(draft.path), draft.file()


def _read_struct(file: SectionReader) -> _Draft:
    """path NUL; u32 type; u64 min_vaddr; u32 nr; { u64 vaddr; u32 length; name NUL } [nr]; u64 offset.

    Only ELF files and kernel modules have the offset, unless simpleperf was too old to write it.
    """
    draft = _Draft(file.nul_terminated(), *file.numbers("IQ"))
    for _ in range(file.count(13)):  # the size of a symbol with an empty name
        start, length = file.numbers("QI")
        draft.add_symbol(start, length, file.nul_terminated())
    draft.offset = file.u64() if draft.kind in (FileKind.MODULE, FileKind.ELF) and file.bytes_left else _MAX_U64
    return draft


def _read_message(file: SectionReader) -> _Draft:
    """path = 1; type = 2; min_vaddr = 3; symbol = 4 { vaddr = 1; len = 2; name = 3 }; elf_file = 6 { offset = 1 }.

    A kernel module has its offset in kernel_module = 7 { offset = 1 }.
    """
    draft = _Draft()
    for number, value in _fields(file.data):
        if number == 1:
            draft.path = decode_string(_as_bytes(value))
        elif number == 2:
            draft.kind = _as_number(value)
        elif number == 3:
            draft.min_vaddr = _as_number(value)
        elif number == 4:
            fields = dict(_fields(_as_bytes(value)))
            draft.add_symbol(
                _as_number(fields.get(1, 0)), _as_number(fields.get(2, 0)), decode_string(_as_bytes(fields.get(3, b"")))
            )
        elif number in (6, 7):
            draft.offset = _as_number(dict(_fields(_as_bytes(value))).get(1, 0))
    return draft


_DECODERS: dict[int, Callable[[SectionReader], _Draft]] = {
    HeaderFeature.SIMPLEPERF_FILE: _read_struct,
    HeaderFeature.SIMPLEPERF_FILE2: _read_message,
}


def debug_unwind_files(section: SectionReader) -> list[dict[str, object]]:
    """message DebugUnwindFeature { repeated { path = 1; size = 2 } file = 1 }."""
    messages = islice((value for number, value in _fields(section.data) if number == 1), _MAX_FILES)
    files = (dict(_fields(_as_bytes(message))) for message in messages)
    return [{"path": decode_string(_as_bytes(file.get(1, b""))), "size": _as_number(file.get(2, 0))} for file in files]


# Bytes of a field, by wire type.
_FIXED_SIZES = {1: 8, 5: 4}


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a protobuf message: int for varints, bytes for all other wire types."""
    offset = 0
    while offset < len(message):
        key, offset = _varint(message, offset)
        wire_type = key & 7
        # 0 is a varint; 2 is a length and as many bytes; unknown types get a size that does not fit
        number, offset = (
            _varint(message, offset) if wire_type in (0, 2) else (_FIXED_SIZES.get(wire_type, _MAX_U64), offset)
        )
        if wire_type == 0:
            yield key >> 3, number
            continue
        if number > len(message) - offset:
            raise SectionError(f"a field of type {wire_type} with {number} bytes at {offset:#x} of {len(message)}")
        yield key >> 3, message[offset : offset + number]
        offset += number


def _varint(message: bytes, offset: int) -> tuple[int, int]:
    """A varint has at most ten bytes; also return the offset after it."""
    value = 0
    for index, byte in enumerate(message[offset : offset + 10]):
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value & _MAX_U64, offset + index + 1
    raise SectionError("an unterminated number")


def _as_number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise SectionError("it has bytes where a number is expected")
    return value


def _as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise SectionError("it has a number where bytes are expected")
    return value
