"""Decodes x86 instructions: their lengths, and operands where they move the stack pointer or whole registers.

Source: Intel's Software Developer's Manual, volume 2: 2.1 (prefixes, ModR/M, SIB), 2.3 and 2.7 (VEX, EVEX), appendix A
(opcode maps).
"""

from typing import NamedTuple

# Maximum bytes of an instruction.
LONGEST = 15
# Stand for a base register where there is none: memory at a fixed address, and memory with an index register.
FIXED, INDEXED = -1, -2


def opcodes(text: str) -> frozenset[int]:
    """Parse hexadecimal opcodes, single or in ranges: ``c3 70-7f``."""
    spans = (word.split("-") for word in text.split())
    return frozenset(code for span in spans for code in range(int(span[0], 16), int(span[-1], 16) + 1))


_PREFIXES = opcodes("26 2e 36 3e 64-67 f0 f2 f3")
_MODRM = opcodes(
    "00-03 08-0b 10-13 18-1b 20-23 28-2b 30-33 38-3b 62 63 69 6b 80-8f c0 c1 c4-c7 d0-d3 d8-df f6 f7 fe ff"
)
_NUMBERS = {
    1: opcodes("04 0c 14 1c 24 2c 34 3c 6a 6b 70-80 82 83 a8 b0-b7 c0 c1 c6 cd d4 d5 e0-e7 eb"),
    2: opcodes("c2 ca"),
    3: opcodes("c8"),
    4: opcodes("05 0d 15 1d 25 2d 35 3d 68 69 81 a9 b8-bf c7 e8 e9"),
    6: opcodes("9a ea"),
}
# Bytes of the immediate after an opcode of the first map, with 32-bit operands.
_NUMBER_OF = {code: size for size, codes in _NUMBERS.items() for code in codes}
_OF_32_BITS_ONLY = opcodes("06 07 0e 16 17 1e 1f 27 2f 37 3f 60-62 82 9a c4 c5 ce d4-d6 ea")
_NO_MODRM_0F = opcodes("05-0b 0e 30-37 77 80-8f a0-a2 a8-aa c8-cf")
_BYTE_0F = opcodes("0f 70-73 a4 ac ba c2 c4-c6")
# Opcode maps that VEX and EVEX select by number: the one after 0F, and the one after 0F 3A.
_SECOND, _THIRD = 1, 3


class X86Instruction(NamedTuple):
    """One instruction; fields that it lacks are 0."""

    size: int
    opcode: int
    """The opcode; 0x100 is added for opcodes of the map after 0F; −1 for any other map but the first."""
    register: int = 0
    """ModR/M's register (or operation), or else the register in the opcode; with the bit from the prefix."""
    is_memory: bool = False
    operand: int = 0
    """ModR/M's other register; for a memory operand the base register, FIXED or INDEXED."""
    displacement: int = 0
    number: int = 0
    """The immediate, signed."""
    is_narrow: bool = False
    """The operands have 16 bits."""


def decode(code: bytes, *, is_64: bool) -> X86Instruction | None:
    """Decode the first instruction of ``code``; None if it is invalid, cut off or not supported."""
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
    """Return the size of the immediate of an instruction in the first map."""
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
