"""Decodes the lengths and operands of x86 instructions.

An instruction is: prefixes, REX (64-bit code), opcode, ModR/M, SIB, displacement, immediate. All but the opcode are
optional. Opcodes are in maps: those of the first map are one byte, those of the others begin with 0F, 0F 38 or 0F 3A.
VEX and EVEX are further prefixes, which select the map by number.

Source: Intel's Software Developer's Manual, volume 2: 2.1 (prefixes, ModR/M, SIB), 2.3 and 2.7 (VEX, EVEX), appendix A
(opcode maps).
"""

from typing import NamedTuple

# Maximum bytes of an instruction.
MAX_SIZE = 15
# Values of ``X86Instruction.operand``. FIXED: the address is the displacement, in 64-bit code relative to rip.
# INDEXED: SIB gives the address. If SIB is a base register alone, ``operand`` is that register instead.
FIXED, INDEXED = -1, -2


def opcodes(text: str) -> frozenset[int]:
    """Parse hexadecimal opcodes and ranges of them: ``c3 70-7f`` is 0xc3 and 0x70, 0x71, …, 0x7f."""
    spans = (word.split("-") for word in text.split())
    return frozenset(code for span in spans for code in range(int(span[0], 16), int(span[-1], 16) + 1))


_PREFIXES = opcodes("26 2e 36 3e 64-67 f0 f2 f3")
# opcodes of the first map that are followed by ModR/M
_MODRM = opcodes(
    "00-03 08-0b 10-13 18-1b 20-23 28-2b 30-33 38-3b 62 63 69 6b 80-8f c0 c1 c4-c7 d0-d3 d8-df f6 f7 fe ff"
)
# {bytes of the immediate: opcodes of the first map}, with 32-bit operands
_WITH_IMMEDIATE = {
    1: opcodes("04 0c 14 1c 24 2c 34 3c 6a 6b 70-80 82 83 a8 b0-b7 c0 c1 c6 cd d4 d5 e0-e7 eb"),
    2: opcodes("c2 ca"),
    3: opcodes("c8"),
    4: opcodes("05 0d 15 1d 25 2d 35 3d 68 69 81 a9 b8-bf c7 e8 e9"),
    6: opcodes("9a ea"),
}
_IMMEDIATE_SIZE = {code: size for size, codes in _WITH_IMMEDIATE.items() for code in codes}
_INVALID_IN_64_BITS = opcodes("06 07 0e 16 17 1e 1f 27 2f 37 3f 60-62 82 9a c4 c5 ce d4-d6 ea")
# second bytes of opcodes after 0F: those without ModR/M, and those with an immediate of one byte
_NO_MODRM_0F = opcodes("05-0b 0e 30-37 77 80-8f a0-a2 a8-aa c8-cf")
_IMMEDIATE_0F = opcodes("0f 70-73 a4 ac ba c2 c4-c6")
# Numbers of the opcode maps 0F and 0F 3A in VEX and EVEX.
_MAP_0F, _MAP_0F3A = 1, 3


class X86Instruction(NamedTuple):
    """One instruction. Registers have the numbers of machine code (0 is rax, 4 rsp)."""

    size: int
    """In bytes, prefixes included."""
    opcode: int
    """Without prefixes: one of the first map as it is, 0F xx as 0x1xx, −1 for all others.

    Where it is −1, register numbers lack their high bits.
    """
    register: int = 0
    """A register, or part of the opcode: the reg field of ModR/M, else the low bits of the opcode. REX adds bit 3."""
    is_memory: bool = False
    """Whether ModR/M refers to memory, not to a register."""
    operand: int = 0
    """The register of the r/m field or, for memory, the base register, FIXED or INDEXED."""
    displacement: int = 0
    immediate: int = 0
    """Signed; for a direct jump or call, the distance of the target from the next instruction."""
    has_prefix_66: bool = False
    """Operands of 32 bits, and those of push and pop, then have 16 bits."""


def decode(code: bytes, *, is_64: bool) -> X86Instruction | None:
    """Decode the first instruction of ``code``; None if it is invalid, cut off or not supported."""
    try:
        return _decode(code[:MAX_SIZE], is_64)
    except IndexError:
        return None


