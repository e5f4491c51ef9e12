"""Bytes of code by stated address."""

from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import ElfObject

MOST = 1 << 20
"""Bytes of the largest function that is read."""


def code_at(elf: ElfObject, start: int, size: int) -> bytes:
    """Return the bytes at a stated address; ObjectError where the file has none, or for more than MOST."""
    if size > MOST:
        raise ObjectError(f"its code is larger than {MOST >> 20} MiB")
    for load in elf.segments:
        if load.type == "PT_LOAD" and load.address <= start and start + size <= load.address + load.file_size:
            return elf.read(load.offset + start - load.address, size)
    raise ObjectError(f"{elf.name}: it has no code at {start:#x}")
