"""Numbers of call frame information: pointer encodings and expression operators.

`cfi/opcodes` has the numbers of the instructions. Sources: DWARF 5, sections 6.4 and 7.7.1; Linux Standard Base,
"Exception Frames"; binutils include/dwarf2.h.
"""

from enum import IntEnum


class PointerFormat(IntEnum):
    """DW_EH_PE_*, low four bits: the format of an encoded pointer."""

    ABSPTR = 0x00
    ULEB128 = 0x01
    UDATA2 = 0x02
    UDATA4 = 0x03
    UDATA8 = 0x04
    SLEB128 = 0x09
    SDATA2 = 0x0A
    SDATA4 = 0x0B
    SDATA8 = 0x0C


class PointerBase(IntEnum):
    """DW_EH_PE_*, bits 4 to 6: the base that a pointer is relative to."""

    ABSOLUTE = 0x00
    PCREL = 0x10
    DATAREL = 0x30
    ALIGNED = 0x50


POINTER_INDIRECT = 0x80  # the encoded number is the address of the pointer
POINTER_OMIT = 0xFF  # there is no pointer


class Operator(IntEnum):
    """DW_OP_*: operators allowed in call frame information."""

    ADDR = 0x03
    DEREF = 0x06
    CONST1U = 0x08
    CONST1S = 0x09
    CONST2U = 0x0A
    CONST2S = 0x0B
    CONST4U = 0x0C
    CONST4S = 0x0D
    CONST8U = 0x0E
    CONST8S = 0x0F
    CONSTU = 0x10
    CONSTS = 0x11
    DUP = 0x12
    DROP = 0x13
    OVER = 0x14
    PICK = 0x15
    SWAP = 0x16
    ROT = 0x17
    ABS = 0x19
    AND = 0x1A
    DIV = 0x1B
    MINUS = 0x1C
    MOD = 0x1D
    MUL = 0x1E
    NEG = 0x1F
    NOT = 0x20
    OR = 0x21
    PLUS = 0x22
    PLUS_UCONST = 0x23
    SHL = 0x24
    SHR = 0x25
    SHRA = 0x26
    XOR = 0x27
    EQ = 0x29
    GE = 0x2A
    GT = 0x2B
    LE = 0x2C
    LT = 0x2D
    NE = 0x2E
    LIT0 = 0x30  # the first of 32, for the constants 0 to 31
    LIT31 = 0x4F
    BREG0 = 0x70  # the first of 32, for the registers 0 to 31
    BREG31 = 0x8F
    BREGX = 0x92
    DEREF_SIZE = 0x94
    NOP = 0x96
