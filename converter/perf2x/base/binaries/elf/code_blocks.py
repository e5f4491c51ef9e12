"""Code of a file, read in blocks."""

from msgspec import Struct

from perf2x.base.binaries.elf.elf_file import ElfObject

BLOCK, MAX_BLOCKS = 1 << 14, 256
"""Bytes that are read at once, as opening the file costs more than reading them; and blocks that are kept."""


class CodeBlocks(Struct):
    """Code of one file by stated address, read in blocks, which are forgotten where they are many."""

    elf: ElfObject
    _blocks: dict[int, bytes] = {}

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
