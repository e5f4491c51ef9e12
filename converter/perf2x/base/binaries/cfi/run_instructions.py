"""Runs the instructions of call frame information, and returns the rule rows of one function.

A row is an address and the number of the rule that applies from there on; registers that the unwinder does not track
are ignored. Programs of different functions contain the same few pieces. So a program is run in strides, each of which
ends with an instruction that advances the address, and each state caches the states that strides lead to::

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
"""Bytes of a program to match at a time; most programs are shorter than a hundred bytes."""
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
"""Matches one stride: instructions that change rules and have no expression; then an instruction that advances the
address, or remembers or recalls a state. If there is none, the third group is the rest of the program.
"""


class FunctionRows(Struct):
    """The rule rows of one function, by ascending address."""

    end: int
    """svma after the function; 0 if its entry is damaged"""
    start: "array[int]"
    """svma"""
    rule: "array[int]"

    def move(self, location: int, onward: int, rule: int) -> int:
        """Add a row for ``rule`` from ``location`` to ``onward``; return ``onward``.

        A row that is empty or has no rule is left out.
        """
        if onward > location and rule != NO_RULE:
            self.start.append(location)
            self.rule.append(rule)
        return onward


class _State(Struct):
    """The rules in force at some point of a program; programs of one CIE share states."""

    cfa: tuple[int, int] | None
    """(register, offset), or (CFA_BY_EXPRESSION, number of the expression)"""
    registers: tuple[tuple[int, RegisterRule], ...]
    rule: int
    """Number of the whole rule; NO_RULE without a CFA."""
    following: dict[bytes, "_State"] = field(default_factory=dict)
    """The states that follow this one, by the bytes of the instructions that lead to them."""


class CfiPrograms:
    """Runs the programs of all functions that share a CIE; ``table`` numbers their rules."""

    def __init__(self, section: FrameSection, cie: Cie, table: RuleTable) -> None:
        """Run the CIE's instructions, with which every program begins. Raises ObjectError if they are damaged."""
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
        self._states.clear()  # these states ran without initial rules to restore
        self._start.following.clear()

    def rows(self, fde: Fde) -> FunctionRows:
        """Return the rule rows of a function. Raises ObjectError if its entry is damaged."""
        rows = FunctionRows(fde.end, array("Q"), array("i"))
        self._run(fde.instructions, fde.start, rows)
        return rows

    def _run(self, span: tuple[int, int], location: int, rows: FunctionRows) -> _State:
        """Run the program in the bytes ``span``, from address ``location`` on; add its rows, return the last state."""
        cursor = self._section.cursor(*span)
        cursor.address_size = self._cie.address_size
        state, remembered = self._start, list[_State]()
        while cursor.position < cursor.end:
            stop, rest = min(cursor.position + _AT_ONCE, cursor.end), b""
            for changes, turn, rest in _STRIDE.findall(cursor.data, cursor.position, stop):
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
            if len(rest) < stop - cursor.position:
                cursor.position = stop - len(rest)
            elif rest[0] == SET_LOCATION:
                location = rows.move(location, self._address(cursor), state.rule)
            else:
                state = self._changed(state, cursor, cursor.position)
        rows.move(location, MASK + 1, state.rule)
        return state

    def _address(self, cursor: CfiCursor) -> int:
        """Read the operand of DW_CFA_set_loc, an address."""
        cursor.position += 1
        address = cursor.pointer(self._cie.pointer_encoding)
        if address is None:
            raise ObjectError("call frame information: DW_CFA_set_loc without an address")
        return address

    def _learn(self, state: _State, changes: bytes) -> _State:
        """Return the state that the instructions ``changes`` lead to, and cache it."""
        cursor = CfiCursor(changes, 0, len(changes))
        found = state.following[changes] = self._changed(state, cursor, cursor.end)
        return found

    def _changed(self, state: _State, cursor: CfiCursor, stop: int) -> _State:
        """Run instructions that change rules, at least one and up to ``stop``; return the state that they lead to."""
        cfa, registers = state.cfa, dict(state.registers)
        while True:
            byte = cursor.u8()
            opcode = OPCODES.get(byte & PACKED or byte)
            if opcode is None:
                raise ObjectError(f"call frame information: instruction {byte:#x} is unknown or cut off")
            operands = [self._operand(kind, byte, cursor) for kind in opcode.operands]
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
            if cursor.position >= stop:
                return self._state(cfa, registers)

    def _operand(self, kind: str, byte: int, cursor: CfiCursor) -> int:
        if kind == "6":
            return byte & ~PACKED
        if kind == "e":
            parsed = parse_expression(cursor.block(), self._cie.address_size, cursor.byte_order)
            return self._table.expression_number(parsed)
        return cursor.operand(kind)

    def _set(self, registers: dict[int, RegisterRule], register: int, rule: RegisterRule | None) -> None:
        """Set the rule of a register, unless the unwinder does not track that register (such as a vector register)."""
        registers.pop(register, None)
        if rule is not None and rule.kind is not RuleKind.SAME and register < self._table.register_count:
            registers[register] = rule

    def _defined(self, register: int, offset: int) -> tuple[int, int]:
        """Return the rule that the CFA is register + offset. Raises ObjectError for a register that is not tracked."""
        if register >= self._table.register_count:
            raise ObjectError(f"call frame information: the CFA is in unsupported register {register}")
        return register, to_signed(offset)

    def _state(self, cfa: tuple[int, int] | None, registers: dict[int, RegisterRule]) -> _State:
        """Return the state with these rules; equal rules give the same object."""
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
