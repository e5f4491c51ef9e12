"""Runs the instructions of call frame information, and returns the rows of one function.

A row is an address and the number of the rule that applies from there on. A program is split into *strides*. A stride
is some instructions that change rules, then one that advances the address, or that remembers or restores all rules. The
rules in force are a *state*, which caches {bytes of changes: next state}. Prologues are alike, so most strides cost one
match of a regular expression and one dictionary lookup::

    41         | 0e 10 83 02 | 44         | 0e 80 01   | 02 70      the bytes of a program
    advance 1  | push %rbx   | advance 4  | sub …,%rsp | advance 112
                 state 0 → 1                state 1 → 2

Every instruction has at least one byte and makes at most one row, so the length of the entry bounds time and memory.
"""

import re
from array import array
from typing import Literal

from msgspec import Struct, field

from perf2x.base.binaries.cfi.byte_cursor import MAX_U64, CfiCursor, to_signed
from perf2x.base.binaries.cfi.dwarf_expressions import parse_expression
from perf2x.base.binaries.cfi.frame_entries import Cie, Fde, FrameSection
from perf2x.base.binaries.cfi.opcodes import OPCODES, PRIMARY_MASK, REMEMBER_STATE, RESTORE_STATE, SET_LOCATION, Effect
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, NO_RULE, RegisterRule, Rule, RuleKind, RuleTable
from perf2x.errors import ObjectError

# Bytes of a program to match at a time.
_MATCH_SIZE = 1 << 12
_LEB128 = rb"[\x80-\xff]*[\x00-\x7f]"
_OPERAND_PATTERNS = {"6": b"", "u": _LEB128, "s": _LEB128}
# Matches an instruction that changes rules, unless it has an expression. "6" stands for the low six bits.
_CHANGE = b"|".join(
    b"[\\x%02x-\\x%02x]" % (code, code | 0x3F if "6" in opcode.operands else code)
    + b"".join(_OPERAND_PATTERNS[kind] for kind in opcode.operands)
    for code, opcode in OPCODES.items()
    if "e" not in opcode.operands
)
# Matches the end of a stride: DW_CFA_advance_loc, advance_loc1, advance_loc2, advance_loc4, MIPS_advance_loc8,
# remember_state or restore_state.
_STRIDE_END = rb"[\x40-\x7f]|\x02.|\x03..|\x04.{4}|\x1d.{8}|%b|%b" % (REMEMBER_STATE, RESTORE_STATE)
# Matches one stride. Group 1 is the instructions that change rules, group 2 the one that ends the stride. If any other
# instruction follows group 1, group 2 is empty, and group 3 is all bytes from that instruction on.
_STRIDE = re.compile(rb"((?:%b)*)(?:(%b)|(.*))" % (_CHANGE, _STRIDE_END), re.DOTALL)


class FunctionRows(Struct):
    """The rows of one function, by ascending address."""

    end: int
    """svma after the function; 0 if its entry is damaged."""
    start: "array[int]"
    """svma of each row."""
    rule_number: "array[int]"
    """Number of each row's rule."""

    def advance(self, location: int, new_location: int, rule_number: int) -> int:
        """Add a row from ``location`` up to ``new_location``, unless it is empty or has no rule.

        Returns ``new_location``.
        """
        if new_location > location and rule_number != NO_RULE:
            self.start.append(location)
            self.rule_number.append(rule_number)
        return new_location


class _State(Struct):
    # (register, offset) or (CFA_BY_EXPRESSION, number of the expression); None before the CFA is defined
    cfa: tuple[int, int] | None
    # (register, rule) of registers that are not SAME, by ascending register
    registers: tuple[tuple[int, RegisterRule], ...]
    rule_number: int
    successors: dict[bytes, "_State"] = field(default_factory=dict)


