"""Decodes simpleperf's lists of files with their symbols, in both of its encodings.

Source of truth: simpleperf/record_file_writer.cpp, record_file_reader.cpp and record_file.proto.
"""

from array import array
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import HeaderFeature
from perf2x.base.columnar import argsort, as_uint64
from perf2x.model.recording import FileKind, RecordedFile, shown_path
from perf2x.reader.header.section_reader import SectionError, SectionReader, text

_UNKNOWN = 2**64 - 1
_MOST_FILES, _MOST_SYMBOLS = 1 << 16, 1 << 19
"""Limits of files in a section, and of symbols in a file; simpleperf lists only files with samples. Each takes more
memory than its bytes in the section.
"""


class _Draft(Struct):
    """A file whose fields are read one after another."""

    path: str = ""
    kind: int = 0
    min_vaddr: int = 0
    offset: int = 0
    starts: "array[int]" = field(default_factory=lambda: array("Q"))
    lengths: "array[int]" = field(default_factory=lambda: array("Q"))
    names: list[str] = field(default_factory=list)
    added: int = 0

    def add(self, start: int, length: int, name: str) -> None:
        self.added += 1
        if self.added > _MOST_SYMBOLS:
            raise SectionError(f"more than {_MOST_SYMBOLS:,} symbols in a file")
        if length and name:  # a symbol without length contains no address
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
            offset=self.offset if self.offset != _UNKNOWN else None,
            start=start,
            end=start + np.minimum(length, ~start),
            names=[self.names[row] for row in order.tolist()],
        )


def read_files(number: int, section: SectionReader) -> Iterator[tuple[str, RecordedFile]]:
    """Yield name and contents of each file that has symbols. Raises SectionError if the section is damaged.

    { u32 size; file }: in FILE a struct, in FILE2 a message FileFeature.
    """
    found = 0
    while section.left:
        found += 1
        draft = _DECODERS[number](SectionReader(section.take(section.u32()), section.order))
        if not draft.path or found > _MOST_FILES:
            raise SectionError("a file without a name" if not draft.path else f"more than {_MOST_FILES:,} files")
        if draft.names:
            yield shown_path(draft.path), draft.file()


def _read_struct(one: SectionReader) -> _Draft:
    """path NUL; u32 type; u64 min_vaddr; u32 nr; { u64 vaddr; u32 length; name NUL } [nr]; the rest by type."""
    draft = _Draft(one.terminated(), *one.numbers("IQ"))
    for _ in range(one.count(13)):
        start, length = one.numbers("QI")
        draft.add(start, length, one.terminated())
    draft.offset = one.u64() if draft.kind in (FileKind.MODULE, FileKind.ELF) and one.left else _UNKNOWN
    return draft


def _read_message(one: SectionReader) -> _Draft:
    """path = 1, type = 2, min_vaddr = 3, symbol = 4 { vaddr = 1, len = 2, name = 3 }, elf_file = 6 { offset = 1 }, …"""
    draft = _Draft()
    for number, value in _fields(one.data):
        if number == 1:
            draft.path = text(_bytes(value))
        elif number == 2:
            draft.kind = _number(value)
        elif number == 3:
            draft.min_vaddr = _number(value)
        elif number == 4:
            fields = dict(_fields(_bytes(value)))
            draft.add(_number(fields.get(1, 0)), _number(fields.get(2, 0)), text(_bytes(fields.get(3, b""))))
        elif number in (6, 7):
            draft.offset = _number(dict(_fields(_bytes(value))).get(1, 0))
    return draft


_DECODERS: dict[int, Callable[[SectionReader], _Draft]] = {
    HeaderFeature.SIMPLEPERF_FILE: _read_struct,
    HeaderFeature.SIMPLEPERF_FILE2: _read_message,
}


def debug_unwind_files(section: SectionReader) -> list[dict[str, object]]:
    """message DebugUnwindFeature { repeated { path = 1; size = 2 } file = 1 }."""
    listed = islice((value for number, value in _fields(section.data) if number == 1), _MOST_FILES)
    found = (dict(_fields(_bytes(value))) for value in listed)
    return [{"path": text(_bytes(one.get(1, b""))), "size": _number(one.get(2, 0))} for one in found]


_SIZES = {1: 8, 5: 4}
"""Sizes of fields, by wire type; types with a length are missing."""


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (number, value) of each field of a protobuf message.

    Raises SectionError if it is truncated or not a message.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        value, at = _varint(message, at) if wire in (0, 2) else (_SIZES.get(wire, _UNKNOWN), at)
        if wire == 0:
            yield key >> 3, value
            continue
        if value > len(message) - at:
            raise SectionError(f"a field of type {wire} with {value} bytes at {at:#x} of {len(message)}")
        yield key >> 3, message[at : at + value]
        at += value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number at ``at``, at most ten bytes long, and the position after it."""
    value = 0
    for shift, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value & _UNKNOWN, at + shift + 1
    raise SectionError("an unterminated number")


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise SectionError("it has bytes where a number is expected")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise SectionError("it has a number where bytes are expected")
    return value
