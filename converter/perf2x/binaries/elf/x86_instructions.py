"""Lengths of x86 instructions, and the operands of those that move the stack pointer or whole registers.

Source: Intel's Software Developer's Manual, volume 2: 2.1 (prefixes, ModR/M, SIB), 2.3 and 2.7 (VEX, EVEX), appendix A
(opcode maps).
"""

from typing import NamedTuple

LONGEST = 15
"""Bytes of the longest instruction."""
FIXED, INDEXED = -1, -2
"""In place of a base register: memory at a stated place, and memory whose address has an index."""
_PREFIXES = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
_ARITHMETIC = range(0x40)
"""Eight operations in eight forms each: four with ModR/M, two with a number, two of old."""
_MODRM = frozenset((
    *(code for code in _ARITHMETIC if code & 7 < 4), 0x62, 0x63, 0x69, 0x6B, *range(0x80, 0x90), 0xC0, 0xC1, 0xC4, 0xC5,
    0xC6, 0xC7, *range(0xD0, 0xD4), *range(0xD8, 0xE0), 0xF6, 0xF7, 0xFE, 0xFF,
))  # fmt: skip
_NUMBERS = {
    1: (*(code for code in _ARITHMETIC if code & 7 == 4), 0x6A, 0x6B, *range(0x70, 0x81), 0x82, 0x83, 0xA8,
        *range(0xB0, 0xB8), 0xC0, 0xC1, 0xC6, 0xCD, 0xD4, 0xD5, *range(0xE0, 0xE8), 0xEB),
    2: (0xC2, 0xCA),
    3: (0xC8,),
    4: (*(code for code in _ARITHMETIC if code & 7 == 5), 0x68, 0x69, 0x81, 0xA9, *range(0xB8, 0xC0), 0xC7, 0xE8, 0xE9),
    6: (0x9A, 0xEA),
}  # fmt: skip
_NUMBER_OF = {code: size for size, codes in _NUMBERS.items() for code in codes}
"""Bytes of the number behind an opcode of the first map, with 32-bit operands."""
_OF_32_BITS_ONLY = frozenset((
    0x06, 0x07, 0x0E, 0x16, 0x17, 0x1E, 0x1F, 0x27, 0x2F, 0x37, 0x3F, 0x60, 0x61, 0x62, 0x82, 0x9A, 0xC4, 0xC5, 0xCE,
    0xD4, 0xD5, 0xD6, 0xEA,
))  # fmt: skip
_NO_MODRM_0F = frozenset((
    *range(0x05, 0x0C), 0x0E, *range(0x30, 0x38), 0x77, *range(0x80, 0x90), 0xA0, 0xA1, 0xA2, 0xA8, 0xA9, 0xAA,
    *range(0xC8, 0xD0),
))  # fmt: skip
_BYTE_0F = frozenset((0x0F, 0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6))
_SECOND, _THIRD = 1, 3
"""Opcode maps that VEX and EVEX name by number: behind 0F, behind 0F 3A."""


class X86Instruction(NamedTuple):
    """One instruction; fields that it lacks are 0."""

    size: int
    opcode: int
    """The opcode in the first map; 0x100 more behind 0F; −1 in any other map."""
    register: int = 0
    """ModR/M's register or operation, or the register in the opcode; with the bits that prefixes add."""
    is_memory: bool = False
    operand: int = 0
    """ModR/M's other register, or the base of its memory (FIXED, INDEXED: another address)."""
    displacement: int = 0
    number: int = 0
    """The number behind all, signed."""
    is_narrow: bool = False
    """The operands have 16 bits."""


def decode(code: bytes, *, is_64: bool) -> X86Instruction | None:
    """Decode the instruction that code begins with; None for what is none, is cut off, or is in a map of old."""
    try:
        return _decode(code[:LONGEST], is_64)
    except IndexError:
        return None


def _decode(code: bytes, is_64: bool) -> X86Instruction | None:
    at = 0
    while code[at] in _PREFIXES:
        at += 1
    prefixes, rex = code[:at], 0
    if 0x67 in prefixes and not is_64:
        return None
    if is_64 and code[at] & 0xF0 == 0x40:
        rex, at = code[at], at + 1
    opcode = code[at]
    if opcode in (0xC4, 0xC5, 0x62) and (is_64 or code[at + 1] >= 0xC0):
        table = 1 if opcode == 0xC5 else code[at + 1] & 7
        at += {0xC5: 2, 0xC4: 3, 0x62: 4}[opcode]
        has_number = table == _THIRD or (table == _SECOND and code[at] in _BYTE_0F)
        return _with_operands(code, at, -1, table != _SECOND or code[at] != 0x77, int(has_number), 0)
    if opcode == 0x0F:
        at += 1
        if code[at] in (0x38, 0x3A):
            return _with_operands(code, at + 1, -1, True, int(code[at] == 0x3A), 0)
        number = 4 if 0x80 <= code[at] < 0x90 else int(code[at] in _BYTE_0F)
        found = _with_operands(code, at, 0x100 | code[at], code[at] not in _NO_MODRM_0F, number, rex)
    elif (is_64 and opcode in _OF_32_BITS_ONLY) or (opcode == 0x8F and code[at + 1] & 0x38):  # XOP
        return None
    else:
        number = _number_size(code, at, rex, 0x66 in prefixes, is_64)
        found = _with_operands(code, at, opcode, opcode in _MODRM, number, rex)
    return found._replace(is_narrow=True) if 0x66 in prefixes else found


def _number_size(code: bytes, at: int, rex: int, is_narrow: bool, is_64: bool) -> int:
    """Bytes of the number behind an instruction of the first map."""
    opcode = code[at]
    if opcode in range(0xA0, 0xA4):
        return 8 if is_64 else 4
    if opcode in (0xF6, 0xF7):
        size = 0 if code[at + 1] >> 3 & 6 else (1 if opcode == 0xF6 else 4)
    else:
        size = _NUMBER_OF.get(opcode, 0)
    if rex & 8 and opcode in range(0xB8, 0xC0):
        return 8
    return 2 if is_narrow and size == 4 and opcode not in (0xE8, 0xE9) else size


def _with_operands(code: bytes, at: int, opcode: int, has_modrm: bool, number: int, rex: int) -> X86Instruction:
    register, is_memory, operand, displacement = code[at] & 7 | (rex & 1) << 3, False, 0, 0
    at += 1
    if has_modrm:
        mode, register, operand = code[at] >> 6, code[at] >> 3 & 7 | (rex & 4) << 1, code[at] & 7
        is_memory, width, at = mode < 3, (0, 1, 4, 0)[mode], at + 1
        if is_memory and operand == 4:
            low, index = code[at] & 7, code[at] >> 3 & 7 | (rex & 2) << 2
            operand, at = (low | (rex & 1) << 3) if index == 4 else INDEXED, at + 1
            if mode == 0 and low == 5:
                operand, width = INDEXED, 4
        elif mode == 0 and operand == 5:
            operand, width = FIXED, 4
        else:
            operand |= (rex & 1) << 3
        displacement = int.from_bytes(code[at : at + width], "little", signed=True)
        at += width
    end = at + number
    if end > len(code):
        raise IndexError
    return X86Instruction(
        end, opcode, register, is_memory, operand, displacement, int.from_bytes(code[at:end], "little", signed=True)
    )
