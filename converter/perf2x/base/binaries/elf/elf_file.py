"""Opens ELF files: reads headers and build id at once, contents of sections on demand.

No file stays open, so 500 objects take up no file descriptors.
"""

import io
import os
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import IO

import numpy as np

from perf2x.base.binaries.elf.build_id_notes import gnu_build_id
from perf2x.base.binaries.elf.decompress import decompress, decompress_file
from perf2x.base.binaries.elf.elf_headers import PF_X, SHF_ALLOC, SHF_COMPRESSED, ElfHeaders, ElfSection, ElfSegment
from perf2x.base.columnar import U64, Bools, falses
from perf2x.base.files.read_file import open_regular, read_object_file
from perf2x.base.files.unpack_limit import memory_limit, too_large
from perf2x.errors import ObjectError

__all__ = ["PF_X", "SHF_ALLOC", "SHF_COMPRESSED", "ElfObject", "ElfSection", "ElfSegment", "open_elf", "open_object"]

_MIN_BUFFERED_SIZE = 1 << 30


class ElfObject:
    """An ELF file whose headers were read and checked against its size; created by ``open_elf``."""

    name: str
    """The name in messages: the path, or the name given to the bytes."""
    machine: str
    """``EM_X86_64`` …, or the number as text."""
    type: str
    """``ET_EXEC``, ``ET_DYN``, ``ET_REL``, ``ET_CORE``, or the number as text."""
    is_64: bool
    byte_order: str
    """``<`` or ``>``, as in numpy dtypes and struct."""
    entry: int
    """svma of the first instruction to run, 0 if there is none."""
    size: int
    """Bytes of the whole file."""
    sections: tuple[ElfSection, ...]
    """In the order of section numbers, so ``ElfSection.link`` is an index into it."""
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
        """Text that identifies the file: device, inode, size and times; for a file made of bytes, a digest."""
        status = self._status
        if status is None:
            from hashlib import blake2b  # loads OpenSSL

            return blake2b(self.read(0, self.size), digest_size=20).hexdigest()
        numbers = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        return "-".join(f"{number:x}" for number in numbers)

    def section(self, name: str) -> ElfSection | None:
        """Return the first section with this name that is not SHT_NOBITS; None if there is none.

        ``.debug_info`` also finds ``.zdebug_info``, its compressed form in older GNU tools.
        """
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, ElfSection]:
        in_file = [section for section in self.sections if section.type != "SHT_NOBITS"]
        return {section.name.replace(".zdebug_", ".debug_"): section for section in reversed(in_file)}

    def data(self, section: ElfSection) -> bytes:
        """Return a section's contents, decompressed if needed; b"" for SHT_NOBITS.

        Raises ObjectError if the section lies outside the file, or cannot be decompressed.
        """
        if section.type == "SHT_NOBITS":
            return b""
        raw = self.read(section.offset, section.size)
        if not is_compressed(section):
            return raw
        if section.flags & SHF_COMPRESSED:
            return self._decompress(raw, section.name)
        if not raw.startswith(b"ZLIB"):
            raise ObjectError(f"{self.name}, {section.name}: no ZLIB header")
        # after "ZLIB", the header has the size of the contents, always in big-endian order
        return decompress("zlib", raw[12:], min(int.from_bytes(raw[4:12], "big"), memory_limit(len(raw))))

    def load_segment_at(self, svma: int) -> ElfSegment | None:
        """Return the PT_LOAD segment that has bytes in the file for an address; None if there is none."""
        loads = (segment for segment in self.segments if segment.type == "PT_LOAD")
        return next((load for load in loads if load.address <= svma < load.address + load.file_size), None)

    def bytes_at(self, svma: int, size: int) -> bytes:
        """Return ``size`` bytes at an address: fewer at the end of a segment, b"" where no segment has bytes."""
        segment = self.load_segment_at(svma)
        if segment is None:
            return b""
        skip = svma - segment.address
        return self.read(segment.offset + skip, min(size, segment.file_size - skip))

    def read(self, offset: int, size: int) -> bytes:
        """Read ``size`` bytes at ``offset``. Raises ObjectError if the file is shorter, or cannot be read."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise ObjectError(
                f"{self.name}: bytes {offset:#x} to {offset + size:#x} lie beyond its size of {self.size:#x}"
            )
        if isinstance(self._source, bytes):
            return self._source[offset : offset + size]
        try:
            # A buffer costs more than most reads, but one unbuffered read returns less than 2 GiB.
            with self._source.open("rb", buffering=0 if size < _MIN_BUFFERED_SIZE else -1) as stream:
                stream.seek(offset)
                data = stream.read(size)
        except OSError as error:
            raise ObjectError(f"{self.name}: {error.strerror or error}") from None
        if len(data) != size:
            raise ObjectError(f"{self.name}: it shrank while it was being read")
        return data

    def offset_to_svma(self, offset: U64) -> tuple[U64, Bools]:
        """Convert file offsets to svmas; also return which offsets lie in a PT_LOAD segment. Shapes: (n,) each.

        The kernel maps whole pages, so an offset may lie in pages of two segments. Segments that contain the offset
        itself take precedence, then executable segments, then earlier ones.
        """
        result = np.zeros(len(offset), np.uint64)
        is_found = falses(len(offset))
        loads = [segment for segment in self.segments if segment.type == "PT_LOAD"]
        loads.sort(key=lambda segment: not segment.flags & PF_X)  # stable: executable segments first
        # first the segments themselves, then their pages
        for page_size in (1, 4096):
            for load in loads:
                start = load.offset // page_size * page_size
                end = -(-(load.offset + load.file_size) // page_size) * page_size
                is_in = ~is_found & (offset >= np.uint64(start)) & (offset < np.uint64(min(end, 2**64 - 1)))
                result[is_in] = offset[is_in] + np.uint64((load.address - load.offset) % 2**64)
                is_found |= is_in
                if is_found.all():
                    return result, is_found
        return result, is_found

    def _stream(self) -> IO[bytes]:
        return io.BytesIO(self._source) if isinstance(self._source, bytes) else open_regular(self._source)

    def _find_build_id(self) -> bytes:
        # sections come first, because in debug files the segments have no contents
        notes = [(s.offset, s.size, s.alignment) for s in self.sections if s.type == "SHT_NOTE"]
        notes += [(s.offset, s.file_size, s.alignment) for s in self.segments if s.type == "PT_NOTE"]
        for offset, size, alignment in notes:
            if size and offset + size <= self.size:
                build_id = gnu_build_id(self.read(offset, size), self.byte_order, alignment)
                if build_id:
                    return build_id
        return b""

    def _decompress(self, raw: bytes, section: str) -> bytes:
        # the header is Elf64_Chdr (type, reserved, size, alignment) or Elf32_Chdr (type, size, alignment)
        header_size = 24 if self.is_64 else 12
        if len(raw) < header_size:
            raise ObjectError(f"{self.name}, {section}: the compression header is cut off")
        words = np.frombuffer(raw[:header_size], self.byte_order + "u4")
        compression = {1: "zlib", 2: "zstd"}.get(int(words[0]))
        size = int(np.frombuffer(raw, self.byte_order + "u8", 1, 8)[0]) if self.is_64 else int(words[1])
        if compression is None:
            raise ObjectError(f"{self.name}, {section}: unknown compression (type {int(words[0])})")
        if size > (limit := memory_limit(len(raw))):
            raise ObjectError(*too_large(f"{self.name}, {section}: ", len(raw), limit))
        return decompress(compression, raw[header_size:], size)


def is_compressed(section: ElfSection) -> bool:
    """Return whether a section is compressed in the file."""
    return bool(section.flags & SHF_COMPRESSED) or section.name.startswith(".zdebug_")


def open_elf(source: Path | str | bytes, name: str = "") -> ElfObject:
    """Open an ELF file, given its path or its bytes; ``name`` is its name in messages (default: the path).

    Raises ObjectError if it is not an ELF file, or if its section or segment headers lie outside it.
    """
    if isinstance(source, bytes):
        return ElfObject(source, name or "(bytes)")
    return ElfObject(Path(source), name or str(source))


def open_object(path: Path) -> ElfObject:
    """Open an ELF file, which may be compressed by gzip, xz or zstd as kernel modules are.

    Raises ObjectError if it is not an ELF file.
    """
    if path.suffix not in (".gz", ".xz", ".zst"):
        return open_elf(path)
    return open_elf(decompress_file(read_object_file(path)), str(path))


MAX_CODE_SIZE = 1 << 20


def read_code(elf: ElfObject, start: int, size: int) -> bytes:
    """Return the ``size`` bytes of code at ``start`` (svma).

    Raises ObjectError if the file has fewer there, or ``size`` is above MAX_CODE_SIZE.
    """
    if size > MAX_CODE_SIZE:
        raise ObjectError(f"its code is larger than {MAX_CODE_SIZE >> 20} MiB")
    code = elf.bytes_at(start, size)
    if len(code) < size:
        raise ObjectError(f"{elf.name}: it has no code at {start:#x}")
    return code


# Bytes of a block, and the number of cached blocks. Reading a block takes no longer than opening the file.
BLOCK_SIZE, MAX_BLOCKS = 1 << 14, 256


class CodeBlocks:
    """Reads code of one file by address, in cached blocks."""

    def __init__(self, elf: ElfObject) -> None:
        self.elf = elf
        self._block = lru_cache(MAX_BLOCKS)(partial(_read_block, elf))

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes between two svmas, up to the end of the segment; b"" if no segment contains ``start``."""
        segment = self.elf.load_segment_at(start)
        if segment is None:
            return b""
        shift = segment.offset - segment.address
        offset, stop = start + shift, min(end + shift, segment.offset + segment.file_size, self.elf.size)
        first, last = offset // BLOCK_SIZE, (stop - 1) // BLOCK_SIZE
        blocks = b"".join(self._block(number) for number in range(first, last + 1))
        return blocks[offset - first * BLOCK_SIZE : stop - first * BLOCK_SIZE]


def _read_block(elf: ElfObject, number: int) -> bytes:
    start = number * BLOCK_SIZE
    return elf.read(start, min(BLOCK_SIZE, elf.size - start))
