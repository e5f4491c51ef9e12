"""Table of the instructions of call frame information: their operands, and what each does.

Source: DWARF 5, section 6.4.2; binutils readelf for the vendor extensions.
"""

from enum import IntEnum

from perf2x.base.binaries.cfi.unwind_rules import RuleKind
from perf2x.base.columnar import Frozen

# The high two bits of an instruction's first byte. If either is set, they are the opcode, and the low six bits are the
# first operand; otherwise the whole byte is the opcode.
PRIMARY_MASK = 0xC0
# Instructions that do something other than change rules are not in OPCODES: these three, and the advances, which are in
# a pattern of `run_instructions`. DW_CFA_set_loc is an opcode; DW_CFA_remember_state and DW_CFA_restore_state are whole
# instructions, as bytes.
SET_LOCATION = 0x01
REMEMBER_STATE, RESTORE_STATE = b"\x0a", b"\x0b"


class Effect(IntEnum):
    """The effect of an instruction on the rules in force."""

    NOTHING = 0
    SET = 1  # set the rule of a register, the first operand
    RESTORE = 2  # give a register, the first operand, the rule that it has after the CIE's instructions
    CFA = 3  # the CFA is a register plus an offset, which are the operands
    CFA_REGISTER = 4  # change the register of the CFA, but not the offset
    CFA_OFFSET = 5  # change the offset of the CFA, but not the register
    CFA_EXPRESSION = 6  # the CFA is the result of an expression, which is the operand


class Opcode(Frozen):
    """The effect of instructions with one opcode, and the operands that follow it."""

    effect: Effect
    operands: str = ""
    """A letter per operand.

    ``6`` stands for the low six bits of the instruction's first byte, ``u`` and ``s`` for LEB128 numbers without and
    with sign, ``e`` for an expression.
    """
    rule: RuleKind = RuleKind.SAME
    """The kind of rule that ``SET`` sets for the register."""
    factor: int = 0
    """1 or −1: the last operand is multiplied by this and by the CIE's data alignment. 0: it is used as stored."""


_OFFSET, _VAL_OFFSET = RuleKind.OFFSET, RuleKind.VAL_OFFSET
# DW_CFA_*, the most frequent ones first
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
    0x07: Opcode(Effect.SET, "u", RuleKind.UNDEFINED),  # undefined
    0x08: Opcode(Effect.SET, "u"),  # same_value
    0x10: Opcode(Effect.SET, "ue", RuleKind.EXPRESSION),  # expression
    0x16: Opcode(Effect.SET, "ue", RuleKind.VAL_EXPRESSION),  # val_expression
    0x06: Opcode(Effect.RESTORE, "u"),  # restore_extended
    0x12: Opcode(Effect.CFA, "us", factor=1),  # def_cfa_sf
    0x13: Opcode(Effect.CFA_OFFSET, "s", factor=1),  # def_cfa_offset_sf
    0x0F: Opcode(Effect.CFA_EXPRESSION, "e"),  # def_cfa_expression
    0x2E: Opcode(Effect.NOTHING, "u"),  # gnu_args_size
    # These state whether return addresses are signed (Arm pointer authentication). They have no effect here, because
    # the signature is removed from every return address, signed or not.
    0x2D: Opcode(Effect.NOTHING),  # aarch64_negate_ra_state; gnu_window_save on SPARC
    0x2C: Opcode(Effect.NOTHING),  # aarch64_negate_ra_state_with_pc
}
