"""Lengths of branch instructions, which say where code that ran up to one ended.

Those of x86 are decoded; the others have instructions of four bytes.
"""

from perf2x.binaries.elf.code_blocks import CodeBlocks
from perf2x.binaries.elf.elf_file import ElfObject
from perf2x.binaries.elf.x86_instructions import LONGEST, decode


class BranchLengths:
    """Lengths of one file's branch instructions."""

    def __init__(self, elf: ElfObject) -> None:
        self._blocks = CodeBlocks(elf)

    def at(self, svma: int) -> int:
        """Return the length of the instruction at an address, 1 for what is none."""
        machine = self._blocks.elf.machine
        if machine not in ("EM_X86_64", "EM_386"):
            return 4
        return x86_branch_length(self._blocks.read(svma, svma + LONGEST), machine == "EM_X86_64")


def x86_branch_length(code: bytes, is_64: bool) -> int:
    """Return the length of the instruction that ``code`` begins with, 1 where it begins with none."""
    found = decode(code, 0, is_64=is_64)
    return found.size if found else 1
