"""Disassembles machine code with capstone (the extra ``assembly``).

Supports x86 of 32 and 64 bits, AArch64 and 64-bit RISC-V. Bytes that are not an instruction are shown as ``.byte``.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from perf2x.base.frozen_struct import Frozen
from perf2x.errors import ObjectError, OptionError

_CAPSTONE_MISSING = "instructions need capstone: pip install 'perf2x[assembly]'"
_X86, _ARM64, _RISCV = "x86", "arm64", "riscv"
# (family, capstone's name of the architecture, names of its modes) by machine.
_ARCHITECTURES = {
    "EM_X86_64": (_X86, "CS_ARCH_X86", ("CS_MODE_64",)),
    "EM_386": (_X86, "CS_ARCH_X86", ("CS_MODE_32",)),
    "EM_AARCH64": (_ARM64, "CS_ARCH_ARM64", ()),
    "EM_RISCV": (_RISCV, "CS_ARCH_RISCV", ("CS_MODE_RISCV64", "CS_MODE_RISCVC")),
}
# Mnemonics of direct jumps and calls; the last operand of each is the target.
_JUMPS_AND_CALLS = {
    _X86: re.compile(r"(?:bnd |notrack |lock )*(?:j\w+|call\w*|loop\w*|xbegin\w*)"),
    _ARM64: re.compile(r"b(?:\.\w+|l)?|bc\.\w+|cbn?z|tbn?z"),
    _RISCV: re.compile(r"(?:c\.)?(?:j|jal|beqz?|bnez?|blt[zu]?|bge[zu]?|bltu|bgeu|blez|bgtz)"),
}
_LAST_NUMBER = re.compile(r"(?:^|[\s,#])(-?(?:0x[0-9a-f]+|\d+))$")
# Groups 1 to 3 are sign and number (hexadecimal or decimal) in AT&T's syntax; groups 4 and 5 are sign and number in
# Intel's.
_RIP_RELATIVE = re.compile(r"(-?)(?:(0x[0-9a-f]+)|(\d+))?\(%rip\)|\[rip(?: ([+-]) (0x[0-9a-f]+|\d+))?\]")


class Instruction(Frozen):
    """One instruction; ``text`` is its mnemonic and operands."""

    address: int
    size: int
    text: str
    target: int | None = None
    """The address to which a direct jump or call goes; None for other instructions."""
    data_address: int | None = None
    """The address that an operand relative to the instruction pointer refers to (x86 only)."""


def disassemble(machine: str, code: bytes, address: int, syntax: str) -> Iterator[Instruction]:
    """Yield the instructions of ``code``, which begins at ``address``; ``syntax`` is "att" or "intel", for x86.

    Raises ObjectError for an unsupported machine, OptionError if capstone is not installed.
    """
    if machine not in _ARCHITECTURES:
        supported = ", ".join(name.removeprefix("EM_") for name in _ARCHITECTURES)
        raise ObjectError(f"code of {machine.removeprefix('EM_')} cannot be disassembled; supported: {supported}")
    family = _ARCHITECTURES[machine][0]
    for start, size, mnemonic, operands in _decoder(machine, syntax)(code, address):
        target = _target(family, start, mnemonic, operands)
        data_address = _data_address(operands, start + size) if family == _X86 else None
        yield Instruction(start, size, f"{mnemonic} {operands}".rstrip(), target, data_address)


@cache
def _decoder(machine: str, syntax: str) -> "Callable[[bytes, int], Iterator[tuple[int, int, str, str]]]":
    """Return capstone's function (code, its address) → (address, size, mnemonic, operands) of each instruction."""
    try:
        import capstone
    except ImportError:
        raise OptionError(_CAPSTONE_MISSING) from None
    family, architecture, modes = _ARCHITECTURES[machine]
    engine: Any = capstone.Cs(getattr(capstone, architecture), sum(getattr(capstone, mode) for mode in modes))
    engine.skipdata = True  # decode what follows invalid bytes
    if family == _X86 and syntax == "att":
        engine.syntax = capstone.CS_OPT_SYNTAX_ATT
    decode: Callable[[bytes, int], Iterator[tuple[int, int, str, str]]] = engine.disasm_lite
    return decode


def _target(family: str, start: int, mnemonic: str, operands: str) -> int | None:
    """Return the target address of a direct jump or call.

    Capstone prints the target as an address; on RISC-V, as the distance from ``start``, the instruction's address.
    """
    number = _LAST_NUMBER.search(operands)
    if number is None or not _JUMPS_AND_CALLS[family].fullmatch(mnemonic):
        return None
    value = int(number[1], 0)
    return (value + (start if family == _RISCV else 0)) % 2**64


def _data_address(operands: str, instruction_end: int) -> int | None:
    match = _RIP_RELATIVE.search(operands)
    if match is None:
        return None
    distance = int(match[2] or match[3] or match[5] or "0", 0)
    return (instruction_end + (-distance if "-" in (match[1], match[4]) else distance)) % 2**64
