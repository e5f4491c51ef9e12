"""One ELF file: header, sections, segments, build id; its contents are read only when asked for.

pyelftools reads the headers, which are few; anything with a row per symbol is numpy's work (see ``symtab``). The
values are copied into plain tables at once and no file stays open, so five hundred objects cost no descriptors.
Source of truth: the System V ABI, chapters 4 and 5, and include/uapi/linux/elf.h.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.elffile import ELFFile

from perf2x.model.arrays import U64, Bools
from perf2x.model.errors import ObjectError
from perf2x.objects.inflate import inflate, limit_for
from perf2x.objects.notes import gnu_build_id

SHF_ALLOC = 0x2
SHF_COMPRESSED = 0x800
PF_X = 0x1


@dataclass(frozen=True, slots=True)
class Section:
    """One row of the section header table, names as in Elf64_Shdr without the ``sh_``."""

    name: str
    type: str
    """``SHT_PROGBITS`` …, or the number as text where pyelftools knows no name."""
    flags: int
    address: int
    """svma; 0 when the section is not loaded."""
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header, names as in Elf64_Phdr without the ``p_``."""

    type: str
    """``PT_LOAD`` …, or the number as text."""
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


class ElfObject:
    """An ELF file whose headers have been read and checked against its size; make it with ``open_elf``."""

    name: str
    """For messages: the path, or what the bytes were called."""
    machine: str
    """``EM_X86_64`` …"""
    type: str
    """``ET_EXEC``, ``ET_DYN``, ``ET_REL``, ``ET_CORE``."""
    is_64: bool
    byte_order: str
    """``<`` or ``>``, as in numpy dtypes and struct."""
    entry: int
    size: int
    """Bytes of the whole file."""
    sections: tuple[Section, ...]
    """In the order of the table, so ``link`` and symbols' section numbers index it."""
    segments: tuple[Segment, ...]
    build_id: bytes
    """b"" when the file has none."""

    def __init__(self, source: Path | bytes, name: str) -> None:
        self._source = source
        self.name = name
        try:
            with self._stream() as stream:
                self._read_headers(ELFFile(stream), stream)
        except ELFError as error:
            raise ObjectError(f"{name}: not a readable ELF file: {error or 'the header is cut off'}") from None
        except OSError as error:
            raise ObjectError(f"{name}: {error.strerror or error}") from None
        self.build_id = self._find_build_id()

    @property
    def path(self) -> Path | None:
        """Where the file lies; None when it was given as bytes."""
        return None if isinstance(self._source, bytes) else self._source

    def section(self, name: str) -> Section | None:
        """The first section of that name; one without bytes in this file (SHT_NOBITS) counts as absent."""
        for section in self.sections:
            if section.name == name and section.type != "SHT_NOBITS":
                return section
        return None

    def data(self, section: Section) -> bytes:
        """A section's bytes, inflated when it is compressed (SHF_COMPRESSED); ObjectError when they are not there."""
        if section.type == "SHT_NOBITS":
            return b""
        raw = self.read(section.offset, section.size)
        return self._inflate(raw, section.name) if section.flags & SHF_COMPRESSED else raw

    def read(self, offset: int, size: int) -> bytes:
        """``size`` bytes of the file from ``offset``; ObjectError when the file is shorter."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ObjectError(f"{self.name}: bytes {offset:#x} to {offset + size:#x} lie outside its {self.size:#x}")
        try:
            with self._stream() as stream:
                stream.seek(offset)
                found = stream.read(size)
        except OSError as error:
            raise ObjectError(f"{self.name}: {error.strerror or error}") from None
        if len(found) != size:
            raise ObjectError(f"{self.name}: it became shorter while it was read")
        return found

    def svma(self, offset: U64) -> tuple[U64, Bools]:
        """File offsets (n,) to stated addresses through PT_LOAD, and which of them any segment holds.

        The kernel maps whole pages, so an offset may lie in a page shared by two segments: an exact hit counts before
        one in the rounded pages, an executable segment before others, an earlier one before a later one.
        """
        result = np.zeros(len(offset), np.uint64)
        found = np.zeros(len(offset), np.bool_)
        loads = [segment for segment in self.segments if segment.type == "PT_LOAD"]
        loads.sort(key=lambda segment: not segment.flags & PF_X)
        for page in (1, 4096):
            for load in loads:
                start = load.offset // page * page
                end = -(-(load.offset + load.file_size) // page) * page
                hit = ~found & (offset >= np.uint64(start)) & (offset < np.uint64(min(end, 2**64 - 1)))
                result[hit] = offset[hit] + np.uint64((load.address - load.offset) % 2**64)
                found |= hit
        return result, found

    def _stream(self) -> IO[bytes]:
        return io.BytesIO(self._source) if isinstance(self._source, bytes) else self._source.open("rb")

    def _read_headers(self, elf: Any, stream: IO[bytes]) -> None:
        self.size = elf.stream_len
        self.is_64 = elf.elfclass == 64
        self.byte_order = "<" if elf.little_endian else ">"
        self.machine, self.type, self.entry = str(elf["e_machine"]), str(elf["e_type"]), elf["e_entry"]
        first = self._first_section(elf, stream)
        self.sections = self._named(self._section_table(elf, stream, first), elf, first)
        self.segments = self._segment_table(elf, stream, first)

    def _first_section(self, elf: Any, stream: IO[bytes]) -> Any:
        """Section 0, which holds the counts that do not fit the ELF header (SHN_XINDEX, PN_XNUM); None without any."""
        if elf["e_shoff"] == 0:
            return None
        self._require_table("section headers", elf["e_shoff"], 1, elf["e_shentsize"], elf.structs.Elf_Shdr.sizeof())
        return struct_parse(elf.structs.Elf_Shdr, stream, elf["e_shoff"])

    def _require_table(self, what: str, offset: int, count: int, step: int, needed: int) -> None:
        if step < needed:
            raise ObjectError(f"{self.name}: {what} of {step} bytes each, {needed} expected")
        if offset + count * step > self.size:
            raise ObjectError(f"{self.name}: {count} {what} at {offset:#x} lie outside its {self.size:#x} bytes")

    def _section_table(self, elf: Any, stream: IO[bytes], first: Any) -> list[Any]:
        if first is None:
            return []
        count, offset, step = elf["e_shnum"] or first["sh_size"], elf["e_shoff"], elf["e_shentsize"]
        self._require_table("section headers", offset, count, step, elf.structs.Elf_Shdr.sizeof())
        return [struct_parse(elf.structs.Elf_Shdr, stream, offset + i * step) for i in range(count)]

    def _named(self, headers: list[Any], elf: Any, first: Any) -> tuple[Section, ...]:
        if first is None:
            return ()
        index = elf["e_shstrndx"]
        index = first["sh_link"] if index in ("SHN_XINDEX", 0xFFFF) else index
        names = b""
        if isinstance(index, int) and 0 < index < len(headers):
            names = self.read(headers[index]["sh_offset"], headers[index]["sh_size"])
        return tuple(_section(header, names) for header in headers)

    def _segment_table(self, elf: Any, stream: IO[bytes], first: Any) -> tuple[Segment, ...]:
        count, offset, step = elf["e_phnum"], elf["e_phoff"], elf["e_phentsize"]
        if count == 0xFFFF and first is not None:
            count = first["sh_info"]
        if count == 0 or offset == 0:
            return ()
        self._require_table("program headers", offset, count, step, elf.structs.Elf_Phdr.sizeof())
        return tuple(_segment(struct_parse(elf.structs.Elf_Phdr, stream, offset + i * step)) for i in range(count))

    def _find_build_id(self) -> bytes:
        """The first NT_GNU_BUILD_ID: by section (debug files keep those), else by segment (stripped section tables)."""
        places = [(s.offset, s.size, s.alignment) for s in self.sections if s.type == "SHT_NOTE"]
        places += [(s.offset, s.file_size, s.alignment) for s in self.segments if s.type == "PT_NOTE"]
        for offset, size, alignment in places:
            if size and offset + size <= self.size:
                found = gnu_build_id(self.read(offset, size), self.byte_order, alignment)
                if found:
                    return found
        return b""

    def _inflate(self, raw: bytes, section: str) -> bytes:
        """Elf64_Chdr: type, (reserved,) size, alignment, then the stream."""
        size_of_header = 24 if self.is_64 else 12
        words = np.frombuffer(raw[: size_of_header // 4 * 4], self.byte_order + "u4")
        if len(raw) < size_of_header:
            raise ObjectError(f"{self.name}, {section}: the compression header is cut off")
        kind = {1: "zlib", 2: "zstd"}.get(int(words[0]))
        size = int(np.frombuffer(raw, self.byte_order + "u8", 1, 8)[0]) if self.is_64 else int(words[1])
        if kind is None or size > limit_for(len(raw)):
            raise ObjectError(f"{self.name}, {section}: compressed in a way that is not known (type {int(words[0])})")
        return inflate(kind, raw[size_of_header:], size)


def open_elf(source: Path | str | bytes, name: str = "") -> ElfObject:
    """Read the headers of an ELF file by path, or from bytes that are an ELF file.

    ``name`` is what messages call it (default: the path). ObjectError when it is no ELF file, or its tables of sections
    or segments lie outside it; what a single section holds is checked when it is read.
    """
    if isinstance(source, bytes):
        return ElfObject(source, name or "(bytes)")
    return ElfObject(Path(source), name or str(source))


def _section(header: Any, names: bytes) -> Section:
    start = header["sh_name"]
    end = names.find(b"\0", start)
    name = names[start : end if end >= 0 else len(names)].decode(errors="surrogateescape")
    return Section(
        name, str(header["sh_type"]), header["sh_flags"], header["sh_addr"], header["sh_offset"], header["sh_size"],
        header["sh_link"], header["sh_info"], header["sh_addralign"], header["sh_entsize"],
    )  # fmt: skip


def _segment(header: Any) -> Segment:
    return Segment(
        str(header["p_type"]), header["p_flags"], header["p_offset"], header["p_vaddr"], header["p_filesz"],
        header["p_memsz"], header["p_align"],
    )  # fmt: skip
