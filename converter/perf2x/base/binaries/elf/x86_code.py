"""Decodes instructions of one x86 file by address, and finds where its functions begin and end."""

from bisect import bisect_right
from functools import lru_cache, partial

import numpy as np

from perf2x.base.binaries.elf.elf_file import CodeBlocks, ElfObject
from perf2x.base.binaries.elf.symtab import STT_FUNC, function_symbols
from perf2x.base.binaries.elf.x86_instructions import MAX_SIZE, X86Instruction, decode
from perf2x.base.columnar import flatnonzero, lexsort
from perf2x.errors import ObjectError

_MAX_CACHED = 1 << 17
# The (start, end) of a function without a symbol.
ANYWHERE = 0, 2**64


class X86Code:
    """Decodes instructions on demand and caches them.

    ``instruction(svma)`` returns the instruction at an address; None if it is invalid, or not in the file.
    """

    def __init__(self, elf: ElfObject, debug_file: ElfObject | None) -> None:
        """The symbols of ``debug_file``, the separate debug file of ``elf``, are used first."""
        self.is_64 = elf.machine == "EM_X86_64"
        self._files = [elf] if debug_file is None else [debug_file, elf]
        self.instruction = lru_cache(_MAX_CACHED)(partial(_instruction, CodeBlocks(elf), self.is_64))
        self._extents: tuple[list[int], list[int]] | None = None

    def function_extent(self, svma: int) -> tuple[int, int]:
        """Return the (start, end) of the function at an address; ANYWHERE if no symbol covers it."""
        if self._extents is None:
            self._extents = self._starts_and_ends()
        starts, ends = self._extents
        row = bisect_right(starts, svma) - 1
        return (starts[row], ends[row]) if row >= 0 and svma < ends[row] else ANYWHERE

    def _starts_and_ends(self) -> tuple[list[int], list[int]]:
        """Return the starts of functions, ascending, and their ends, from the first table with symbols.

        A function whose symbol has no size, as in assembly, ends where the next one begins.
        """
        for file in self._files:
            for table in (".symtab", ".dynsym"):
                try:
                    rows = function_symbols(file, table)
                except ObjectError:
                    continue
                if rows is not None and len(rows):
                    functions = flatnonzero(rows.type == STT_FUNC)
                    # of functions with the same start, the largest comes last
                    sorted_functions = functions[lexsort([rows.size[functions], rows.start[functions]])]
                    start, size = rows.start[sorted_functions], rows.size[sorted_functions]
                    next_start = np.append(start[1:], start[-1:])
                    return start.tolist(), np.where(size > 0, start + size, next_start).tolist()
        return [], []


def _instruction(blocks: CodeBlocks, is_64: bool, svma: int) -> X86Instruction | None:
    try:
        return decode(blocks.read(svma, svma + MAX_SIZE), is_64=is_64)
    except ObjectError:
        return None


class BranchLengths:
    """Returns the lengths of one file's branch instructions."""

    def __init__(self, elf: ElfObject) -> None:
        self._is_x86, self._code = elf.machine in ("EM_X86_64", "EM_386"), X86Code(elf, None)

    def at(self, svma: int) -> int:
        """Return the length of the instruction at an address.

        An invalid instruction counts as one byte; on machines other than x86, every instruction counts as four.
        """
        instruction = self._code.instruction(svma) if self._is_x86 else None
        return instruction.size if instruction else 1 if self._is_x86 else 4
