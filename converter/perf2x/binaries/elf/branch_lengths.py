"""Lengths of branch instructions, which say where code that ran up to one ended.

Sources: Intel's Software Developer's Manual, volume 2, appendix A (opcode maps) and 2.1 (ModR/M and SIB); the others
have instructions of four bytes.
"""

from perf2x.binaries.elf.elf_file import ElfObject, ElfSegment

LONGEST = 15
"""Bytes of the longest instruction on x86."""
_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
_NO_OPERAND = frozenset((0xC3, 0xCB, 0xCC, 0xCF, 0xF1))
"""ret, far ret, int3, iret, int1."""
_BYTE_OPERAND = frozenset((*range(0x70, 0x80), *range(0xE0, 0xE4), 0xEB, 0xCD))
"""Short conditional jumps, loop and jrcxz, short jmp, int."""
_OPERANDS = {0xE8: 4, 0xE9: 4, 0xC2: 2, 0xCA: 2}
"""call, jmp, ret and far ret that pop."""


class BranchLengths:
    """Lengths of one file's branch instructions."""

    def __init__(self, elf: ElfObject) -> None:
        self._elf = elf
        self._code: dict[ElfSegment, bytes] = {}

    def at(self, svma: int) -> int:
        """Return the length of the branch instruction at an address, 1 for anything else."""
        if self._elf.machine not in ("EM_X86_64", "EM_386"):
            return 4
        return x86_branch_length(self._bytes(svma), self._elf.machine == "EM_X86_64")

    def _bytes(self, svma: int) -> bytes:
        load = self._elf.load_of(svma)
        if load is None:
            return b""
        if load not in self._code:
            self._code[load] = self._elf.read(load.offset, load.file_size)
        start = svma - load.address
        return self._code[load][start : start + LONGEST]


def x86_branch_length(code: bytes, is_64: bool) -> int:
    """Return the length of the branch that ``code`` begins with, 1 where it begins with no branch."""
    at = 0
    while at < len(code) and code[at] in _PREFIXES:
        at += 1
    at += is_64 and at < len(code) and code[at] & 0xF0 == 0x40
    opcode, rest = code[at] if at < len(code) else 0, code[at + 1 :]
    if opcode in _NO_OPERAND:
        return at + 1
    if opcode in _BYTE_OPERAND:
        return at + 2
    if opcode in _OPERANDS:
        return at + 1 + _OPERANDS[opcode]
    if opcode == 0x0F and rest:
        return at + 6 if 0x80 <= rest[0] < 0x90 else at + 2  # jcc; syscall, sysenter and their returns
    if opcode == 0xFF and rest:
        return at + 1 + _operand_length(rest, is_64)
    return 1


def _operand_length(operand: bytes, is_64: bool) -> int:
    """Return the bytes of ModR/M, SIB and displacement."""
    mode, base = operand[0] >> 6, operand[0] & 7
    if mode == 3:
        return 1
    has_sib = base == 4
    if has_sib and len(operand) > 1:
        base = operand[1] & 7
    displacement = {0: 4 if base == 5 else 0, 1: 1, 2: 4}[mode]
    return 1 + has_sib + displacement
