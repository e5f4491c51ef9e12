"""Runs the instructions of call frame information and returns the rule rows of one function.

A row is an address and the rule from there on; registers that the unwinder does not track are ignored. Functions do the
same few things, so a program is run in strides, each up to an advance, and every state caches its successors::

    41         | 0e 10 83 02 | 44         | 0e 80 01   | 02 70      a function's bytes
    advance 1  | push %rbx   | advance 4  | sub …,%rsp | advance 112
                 state 0 → 1                state 1 → 2

Every instruction takes at least a byte and makes at most one row, so the length of the entry bounds time and memory.
"""

import re
from array import array
from typing import Literal

from msgspec import Struct, field

from perf2x.base.binaries.cfi.byte_cursor import MASK, CfiCursor, to_signed
from perf2x.base.binaries.cfi.dwarf_expressions import parse_expression
from perf2x.base.binaries.cfi.frame_entries import Cie, Fde, FrameSection
from perf2x.base.binaries.cfi.opcodes import OPCODES, PACKED, RECALL, REMEMBER, SET_LOCATION, Effect
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, NO_RULE, RegisterRule, Rule, RuleKind, RuleTable
from perf2x.errors import ObjectError

_AT_ONCE = 1 << 12
"""Bytes of a program to match at once; most programs are shorter than a hundred bytes."""
_LEB128 = rb"[\x80-\xff]*[\x00-\x7f]"
_OPERANDS = {"6": b"", "u": _LEB128, "s": _LEB128}
_CHANGES = b"|".join(
    b"[\\x%02x-\\x%02x]" % (code, code | 0x3F if "6" in opcode.operands else code)
    + b"".join(_OPERANDS[kind] for kind in opcode.operands)
    for code, opcode in OPCODES.items()
    if "e" not in opcode.operands
)
_TURNS = rb"[\x40-\x7f]|\x02.|\x03..|\x04.{4}|\x1d.{8}|%b|%b" % (REMEMBER, RECALL)
_STRIDE = re.compile(rb"((?:%b)*)(?:(%b)|(.*))" % (_CHANGES, _TURNS), re.DOTALL)
"""The usual changes of the rules, followed by an advance, a remembered or restored state, or the rest of the program.
"""


class FunctionRows(Struct):
    """The rule rows of one function, by ascending address."""

    end: int
    """svma after the function; 0 if its entry is damaged"""
    start: "array[int]"
    """svma"""
    rule: "array[int]"

    def move(self, location: int, onward: int, rule: int) -> int:
        """End the current row unless it is empty or has no rule; return where the next one begins."""
        if onward > location and rule != NO_RULE:
            self.start.append(location)
            self.rule.append(rule)
        return onward


class _State(Struct):
    """The rules in force at some point in the programs of one CIE."""

    cfa: tuple[int, int] | None
    """(register, offset) or (CFA_BY_EXPRESSION, number)"""
    registers: tuple[tuple[int, RegisterRule], ...]
    rule: int
    """Number of the whole rule; NO_RULE without a CFA."""
    following: dict[bytes, "_State"] = field(default_factory=dict)
    """Following states, by the bytes of the instructions that lead to them."""


