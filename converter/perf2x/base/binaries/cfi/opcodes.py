"""Instructions of call frame information: their operands and what each does, once for both readers.

Source: DWARF 5, section 6.4.2; binutils readelf for the vendor extensions.
"""

from collections.abc import Callable
from enum import IntEnum

from perf2x.base.binaries.cfi.unwind_rules import RuleKind
from perf2x.base.columnar import I64, Frozen, zeros

PACKED = 0xC0
"""The high bits of an instruction whose low six bits are its first operand."""


class Effect(IntEnum):
    """The part of the unwinder's state that an instruction changes."""

    NOTHING = 0
    ADVANCE = 1
    MOVE = 2
    SET = 3
    RESTORE = 4
    REMEMBER = 5
    RECALL = 6
    CFA = 7
    CFA_REGISTER = 8
    CFA_OFFSET = 9
    CFA_EXPRESSION = 10


class Opcode(Frozen):
    """One instruction.

    A letter for each operand: ``6`` the instruction's low six bits, ``u`` and ``s`` LEB128, ``e`` an expression,
    ``p`` an encoded pointer, or a letter of `struct`.
    """

    effect: Effect
    operands: str = ""
    rule: RuleKind = RuleKind.SAME
    """The rule that ``SET`` gives the register."""
    factor: int = 0
    """The last operand counts units of the data alignment: 1, or −1 downwards; 0: it counts bytes."""


_OFFSET, _VALUE = RuleKind.OFFSET, RuleKind.VAL_OFFSET
OPCODES: dict[int, Opcode] = {
    0x00: Opcode(Effect.NOTHING),  # nop
    0x01: Opcode(Effect.MOVE, "p"),  # set_loc
    0x40: Opcode(Effect.ADVANCE, "6"),  # advance_loc
    0x02: Opcode(Effect.ADVANCE, "B"),  # advance_loc1
    0x03: Opcode(Effect.ADVANCE, "H"),  # advance_loc2
    0x04: Opcode(Effect.ADVANCE, "I"),  # advance_loc4
    0x1D: Opcode(Effect.ADVANCE, "Q"),  # mips_advance_loc8
    0x80: Opcode(Effect.SET, "6u", _OFFSET, 1),  # offset
    0x05: Opcode(Effect.SET, "uu", _OFFSET, 1),  # offset_extended
    0x11: Opcode(Effect.SET, "us", _OFFSET, 1),  # offset_extended_sf
    0x2F: Opcode(Effect.SET, "uu", _OFFSET, -1),  # gnu_negative_offset_extended
    0x14: Opcode(Effect.SET, "uu", _VALUE, 1),  # val_offset
    0x15: Opcode(Effect.SET, "us", _VALUE, 1),  # val_offset_sf
    0x09: Opcode(Effect.SET, "uu", RuleKind.REGISTER),  # register
    0x07: Opcode(Effect.SET, "u", RuleKind.UNDEFINED),  # undefined
    0x08: Opcode(Effect.SET, "u"),  # same_value
    0x10: Opcode(Effect.SET, "ue", RuleKind.EXPRESSION),  # expression
    0x16: Opcode(Effect.SET, "ue", RuleKind.VAL_EXPRESSION),  # val_expression
    0xC0: Opcode(Effect.RESTORE, "6"),  # restore
    0x06: Opcode(Effect.RESTORE, "u"),  # restore_extended
    0x0A: Opcode(Effect.REMEMBER),  # remember_state
    0x0B: Opcode(Effect.RECALL),  # restore_state
    0x0C: Opcode(Effect.CFA, "uu"),  # def_cfa
    0x12: Opcode(Effect.CFA, "us", factor=1),  # def_cfa_sf
    0x0D: Opcode(Effect.CFA_REGISTER, "u"),  # def_cfa_register
    0x0E: Opcode(Effect.CFA_OFFSET, "u"),  # def_cfa_offset
    0x13: Opcode(Effect.CFA_OFFSET, "s", factor=1),  # def_cfa_offset_sf
    0x0F: Opcode(Effect.CFA_EXPRESSION, "e"),  # def_cfa_expression
    0x2E: Opcode(Effect.NOTHING, "u"),  # gnu_args_size
    # Signature bits are removed from all return addresses, signed or not.
    0x2D: Opcode(Effect.NOTHING),  # aarch64_negate_ra_state; gnu_window_save on SPARC
    0x2C: Opcode(Effect.NOTHING),  # aarch64_negate_ra_state_with_pc
}


def by_code(fact: Callable[[Opcode], int]) -> I64:
    """(256,) a fact on each instruction by its number; 0 where there is none."""
    table = zeros(256)
    for code, opcode in OPCODES.items():
        table[code] = fact(opcode)
    return table


EFFECT = by_code(lambda opcode: opcode.effect)
"""(256,) the effect of each instruction."""
