"""The instructions of call frame information, with the operands and the effect of each.

Source: DWARF 5, section 6.4.2; binutils readelf for the vendor extensions.
"""

from enum import IntEnum

from perf2x.base.binaries.cfi.unwind_rules import RuleKind
from perf2x.base.columnar import Frozen

# If one of the two high bits of an instruction's first byte is set, these bits are the opcode, and the low six bits are
# the first operand. Otherwise the whole byte is the opcode.
PRIMARY_MASK = 0xC0
# `run_instructions` handles these three instructions, and the advances of the address. They are not in OPCODES.
SET_LOCATION = 0x01
REMEMBER_STATE, RESTORE_STATE = b"\x0a", b"\x0b"


class Effect(IntEnum):
    """The effect of an instruction on the rules in force."""

    NOTHING = 0
    SET = 1  # the register in the first operand gets a new rule
    RESTORE = 2  # the register in the first operand gets the rule that it has after the CIE's instructions
    CFA = 3  # the CFA is a register plus an offset; these are the operands
    CFA_REGISTER = 4  # the register of the CFA changes, but not the offset
    CFA_OFFSET = 5  # the offset of the CFA changes, but not the register
    CFA_EXPRESSION = 6  # the CFA is the result of the expression in the operand


class Opcode(Frozen):
    """The effect of instructions with one opcode, and their operands."""

    effect: Effect
    operands: str = ""
    """A letter per operand.

    ``6`` is the low six bits of the first byte, ``u`` and ``s`` are LEB128 without and with sign, ``e`` an expression.
    """
    rule: RuleKind = RuleKind.SAME
    """The kind of rule that ``SET`` sets."""
    factor: int = 0
    """1 or −1: the last operand is multiplied by this and by the CIE's data alignment. 0: it is used as stored."""


_OFFSET, _VAL_OFFSET = RuleKind.OFFSET, RuleKind.VAL_OFFSET
# The most frequent ones first, because a pattern in `run_instructions` tries them in this order.
OPCODES: dict[int, Opcode] = {
    0x0E: Opcode(Effect.CFA_OFFSET, "u"),  # def_cfa_offset
    0x80: Opcode(Effect.SET, "6u", _OFFSET, 1),  # offset
    0xC0: Opcode(Effect.RESTORE, "6"),  # restore
    0x0C: Opcode(Effect.CFA, "uu"),  # def_cfa
    0x0D: Opcode(Effect.CFA_REGISTER, "u"),  # def_cfa_register
    0x00: Opcode(Effect.NOTHING),  # nop
    0x05: Opcode(Effect.SET, "uu", _OFFSET, 1),  # offset_extended
    0x11: Opcode(Effect.SET, "us", _OFFSET, 1),  # offset_extended_sf
    0x2F: Opcode(Effect.SET, "uu", _OFFSET, -1),  # gnu_negative_offset_extended
    0x14: Opcode(Effect.SET, "uu", _VAL_OFFSET, 1),  # val_offset
    0x15: Opcode(Effect.SET, "us", _VAL_OFFSET, 1),  # val_offset_sf
    0x09: Opcode(Effect.SET, "uu", RuleKind.REGISTER),  # register
    0x07: Opcode(Effect.SET, "u", RuleKind.UNDEFINED),
    0x08: Opcode(Effect.SET, "u"),
    0x10: Opcode(Effect.SET, "ue", RuleKind.EXPRESSION),
    0x16: Opcode(Effect.SET, "ue", RuleKind.VAL_EXPRESSION),
    0x06: Opcode(Effect.RESTORE, "u"),  # restore_extended
    0x12: Opcode(Effect.CFA, "us", factor=1),  # def_cfa_sf
    0x13: Opcode(Effect.CFA_OFFSET, "s", factor=1),  # def_cfa_offset_sf
    0x0F: Opcode(Effect.CFA_EXPRESSION, "e"),  # def_cfa_expression
    0x2E: Opcode(Effect.NOTHING, "u"),  # gnu_args_size
    # Signed return addresses (Arm pointer authentication) need no rule: every return address loses its signature.
    0x2D: Opcode(Effect.NOTHING),  # aarch64_negate_ra_state; gnu_window_save on SPARC
    0x2C: Opcode(Effect.NOTHING),  # aarch64_negate_ra_state_with_pc
}
