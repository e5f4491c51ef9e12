"""Reads debug links (``.gnu_debuglink``) and mini debug info (``.gnu_debugdata``), which lead to stripped symbols.

Source of truth: the GDB manual, "Debugging Information in Separate Files" and "MiniDebugInfo".
"""

from pathlib import Path
from zlib import crc32

from perf2x.base.abi import ENDIAN
from perf2x.base.binaries.elf.decompress import inflate
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf
from perf2x.base.files.unpack_limit import memory_limit
from perf2x.errors import ObjectError


def debug_link(file: ElfObject) -> tuple[str, int] | None:
    """Read ``.gnu_debuglink``: the debug file's name and its CRC-32; None without one."""
    section = file.section(".gnu_debuglink")
    if section is None:
        return None
    try:
        data = file.data(section)
    except ObjectError:
        return None
    name, _, _ = data.partition(b"\0")
    crc = int.from_bytes(data[-4:], ENDIAN[file.byte_order]) if len(data) >= 5 else -1
    return (name.decode(errors="surrogateescape"), crc) if name and crc >= 0 else None


def has_crc(path: Path, crc: int) -> bool:
    """Return whether the file at ``path`` has the CRC-32 ``crc``; needed only where no build id can be compared."""
    total = 0
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                total = crc32(block, total)
    except (OSError, ValueError):
        return False
    return total == crc


def mini_debug_info(file: ElfObject) -> ElfObject | None:
    """Open ``.gnu_debugdata``, an xz-compressed ELF file with the symbol table that strip removed (Fedora and others).

    Returns None without one. Raises ObjectError when it cannot be read.
    """
    section = file.section(".gnu_debugdata")
    if section is None:
        return None
    packed = file.data(section)
    return open_elf(inflate("xz", packed, memory_limit(len(packed))), f"{file.name}, .gnu_debugdata")
