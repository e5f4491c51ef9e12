"""Rule rows of many functions from the instructions of their programs; equal rules are interned once for all of them.

A row stands for the code between two advances, as far as a CFA is defined. Its rule is put together from the
instructions that set its parts (`cfi_states`): a number for each part, so that few distinct rows are left.
"""

from functools import lru_cache

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, U64
from perf2x.base.columnar.unique import group_rows
from perf2x.binaries.cfi.byte_cursor import MASK
from perf2x.binaries.cfi.frame_entries import Cie
from perf2x.binaries.cfi.instruction_columns import Instructions
from perf2x.binaries.cfi.opcodes import EFFECT, Effect, by_code
from perf2x.binaries.cfi.rule_states import CFA_OFFSET, CFA_REGISTER, States, states
from perf2x.binaries.cfi.unwind_rules import RegisterRule, Rule, RuleKind, RuleTable

_KIND_BITS = 3
_FIXED = 4
"""Columns of a rule's row in front of those of its registers."""
_FARTHEST = 1 << 48
"""Numbers from here on are left to the scalar decoder, so that a kind and a number fit one word."""


_FACTOR, _KIND = by_code(lambda opcode: opcode.factor), by_code(lambda opcode: opcode.rule)
_IS_UNFACTORED = by_code(lambda opcode: opcode.operands == "uu" or opcode.effect is Effect.CFA_OFFSET) & (_FACTOR == 0)


class Aligned(Struct, frozen=True):
    """Facts on ``n`` functions that their instructions refer to."""

    cies: list[Cie]
    cie: I64
    """(n,) index into ``cies``"""
    start: U64
    """(n,) svma"""


class RowColumns(Struct, frozen=True):
    """Rows by rising address in each function: number of the function, svma, number of the rule."""

    function: I64
    start: U64
    rule: I32


def row_columns(of: Instructions, functions: Aligned, table: RuleTable) -> tuple[RowColumns, I64]:
    """Make the rows of ``n`` programs; also returns those (of 0 … n − 1) that the rows are complete for."""
    found, is_sound = states(of, table.register_count)
    value = _values(of, functions)
    is_far = (value + _FARTHEST).view(np.uint64) >= np.uint64(2 * _FARTHEST)
    is_sound &= of.is_usual & (np.bincount(of.program[is_far], minlength=len(is_sound)) == 0)
    at, start = _row_ends(of, functions)
    setter = found.at(at)
    program = of.program[at]
    whole = is_sound[program] & (setter[CFA_REGISTER] != of.begin[program])
    at, program, setter = at[whole], program[whole], setter[:, whole]
    _give_back(of, found, setter, program)
    columns = [of.first[setter[CFA_REGISTER]].view(np.int64), value[setter[CFA_OFFSET]]]
    numbers = value << _KIND_BITS | _KIND[of.code]
    columns += list(numbers[setter[2:]])
    rule = _rule_numbers(functions, functions.cie[program], columns, found.registers, table)
    return RowColumns(program, start[whole], rule), np.flatnonzero(is_sound)


def _values(of: Instructions, functions: Aligned) -> I64:
    """(i,) offsets in bytes, and numbers of registers that hold others; 0 of instructions without any."""
    alignment = np.array([cie.data_alignment for cie in functions.cies], np.int64)[functions.cie]
    factor = _FACTOR[of.code]
    factored = of.last * (factor * alignment[of.program])
    return np.where(factor != 0, factored, np.where(_IS_UNFACTORED[of.code], of.last, 0))


def _row_ends(of: Instructions, functions: Aligned) -> tuple[I64, U64]:
    """Find the instructions that end a row, and (r,) where the row starts: advances, and the ends of programs."""
    alignment = np.array([cie.code_alignment & MASK for cie in functions.cies], np.uint64)[functions.cie]
    distance = np.where(
        EFFECT[of.code] == Effect.ADVANCE, of.last.view(np.uint64) * alignment[of.program], np.uint64(0)
    )
    moved = np.cumsum(distance)  # wraps as addresses do
    after = moved + (functions.start - moved[of.begin])[of.program]
    before = after - distance
    is_end = after > before
    is_end[of.end] = True
    at = np.flatnonzero(is_end)
    return at, before[at]


def _give_back(of: Instructions, found: States, setter: I64, program: I64) -> None:
    """Replace, in ``setter`` (p, r), instructions that restore the CIE's rule by those that set it there.

    In the CIE itself, they and what they stand for say ``SAME``.
    """
    part, row = np.nonzero((EFFECT[of.code[setter]] == Effect.RESTORE) & (setter > of.middle[program]))
    if len(part):
        initial = found.at(of.middle)
        setter[part, row] = initial[part, program[row]]


def _rule_numbers(functions: Aligned, cie: I64, columns: list[I64], registers: I64, table: RuleTable) -> I32:
    """(r,) numbers of rules; loops over the distinct rows, and puts rules together from rows never seen before."""
    if not len(cie):
        return np.zeros(0, np.int32)
    first, group = group_rows([cie, *columns])
    of_cie = np.array([(one.return_register, one.is_signal_frame) for one in functions.cies], np.int64)
    rows = np.zeros((len(first), _FIXED + table.register_count), np.int64)
    rows[:, :2], rows[:, 2:_FIXED] = np.transpose([column[first] for column in columns[:2]]), of_cie[cie[first]]
    for register, numbers in zip(registers.tolist(), columns[2:], strict=True):
        rows[:, _FIXED + register] = numbers[first]
    keys = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel().tolist()
    known = table.by_row
    for number, key in enumerate(keys):
        if key not in known:
            known[key] = table.number(_rule(*rows[number].tolist()))
    return np.array([known[key] for key in keys], np.int32)[group]


def _rule(cfa_register: int, cfa_value: int, return_register: int, is_signal: int, *numbers: int) -> Rule:
    saved = tuple([_register_rule(register, number) for register, number in enumerate(numbers) if number & 7])
    return Rule(cfa_register, cfa_value, return_register, bool(is_signal), saved)


@lru_cache(4096)
def _register_rule(register: int, number: int) -> tuple[int, RegisterRule]:
    return register, RegisterRule(RuleKind(number & 7), number >> _KIND_BITS)
