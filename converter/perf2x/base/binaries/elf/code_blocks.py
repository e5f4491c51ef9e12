"""Reads the code of a file in blocks."""

from msgspec import Struct

from perf2x.base.binaries.elf.elf_file import ElfObject

BLOCK, MAX_BLOCKS = 1 << 14, 256
"""Bytes to read at once, because opening the file costs more than reading them; and the number of blocks to cache."""


class CodeBlocks(Struct):
    """Code of one file by link-time address, read in blocks; a bounded number of them is cached."""

    elf: ElfObject
    _blocks: dict[int, bytes] = {}

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

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            if len(self._blocks) >= MAX_BLOCKS:
                self._blocks.clear()
            start = number * BLOCK
            self._blocks[number] = self.elf.read(start, min(BLOCK, self.elf.size - start))
        return self._blocks[number]