class CfiPrograms:
    """Runs the programs of all functions that share a CIE."""

    def __init__(self, section: FrameSection, cie: Cie, table: RuleTable) -> None:
        """Run the CIE's instructions, with which every program begins.

        Raises ObjectError if they are damaged.
        """
        if cie.return_register >= table.register_count:
            raise ObjectError(
                f"call frame information: the return address is in unsupported register {cie.return_register}"
            )
        self._section, self._cie, self._table = section, cie, table
        self._byte_order: Literal["little", "big"] = "little" if section.byte_order == "<" else "big"
        self._states: dict[object, _State] = {}
        # DW_CFA_restore takes rules from here.
        self._initial_rules: dict[int, RegisterRule] = {}
        # The CIE's program begins without rules; those of FDEs begin in the state in which it ends.
        self._first_state = self._state(None, {})
        self._first_state = self._run(cie.instructions, 0, FunctionRows(0, array("Q"), array("i")))
        self._initial_rules = dict(self._first_state.registers)
        # forget the states of the CIE's program: in it, DW_CFA_restore had no rules to restore
        self._states.clear()
        self._first_state.successors.clear()

    def rows(self, fde: Fde) -> FunctionRows:
        """Return the rows of a function. Raises ObjectError if the FDE is damaged."""
        rows = FunctionRows(fde.end, array("Q"), array("i"))
        self._run(fde.instructions, fde.start, rows)
        return rows

    def _run(self, span: tuple[int, int], location: int, rows: FunctionRows) -> _State:
        """Run a program, add its rows to ``rows``, and return the state at its end.

        ``span`` has the offsets of its first byte and of its end. The rules begin at ``location``.
        """
        cursor = self._section.cursor(*span)
        cursor.address_size = self._cie.address_size
        state, remembered_states = self._first_state, list[_State]()
        while cursor.position < cursor.end:
            match_end, unmatched = min(cursor.position + _MATCH_SIZE, cursor.end), b""
            for changes, last, unmatched in _STRIDE.findall(cursor.data, cursor.position, match_end):
                if changes:
                    state = state.successors.get(changes) or self._learn(state, changes)
                if last == REMEMBER_STATE:
                    remembered_states.append(state)
                elif last == RESTORE_STATE:  # restores the CFA as well, as GCC and binutils do
                    if not remembered_states:
                        raise ObjectError("call frame information: it restores a state that it never remembered")
                    state = remembered_states.pop()
                elif last:  # one of the advances
                    distance = last[0] & ~PRIMARY_MASK if len(last) == 1 else int.from_bytes(last[1:], self._byte_order)
                    new_location = location + distance * self._cie.code_alignment & MAX_U64
                    location = rows.advance(location, new_location, state.rule_number)
                elif unmatched:
                    break
            # ``unmatched`` begins with an instruction that is not part of a stride, or that match_end cut off. Matching
            # continues there, unless nothing was matched before it: then this instruction is run.
            if len(unmatched) < match_end - cursor.position:
                cursor.position = match_end - len(unmatched)
            elif unmatched[0] == SET_LOCATION:
                location = rows.advance(location, self._location(cursor), state.rule_number)
            else:
                state = self._state_after(state, cursor, cursor.position)
        rows.advance(location, MAX_U64 + 1, state.rule_number)  # the row ends at `FunctionRows.end`
        return state

    def _location(self, cursor: CfiCursor) -> int:
        cursor.position += 1
        address = cursor.pointer(self._cie.pointer_encoding)
        if address is None:
            raise ObjectError("call frame information: DW_CFA_set_loc without an address")
        return address

    def _learn(self, state: _State, changes: bytes) -> _State:
        cursor = CfiCursor(changes, 0, len(changes))  # no operand in ``changes`` depends on byte order or address size
        state_after = state.successors[changes] = self._state_after(state, cursor, cursor.end)
        return state_after

    def _state_after(self, state: _State, cursor: CfiCursor, stop: int) -> _State:
        """Run at least one instruction, then others as long as the cursor is before ``stop``."""
        cfa, registers = state.cfa, dict(state.registers)
        while True:
            byte = cursor.u8()
            opcode = OPCODES.get(byte & PRIMARY_MASK or byte)
            if opcode is None:
                raise ObjectError(f"call frame information: instruction {byte:#x} is unknown or cut off")
            operands = [self._operand(kind, byte, cursor) for kind in opcode.operands]
            if opcode.factor:
                operands[-1] *= opcode.factor * self._cie.data_alignment
            match opcode.effect:
                case Effect.SET:
                    # the operand after the register is the rule's value; without one, it is 0
                    self._set(registers, operands[0], RegisterRule(opcode.rule, to_signed(sum(operands[1:]))))
                case Effect.RESTORE:
                    self._set(registers, operands[0], self._initial_rules.get(operands[0]))
                case Effect.CFA_EXPRESSION:
                    cfa = CFA_BY_EXPRESSION, operands[0]
                case Effect.CFA:
                    cfa = self._cfa_rule(*operands)
                case Effect.CFA_REGISTER:
                    cfa = self._cfa_rule(operands[0], _register_and_offset(cfa)[1])
                case Effect.CFA_OFFSET:
                    cfa = self._cfa_rule(_register_and_offset(cfa)[0], operands[0])
            if cursor.position >= stop:
                return self._state(cfa, registers)

    def _operand(self, kind: str, first_byte: int, cursor: CfiCursor) -> int:
        """Return an operand, or the number of an expression; ``first_byte`` is that of the instruction."""
        if kind == "6":
            return first_byte & ~PRIMARY_MASK
        if kind == "e":
            parsed = parse_expression(cursor.block(), self._cie.address_size, cursor.byte_order)
            return self._table.expression_number(parsed)
        return cursor.operand(kind)

    def _set(self, registers: dict[int, RegisterRule], register: int, rule: RegisterRule | None) -> None:
        """Set the rule of a register, unless the table lacks this register; None means SAME."""
        registers.pop(register, None)
        if rule is not None and rule.kind is not RuleKind.SAME and register < self._table.register_count:
            registers[register] = rule

    def _cfa_rule(self, register: int, offset: int) -> tuple[int, int]:
        if register >= self._table.register_count:
            raise ObjectError(f"call frame information: the CFA is in unsupported register {register}")
        return register, to_signed(offset)

    def _state(self, cfa: tuple[int, int] | None, registers: dict[int, RegisterRule]) -> _State:
        key = cfa, tuple(sorted(registers.items()))
        state = self._states.get(key)
        if state is None:
            cie = self._cie
            rule = (
                NO_RULE
                if cfa is None
                else self._table.number(Rule(*cfa, cie.return_register, cie.is_signal_frame, key[1]))
            )
            state = self._states[key] = _State(*key, rule)
        return state


def _register_and_offset(cfa: tuple[int, int] | None) -> tuple[int, int]:
    if cfa is None or cfa[0] == CFA_BY_EXPRESSION:
        raise ObjectError("call frame information: it changes the CFA before defining it as a register and an offset")
    return cfa