class CfiPrograms:
    """Runs the programs of the functions of one CIE; ``table`` interns their rules."""

    def __init__(self, section: FrameSection, cie: Cie, table: RuleTable) -> None:
        """Run the CIE's own instructions. Raises ObjectError if they are damaged."""
        if cie.return_register >= table.register_count:
            raise ObjectError(
                f"call frame information: the return address is in unsupported register {cie.return_register}"
            )
        self._section, self._cie, self._table = section, cie, table
        self._order: Literal["little", "big"] = "little" if section.byte_order == "<" else "big"
        self._states: dict[object, _State] = {}
        self._initial: dict[int, RegisterRule] = {}
        self._start = self._state(None, {})
        self._start = self._run(cie.instructions, 0, FunctionRows(0, array("Q"), array("i")))
        self._initial = dict(self._start.registers)
        self._states.clear()  # the CIE itself has no initial rules to restore
        self._start.following.clear()

    def rows(self, fde: Fde) -> FunctionRows:
        """Return the rows of a function, the first at its start. Raises ObjectError if the entry is damaged."""
        rows = FunctionRows(fde.end, array("Q"), array("i"))
        self._run(fde.instructions, fde.start, rows)
        return rows

    def _run(self, span: tuple[int, int], location: int, rows: FunctionRows) -> _State:
        """Run a program from an address on; return the last state."""
        at = self._section.cursor(*span)
        at.address_size = self._cie.address_size
        state, remembered = self._start, list[_State]()
        while at.position < at.end:
            stop, rest = min(at.position + _AT_ONCE, at.end), b""
            for changes, turn, rest in _STRIDE.findall(at.data, at.position, stop):
                if changes:
                    state = state.following.get(changes) or self._learn(state, changes)
                if turn == REMEMBER:
                    remembered.append(state)
                elif turn == RECALL:  # restores the CFA as well, as GCC and binutils do
                    if not remembered:
                        raise ObjectError("call frame information: it restores a state that it never remembered")
                    state = remembered.pop()
                elif turn:
                    distance = turn[0] & ~PACKED if len(turn) == 1 else int.from_bytes(turn[1:], self._order)
                    location = rows.move(location, location + distance * self._cie.code_alignment & MASK, state.rule)
                elif rest:
                    break
            if len(rest) < stop - at.position:
                at.position = stop - len(rest)
            elif rest[0] == SET_LOCATION:
                location = rows.move(location, self._address(at), state.rule)
            else:
                state = self._changed(state, at, at.position)
        rows.move(location, MASK + 1, state.rule)
        return state

    def _address(self, at: CfiCursor) -> int:
        """Read the operand of DW_CFA_set_loc, an address."""
        at.position += 1
        address = at.pointer(self._cie.pointer_encoding)
        if address is None:
            raise ObjectError("call frame information: DW_CFA_set_loc without an address")
        return address

    def _learn(self, state: _State, changes: bytes) -> _State:
        """Cache the state that some changes lead to."""
        at = CfiCursor(changes, 0, len(changes))
        found = state.following[changes] = self._changed(state, at, at.end)
        return found

    def _changed(self, state: _State, at: CfiCursor, stop: int) -> _State:
        """Run at least one instruction that changes rules, and others up to ``stop``."""
        cfa, registers = state.cfa, dict(state.registers)
        while True:
            byte = at.u8()
            opcode = OPCODES.get(byte & PACKED or byte)
            if opcode is None:
                raise ObjectError(f"call frame information: instruction {byte:#x} is unknown or cut off")
            operands = [self._operand(kind, byte, at) for kind in opcode.operands]
            if opcode.factor:
                operands[-1] *= opcode.factor * self._cie.data_alignment
            match opcode.effect:
                case Effect.SET:
                    self._set(registers, operands[0], RegisterRule(opcode.rule, to_signed(sum(operands[1:]))))
                case Effect.RESTORE:
                    self._set(registers, operands[0], self._initial.get(operands[0]))
                case Effect.CFA_EXPRESSION:
                    cfa = CFA_BY_EXPRESSION, operands[0]
                case Effect.CFA:
                    cfa = self._defined(*operands)
                case Effect.CFA_REGISTER:
                    cfa = self._defined(operands[0], _simple(cfa)[1])
                case Effect.CFA_OFFSET:
                    cfa = self._defined(_simple(cfa)[0], operands[0])
            if at.position >= stop:
                return self._state(cfa, registers)

    def _operand(self, kind: str, byte: int, at: CfiCursor) -> int:
        if kind == "6":
            return byte & ~PACKED
        if kind == "e":
            parsed = parse_expression(at.block(), self._cie.address_size, at.byte_order)
            return self._table.expression_number(parsed)
        return at.operand(kind)

    def _set(self, registers: dict[int, RegisterRule], register: int, rule: RegisterRule | None) -> None:
        """Set the rule of a register; untracked registers (such as vector registers) are ignored."""
        registers.pop(register, None)
        if rule is not None and rule.kind is not RuleKind.SAME and register < self._table.register_count:
            registers[register] = rule

    def _defined(self, register: int, offset: int) -> tuple[int, int]:
        """Define the CFA as register + offset."""
        if register >= self._table.register_count:
            raise ObjectError(f"call frame information: the CFA is in unsupported register {register}")
        return register, to_signed(offset)

    def _state(self, cfa: tuple[int, int] | None, registers: dict[int, RegisterRule]) -> _State:
        """Return the state with these rules, the same object for the same rules."""
        key = cfa, tuple(sorted(registers.items()))
        found = self._states.get(key)
        if found is None:
            cie = self._cie
            rule = (
                NO_RULE
                if cfa is None
                else self._table.number(Rule(*cfa, cie.return_register, cie.is_signal_frame, key[1]))
            )
            found = self._states[key] = _State(*key, rule)
        return found


def _simple(cfa: tuple[int, int] | None) -> tuple[int, int]:
    if cfa is None or cfa[0] == CFA_BY_EXPRESSION:
        raise ObjectError("call frame information: it changes the CFA before defining it as a register and an offset")
    return cfa
