"""Bytes of code by stated address."""

from perf2x.base.errors import ObjectError
from perf2x.binaries.elf.elf_file import ElfObject

MOST = 1 << 20
"""Bytes of the largest function that is read."""
BLOCK, MAX_BLOCKS = 1 << 14, 256
"""Bytes that are read at once, as opening the file costs more than reading them; and blocks that are kept."""


def code_at(elf: ElfObject, start: int, size: int) -> bytes:
    """Return the bytes at a stated address; ObjectError where the file has none, or for more than MOST."""
    if size > MOST:
        raise ObjectError(f"its code is larger than {MOST >> 20} MiB")
    for load in elf.segments:
        if load.type == "PT_LOAD" and load.address <= start and start + size <= load.address + load.file_size:
            return elf.read(load.offset + start - load.address, size)
    raise ObjectError(f"{elf.name}: it has no code at {start:#x}")


class CodeBlocks:
    """Code of one file by stated address, read in blocks, which are forgotten where they are many."""

    def __init__(self, elf: ElfObject) -> None:
        self.elf = elf
        self._blocks: dict[int, bytes] = {}

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from one address to another in a segment; those that the file has, maybe none."""
        load = self.elf.load_of(start)
        if load is None:
            return b""
        shift = load.offset - load.address
        offset, stop = start + shift, min(end + shift, load.offset + load.file_size, self.elf.size)
        first, last = offset // BLOCK, (stop - 1) // BLOCK
        found = b"".join(self._block(number) for number in range(first, last + 1))
        return found[offset - first * BLOCK : stop - first * BLOCK]

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            if len(self._blocks) >= MAX_BLOCKS:
                self._blocks.clear()
            start = number * BLOCK
            self._blocks[number] = self.elf.read(start, min(BLOCK, self.elf.size - start))
        return self._blocks[number]
