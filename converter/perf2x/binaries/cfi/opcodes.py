"""Instructions of call frame information: their operands and what each does, once for both readers.

Source: DWARF 5, section 6.4.2; binutils readelf for the vendor extensions.
"""

from collections.abc import Callable
from enum import IntEnum

from perf2x.base.abi.callframe import CallFrame
from perf2x.base.columnar import I64, Frozen, zeros
from perf2x.binaries.cfi.unwind_rules import RuleKind

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
OPCODES = {
    CallFrame.NOP: Opcode(Effect.NOTHING),
    CallFrame.SET_LOC: Opcode(Effect.MOVE, "p"),
    CallFrame.ADVANCE_LOC: Opcode(Effect.ADVANCE, "6"),
    CallFrame.ADVANCE_LOC1: Opcode(Effect.ADVANCE, "B"),
    CallFrame.ADVANCE_LOC2: Opcode(Effect.ADVANCE, "H"),
    CallFrame.ADVANCE_LOC4: Opcode(Effect.ADVANCE, "I"),
    CallFrame.MIPS_ADVANCE_LOC8: Opcode(Effect.ADVANCE, "Q"),
    CallFrame.OFFSET: Opcode(Effect.SET, "6u", _OFFSET, 1),
    CallFrame.OFFSET_EXTENDED: Opcode(Effect.SET, "uu", _OFFSET, 1),
    CallFrame.OFFSET_EXTENDED_SF: Opcode(Effect.SET, "us", _OFFSET, 1),
    CallFrame.GNU_NEGATIVE_OFFSET_EXTENDED: Opcode(Effect.SET, "uu", _OFFSET, -1),
    CallFrame.VAL_OFFSET: Opcode(Effect.SET, "uu", _VALUE, 1),
    CallFrame.VAL_OFFSET_SF: Opcode(Effect.SET, "us", _VALUE, 1),
    CallFrame.REGISTER: Opcode(Effect.SET, "uu", RuleKind.REGISTER),
    CallFrame.UNDEFINED: Opcode(Effect.SET, "u", RuleKind.UNDEFINED),
    CallFrame.SAME_VALUE: Opcode(Effect.SET, "u"),
    CallFrame.EXPRESSION: Opcode(Effect.SET, "ue", RuleKind.EXPRESSION),
    CallFrame.VAL_EXPRESSION: Opcode(Effect.SET, "ue", RuleKind.VAL_EXPRESSION),
    CallFrame.RESTORE: Opcode(Effect.RESTORE, "6"),
    CallFrame.RESTORE_EXTENDED: Opcode(Effect.RESTORE, "u"),
    CallFrame.REMEMBER_STATE: Opcode(Effect.REMEMBER),
    CallFrame.RESTORE_STATE: Opcode(Effect.RECALL),
    CallFrame.DEF_CFA: Opcode(Effect.CFA, "uu"),
    CallFrame.DEF_CFA_SF: Opcode(Effect.CFA, "us", factor=1),
    CallFrame.DEF_CFA_REGISTER: Opcode(Effect.CFA_REGISTER, "u"),
    CallFrame.DEF_CFA_OFFSET: Opcode(Effect.CFA_OFFSET, "u"),
    CallFrame.DEF_CFA_OFFSET_SF: Opcode(Effect.CFA_OFFSET, "s", factor=1),
    CallFrame.DEF_CFA_EXPRESSION: Opcode(Effect.CFA_EXPRESSION, "e"),
    CallFrame.GNU_ARGS_SIZE: Opcode(Effect.NOTHING, "u"),
    # Signature bits are removed from all return addresses, signed or not.
    CallFrame.AARCH64_NEGATE_RA_STATE: Opcode(Effect.NOTHING),
    CallFrame.AARCH64_NEGATE_RA_STATE_WITH_PC: Opcode(Effect.NOTHING),
}


def by_code(fact: Callable[[Opcode], int]) -> I64:
    """(256,) a fact on each instruction by its number; 0 where there is none."""
    table = zeros(256)
    for code, opcode in OPCODES.items():
        table[code] = fact(opcode)
    return table


EFFECT = by_code(lambda opcode: opcode.effect)
"""(256,) the effect of each instruction."""
