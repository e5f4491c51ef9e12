"""Opens ELF files: headers, sections, segments and build id at once, contents of sections on demand.

The headers are plain tuples (base/binaries/elf/elf_headers.py); tables with a row per symbol are numpy arrays
(base/binaries/elf/symtab.py). No file stays open, so 500 objects take up no file descriptors.
"""

import io
import os
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import IO

import numpy as np

from perf2x.base.binaries.elf.decompress import inflate, inflate_file
from perf2x.base.binaries.elf.elf_headers import PF_X, SHF_ALLOC, SHF_COMPRESSED, ElfHeaders, ElfSection, ElfSegment
from perf2x.base.columnar import U64, Bools, falses
from perf2x.base.files.read_file import open_regular, read_object_file
from perf2x.base.files.unpack_limit import memory_limit, too_large
from perf2x.errors import ObjectError

__all__ = ["PF_X", "SHF_ALLOC", "SHF_COMPRESSED", "ElfObject", "ElfSection", "ElfSegment", "open_elf", "open_object"]
from perf2x.base.binaries.elf.build_id_notes import gnu_build_id

_UNBUFFERED = 1 << 30


class ElfObject:
    """An ELF file whose headers have been read and checked against its size; created by ``open_elf``."""

    name: str
    """The name in messages: the path, or the name given to the bytes."""
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
    sections: tuple[ElfSection, ...]
    """In the order of the table, so ``link`` and symbols' section numbers index it."""
    segments: tuple[ElfSegment, ...]
    build_id: bytes
    """b"" when the file has none."""

    def __init__(self, source: Path | bytes, name: str) -> None:
        self._source = source
        self.name = name
        try:
            with self._stream() as stream:
                headers = ElfHeaders(stream, name)
                self._status = os.fstat(stream.fileno()) if isinstance(source, Path) else None
        except OSError as error:
            raise ObjectError(f"{name}: {error.strerror or error}") from None
        self.size, self.is_64, self.byte_order = headers.size, headers.is_64, headers.byte_order
        self.machine, self.type, self.entry = headers.machine, headers.type, headers.entry
        self.sections, self.segments = headers.sections, headers.segments
        self.build_id = self._find_build_id()

    @property
    def path(self) -> Path | None:
        """The file's path; None for a file made of bytes."""
        return None if isinstance(self._source, bytes) else self._source

    @property
    def identity(self) -> str:
        """Text that identifies this very file: device, inode, size and times or, for a file made of bytes, a digest."""
        status = self._status
        if status is None:
            from hashlib import blake2b  # loads OpenSSL

            return blake2b(self.read(0, self.size), digest_size=20).hexdigest()
        numbers = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        return "-".join(f"{number:x}" for number in numbers)

    def section(self, name: str) -> ElfSection | None:
        """Return the first section of that name, ignoring those without bytes in this file (SHT_NOBITS).

        ``.debug_info`` also finds ``.zdebug_info``, its compressed form in older GNU tools.
        """
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, ElfSection]:
        in_file = [section for section in self.sections if section.type != "SHT_NOBITS"]
        return {section.name.replace(".zdebug_", ".debug_"): section for section in reversed(in_file)}

    def data(self, section: ElfSection) -> bytes:
        """Return a section's bytes, decompressed (SHF_COMPRESSED, or ``.zdebug_info`` of older GNU tools).

        Raises ObjectError when they lie outside the file.
        """
        if section.type == "SHT_NOBITS":
            return b""
        raw = self.read(section.offset, section.size)
        if not is_compressed(section):
            return raw
        if section.flags & SHF_COMPRESSED:
            return self._inflate(raw, section.name)
        if not raw.startswith(b"ZLIB"):
            raise ObjectError(f"{self.name}, {section.name}: no ZLIB header")
        return inflate("zlib", raw[12:], min(int.from_bytes(raw[4:12], "big"), memory_limit(len(raw))))

    def load_of(self, svma: int) -> ElfSegment | None:
        """Return the PT_LOAD segment that has bytes in the file for the address ``svma``; None if there is none."""
        loads = (segment for segment in self.segments if segment.type == "PT_LOAD")
        return next((load for load in loads if load.address <= svma < load.address + load.file_size), None)

    def code_at(self, svma: int, size: int) -> bytes:
        """Return up to ``size`` bytes at a link-time address; b"" where the file has none."""
        load = self.load_of(svma)
        if load is None:
            return b""
        skip = svma - load.address
        return self.read(load.offset + skip, min(size, load.file_size - skip))

    def read(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes of the file at ``offset``. Raises ObjectError when the file is shorter."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ObjectError(
                f"{self.name}: bytes {offset:#x} to {offset + size:#x} lie beyond its size of {self.size:#x}"
            )
        if isinstance(self._source, bytes):
            return self._source[offset : offset + size]
        try:
            # buffering costs more than reading most sections; an unbuffered single read would stop short of 2 GiB
            with self._source.open("rb", buffering=0 if size < _UNBUFFERED else -1) as stream:
                stream.seek(offset)
                found = stream.read(size)
        except OSError as error:
            raise ObjectError(f"{self.name}: {error.strerror or error}") from None
        if len(found) != size:
            raise ObjectError(f"{self.name}: it shrank while it was being read")
        return found

    def svma(self, offset: U64) -> tuple[U64, Bools]:
        """Convert file offsets to link-time addresses; also return which offsets lie in a PT_LOAD segment.

        The kernel maps whole pages, so an offset may lie in a page of two segments. A segment that contains the offset
        itself wins over one whose pages contain it, then an executable segment over others, then the earlier segment.
        Shapes: (n,) each.
        """
        result = np.zeros(len(offset), np.uint64)
        found = falses(len(offset))
        loads = [segment for segment in self.segments if segment.type == "PT_LOAD"]
        loads.sort(key=lambda segment: not segment.flags & PF_X)
        for page in (1, 4096):
            for load in loads:
                start = load.offset // page * page
                end = -(-(load.offset + load.file_size) // page) * page
                hit = ~found & (offset >= np.uint64(start)) & (offset < np.uint64(min(end, 2**64 - 1)))
                result[hit] = offset[hit] + np.uint64((load.address - load.offset) % 2**64)
                found |= hit
                if found.all():
                    return result, found
        return result, found

    def _stream(self) -> IO[bytes]:
        return io.BytesIO(self._source) if isinstance(self._source, bytes) else open_regular(self._source)

    def _find_build_id(self) -> bytes:
        """Return the first NT_GNU_BUILD_ID: from sections (debug files keep those), else from segments."""
        places = [(s.offset, s.size, s.alignment) for s in self.sections if s.type == "SHT_NOTE"]
        places += [(s.offset, s.file_size, s.alignment) for s in self.segments if s.type == "PT_NOTE"]
        for offset, size, alignment in places:
            if size and offset + size <= self.size:
                found = gnu_build_id(self.read(offset, size), self.byte_order, alignment)
                if found:
                    return found
        return b""

    def _inflate(self, raw: bytes, section: str) -> bytes:
        """Decompress a section, which begins with an Elf64_Chdr or Elf32_Chdr: type, (reserved,) size, alignment."""
        size_of_header = 24 if self.is_64 else 12
        if len(raw) < size_of_header:
            raise ObjectError(f"{self.name}, {section}: the compression header is cut off")
        words = np.frombuffer(raw[:size_of_header], self.byte_order + "u4")
        kind = {1: "zlib", 2: "zstd"}.get(int(words[0]))
        size = int(np.frombuffer(raw, self.byte_order + "u8", 1, 8)[0]) if self.is_64 else int(words[1])
        if kind is None:
            raise ObjectError(f"{self.name}, {section}: unknown compression (type {int(words[0])})")
        if size > (limit := memory_limit(len(raw))):
            raise ObjectError(*too_large(f"{self.name}, {section}: ", len(raw), limit))
        return inflate(kind, raw[size_of_header:], size)


def is_compressed(section: ElfSection) -> bool:
    """Return whether a section's bytes in the file are not its contents."""
    return bool(section.flags & SHF_COMPRESSED) or section.name.startswith(".z")


def open_elf(source: Path | str | bytes, name: str = "") -> ElfObject:
    """Read the headers of an ELF file from a path, or from the bytes of an ELF file.

    ``name`` is its name in messages (default: the path). Raises ObjectError when it is not an ELF file, or its section
    or segment headers lie outside it; section contents are checked when they are read.
    """
    if isinstance(source, bytes):
        return ElfObject(source, name or "(bytes)")
    return ElfObject(Path(source), name or str(source))


def open_object(path: Path) -> ElfObject:
    """Open an ELF file, perhaps compressed by gzip, xz or zstd as kernel modules are.

    Raises ObjectError if it is not an ELF file.
    """
    if path.suffix not in (".gz", ".xz", ".zst"):
        return open_elf(path)
    return open_elf(inflate_file(read_object_file(path)), str(path))


# Maximum bytes of a function to read.
MOST = 1 << 20


def whole_code(elf: ElfObject, start: int, size: int) -> bytes:
    """Return ``size`` bytes at a link-time address.

    Raises ObjectError if the file lacks any of them, or for more than MOST bytes.
    """
    if size > MOST:
        raise ObjectError(f"its code is larger than {MOST >> 20} MiB")
    found = elf.code_at(start, size)
    if len(found) < size:
        raise ObjectError(f"{elf.name}: it has no code at {start:#x}")
    return found


# Bytes of a block, so few that opening the file takes longer than reading one; the number of blocks to cache.
BLOCK, MAX_BLOCKS = 1 << 14, 256


class CodeBlocks:
    """Reads code of one file by link-time address, in blocks, of which a limited number is cached."""

    def __init__(self, elf: ElfObject) -> None:
        self.elf = elf
        self._block = lru_cache(MAX_BLOCKS)(partial(_read_block, elf))

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes between two addresses, as far as the file has them in a segment; maybe none."""
        load = self.elf.load_of(start)
        if load is None:
            return b""
        shift = load.offset - load.address
        offset, stop = start + shift, min(end + shift, load.offset + load.file_size, self.elf.size)
        first, last = offset // BLOCK, (stop - 1) // BLOCK
        found = b"".join(self._block(number) for number in range(first, last + 1))
        return found[offset - first * BLOCK : stop - first * BLOCK]


def _read_block(elf: ElfObject, number: int) -> bytes:
    start = number * BLOCK
    return elf.read(start, min(BLOCK, elf.size - start))
