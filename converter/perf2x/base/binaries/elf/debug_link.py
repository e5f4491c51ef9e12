"""Reads the sections of stripped files that lead to their symbols: ``.gnu_debuglink`` and ``.gnu_debugdata``.

Source of truth: the GDB manual, "Debugging Information in Separate Files" and "MiniDebugInfo".
"""

from pathlib import Path
from zlib import crc32

from perf2x.base.abi import ENDIAN
from perf2x.base.binaries.elf.decompress import decompress
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.files.unpack_limit import memory_limit
from perf2x.errors import ObjectError


def debug_link(file: ElfObject) -> tuple[str, int] | None:
    """Read ``.gnu_debuglink``: (name of the debug file, its CRC-32); None if it is missing or damaged."""
    section = file.section(".gnu_debuglink")
    if section is None:
        return None
    try:
        data = file.data(section)
    except ObjectError:
        return None
    name, _, _ = data.partition(b"\0")  # zeros up to a multiple of four bytes follow, then the CRC
    crc = int.from_bytes(data[-4:], ENDIAN[file.byte_order]) if len(data) >= 5 else -1
    return (name.decode(errors="surrogateescape"), crc) if name and crc >= 0 else None


def has_crc(path: Path, crc: int) -> bool:
    """Return whether the file at ``path`` has this CRC-32; False if it cannot be read."""
    crc_so_far = 0
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                crc_so_far = crc32(block, crc_so_far)
    except (OSError, ValueError):
        return False
    return crc_so_far == crc


def mini_debug_info(file: ElfObject) -> ElfObject | None:
    """Open ``.gnu_debugdata``, an xz-compressed ELF file with the symbol table that strip removed.

    Raises ObjectError when the section cannot be read.
    """
    section = file.section(".gnu_debugdata")
    if section is None:
        return None
    compressed = file.data(section)
    return open_elf(decompress("xz", compressed, memory_limit(len(compressed))), f"{file.name}, .gnu_debugdata")