def _decode(code: bytes, is_64: bool) -> X86Instruction | None:
    """Decode like `decode`, but raise IndexError if the instruction is cut off."""
    start = 0
    while code[start] in _PREFIXES:
        start += 1
    prefixes, rex = code[:start], 0
    if 0x67 in prefixes and not is_64:  # 16-bit addresses
        return None
    if is_64 and code[start] & 0xF0 == 0x40:
        rex, start = code[start], start + 1
    opcode = code[start]
    # VEX of three and of two bytes, EVEX; in 32-bit code, the same bytes may be les, lds and bound
    if opcode in (0xC4, 0xC5, 0x62) and (is_64 or code[start + 1] >= 0xC0):
        opcode_map = _MAP_0F if opcode == 0xC5 else code[start + 1] & 7
        start += {0xC5: 2, 0xC4: 3, 0x62: 4}[opcode]
        has_immediate = opcode_map == _MAP_0F3A or (opcode_map == _MAP_0F and code[start] in _IMMEDIATE_0F)
        # vzeroupper (77) has no ModR/M
        return _with_operands(code, start, -1, opcode_map != _MAP_0F or code[start] != 0x77, int(has_immediate), 0)
    if opcode == 0x0F:
        start += 1
        if code[start] in (0x38, 0x3A):
            return _with_operands(code, start + 1, -1, True, int(code[start] == 0x3A), 0)
        # 0F 80 to 0F 8F are jcc rel32
        immediate_size = 4 if 0x80 <= code[start] < 0x90 else int(code[start] in _IMMEDIATE_0F)
        instruction = _with_operands(
            code, start, 0x100 | code[start], code[start] not in _NO_MODRM_0F, immediate_size, rex
        )
    elif (is_64 and opcode in _INVALID_IN_64_BITS) or (opcode == 0x8F and code[start + 1] & 0x38):  # XOP
        return None
    else:
        # with REX.W, operands have 64 bits, even after the prefix 66
        immediate_size = _immediate_size(code, start, rex, not rex & 8 and 0x66 in prefixes, is_64)
        instruction = _with_operands(code, start, opcode, opcode in _MODRM, immediate_size, rex)
    return instruction._replace(has_prefix_66=True) if 0x66 in prefixes else instruction


def _immediate_size(code: bytes, start: int, rex: int, is_narrow: bool, is_64: bool) -> int:
    """Return the bytes of the immediate; ``start`` is the offset of its opcode, one of the first map.

    ``is_narrow``: operands that could have 32 bits have 16.
    """
    opcode = code[start]
    if opcode in range(0xA0, 0xA4):  # mov between rax and memory at an address, which counts as an immediate
        return 8 if is_64 else 4
    if opcode in (0xF6, 0xF7):  # of this group, only test has an immediate
        size = 0 if code[start + 1] >> 3 & 6 else (1 if opcode == 0xF6 else 4)
    else:
        size = _IMMEDIATE_SIZE.get(opcode, 0)
    if rex & 8 and opcode in range(0xB8, 0xC0):  # mov of 64 bits
        return 8
    return 2 if is_narrow and size == 4 and opcode not in (0xE8, 0xE9) else size


def _with_operands(
    code: bytes, start: int, opcode: int, has_modrm: bool, immediate_size: int, rex: int
) -> X86Instruction:
    """Decode what follows the opcode, whose last byte is at ``start``; raise IndexError if it is cut off.

    The bits 0, 1 and 2 of ``rex`` are the high bits of the fields base (or r/m), index and reg.
    """
    register, is_memory, operand, displacement = code[start] & 7 | (rex & 1) << 3, False, 0, 0
    offset = start + 1
    if has_modrm:
        mod, register, operand = code[offset] >> 6, code[offset] >> 3 & 7 | (rex & 4) << 1, code[offset] & 7
        is_memory, displacement_size, offset = mod < 3, (0, 1, 4, 0)[mod], offset + 1
        if is_memory and operand == 4:  # SIB follows; index 4 means none
            base, index = code[offset] & 7, code[offset] >> 3 & 7 | (rex & 2) << 2
            operand, offset = (base | (rex & 1) << 3) if index == 4 else INDEXED, offset + 1
            if mod == 0 and base == 5:  # no base register
                operand, displacement_size = INDEXED, 4
        elif mod == 0 and operand == 5:  # relative to rip, or absolute in 32-bit code
            operand, displacement_size = FIXED, 4
        else:
            operand |= (rex & 1) << 3
        displacement = int.from_bytes(code[offset : offset + displacement_size], "little", signed=True)
        offset += displacement_size
    end = offset + immediate_size
    if end > len(code):
        raise IndexError
    immediate = int.from_bytes(code[offset:end], "little", signed=True)
    return X86Instruction(end, opcode, register, is_memory, operand, displacement, immediate)
