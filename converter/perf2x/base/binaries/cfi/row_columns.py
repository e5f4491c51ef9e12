"""Rule rows of many functions from the instructions of their programs; equal rules are interned once for all of them.

A row stands for the code between two advances, as far as a CFA is defined. Its rule is put together from the
instructions that set its parts: a number for each part, so that few distinct rows are left.

Rules in force at instructions are found for all programs at once. A part of a rule (the CFA's register, its offset, the
rule of one register) is what the last instruction that set it says. Without DW_CFA_restore_state that is a running
maximum over the numbers of those instructions. A restored state begins a new run, whose start points to what held where
the state was remembered; chains of such pointers are followed 1, 2, 4, 8 … pointers at a time::

    instruction      0 begin   1 cfa   2 rbx   3 remember   4 cfa   5 restore_state   6 rbx   7 end
    sets the CFA     0         1       1       1            4       5 → 1             5 → 1   5 → 1
    sets rbx         0         0       2       2            2       5 → 2             6       6
"""

from functools import lru_cache

import numpy as np

from perf2x.base.binaries.cfi.byte_cursor import MASK
from perf2x.base.binaries.cfi.frame_entries import Cie
from perf2x.base.binaries.cfi.instruction_columns import CfiInstructions
from perf2x.base.binaries.cfi.opcodes import EFFECT, Effect, by_code
from perf2x.base.binaries.cfi.unwind_rules import RegisterRule, Rule, RuleKind, RuleTable
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    Frozen,
    arange,
    argsort_rows,
    as_int32,
    as_int64,
    as_uint64,
    bincount,
    cumsum,
    flatnonzero,
    group_rows,
    minus_ones,
    searchsorted,
    take,
    unique,
    zeros,
)

_CFA_REGISTER, _CFA_OFFSET = 0, 1
"""The first two parts; one for each register that is set follows."""
_SETS_CFA_REGISTER = (EFFECT == Effect.CFA) | (EFFECT == Effect.CFA_REGISTER)
_SETS_CFA_OFFSET = (EFFECT == Effect.CFA) | (EFFECT == Effect.CFA_OFFSET)
_CHANGES_CFA = _SETS_CFA_REGISTER ^ _SETS_CFA_OFFSET
_SETS_REGISTER = (EFFECT == Effect.SET) | (EFFECT == Effect.RESTORE)
_STATES = (EFFECT == Effect.REMEMBER) | (EFFECT == Effect.RECALL)


class _States(Frozen):
    """Setters of ``p`` parts at ``i`` instructions."""

    registers: I64
    """(p − 2,) the registers that are set, rising"""
    last: I64
    """(p, i) the last setter in the same run, or else the run's first instruction"""
    run: I64
    """(i,) number of the run that a restored state begins, −1 for other instructions"""
    source: I64
    """(p, runs) the setter in force where a run begins"""

    def at(self, instruction: I64, parts: slice = slice(None)) -> I64:
        """(p, k) the setter of each part after ``instruction`` (k,); the program's first one where nothing set it."""
        found = take(self.last[parts], instruction, axis=1)
        return _followed(found, self.run, self.source[parts])


def _states(of: CfiInstructions, register_count: int) -> tuple[_States, Bools]:
    """Find the setters of all parts, and (n,) whether each program is sound: only then its states mean something.

    A state that was never remembered cannot be restored, and a CFA can only be changed once it is defined.
    """
    count = np.uint64(register_count)
    sets = flatnonzero(_SETS_REGISTER[of.code] & (of.first < count))
    set_register = of.first[sets].view(np.int64)
    registers = unique(set_register)
    begins = flatnonzero(EFFECT[of.code] == Effect.RECALL)
    partner, is_unmatched = _remembered(of, begins)
    last = zeros((2 + len(registers), len(of.code)))
    last[:, of.begin], last[:, begins] = of.begin, begins
    for part, is_setter in ((_CFA_REGISTER, _SETS_CFA_REGISTER), (_CFA_OFFSET, _SETS_CFA_OFFSET)):
        rows = flatnonzero(is_setter[of.code])
        last[part, rows] = rows
    last[2 + searchsorted(registers, set_register), sets] = sets
    np.maximum.accumulate(last, axis=1, out=last)
    run = minus_ones(len(of.code))
    run[begins] = arange(len(begins))
    found = _States(registers, last, run, _sources(last[:, partner], run))
    is_foreign = _SETS_CFA_REGISTER[of.code] & (of.first >= count)
    # instructions that change a CFA that nothing has defined; the one before each is of the same program
    changes = flatnonzero(_CHANGES_CFA[of.code])
    (setter,) = found.at(changes - 1, slice(_CFA_REGISTER, _CFA_REGISTER + 1))
    undefined = changes[setter == of.begin[of.program[changes]]]
    bad = np.concatenate([begins[is_unmatched], flatnonzero(is_foreign), undefined])
    return found, bincount(of.program[bad], len(of.begin)) == 0


def _remembered(of: CfiInstructions, begins: I64) -> tuple[I64, Bools]:
    """Find the instruction that remembered what each of ``begins`` restores, and whether there is none.

    Brackets match: of those at one depth of a program, each opening one stands right in front of its closing one.
    """
    both = flatnonzero(_STATES[of.code])
    step = np.where(EFFECT[of.code[both]] == Effect.REMEMBER, np.int64(1), -1)
    depth = cumsum(step)
    before = searchsorted(both, of.begin[of.program[both]])
    depth -= np.append(0, depth)[before]
    level = np.where(step > 0, depth, depth + 1)
    order = argsort_rows([of.program[both], level]) if len(both) else both
    partner = np.empty(len(both), np.int64)
    partner[order] = both[np.roll(order, 1)]
    closes = step < 0
    return partner[closes], level[closes] <= 0


def _sources(source: I64, run: I64) -> I64:
    """Follow the pointers of runs (p, runs) until none points to a run's beginning.

    Programs that are not sound may point in circles, so the number of rounds is bounded.
    """
    for _ in range(source.shape[1].bit_length() + 1):
        followed = _followed(source, run, source)
        if np.array_equal(followed, source):
            break
        source = followed
    return source


def _followed(setter: I64, run: I64, source: I64) -> I64:
    """(p, k) the setters themselves, of those that are beginnings of runs what these point to."""
    number = take(run, setter)
    place = flatnonzero(number.ravel() >= 0)
    if not len(place):
        return setter
    part, followed = place // setter.shape[1], setter.flatten()
    followed[place] = take(source.ravel(), part * source.shape[1] + take(number.ravel(), place))
    return followed.reshape(setter.shape)


_KIND_BITS = 3
_FIXED = 4
"""Columns of a rule's row in front of those of its registers."""
_FARTHEST = 1 << 48
"""Numbers from here on are left to the scalar decoder, so that a kind and a number fit one word."""


_FACTOR, _KIND = by_code(lambda opcode: opcode.factor), by_code(lambda opcode: opcode.rule)
_IS_UNFACTORED = by_code(lambda opcode: opcode.operands == "uu" or opcode.effect is Effect.CFA_OFFSET) & (_FACTOR == 0)


class Aligned(Frozen):
    """Facts on ``n`` functions that their instructions refer to."""

    cies: list[Cie]
    cie: I64
    """(n,) index into ``cies``"""
    start: U64
    """(n,) svma"""


class RowColumns(Frozen):
    """Rows by rising address in each function: number of the function, svma, number of the rule."""

    function: I64
    start: U64
    rule: I32


def row_columns(of: CfiInstructions, functions: Aligned, table: RuleTable) -> tuple[RowColumns, I64]:
    """Make the rows of ``n`` programs; also returns those (of 0 … n − 1) that the rows are complete for."""
    found, is_sound = _states(of, table.register_count)
    value = _values(of, functions)
    is_far = (value + _FARTHEST).view(np.uint64) >= np.uint64(2 * _FARTHEST)
    is_sound &= of.is_usual & (bincount(of.program[is_far], len(is_sound)) == 0)
    at, start = _row_ends(of, functions)
    setter = found.at(at)
    program = of.program[at]
    whole = is_sound[program] & (setter[_CFA_REGISTER] != of.begin[program])
    which = flatnonzero(whole)
    at, program, setter = take(at, which), take(program, which), take(setter, which, axis=1)
    _give_back(of, found, setter, program)
    columns = [take(of.first, setter[_CFA_REGISTER]).view(np.int64), take(value, setter[_CFA_OFFSET])]
    numbers = value << _KIND_BITS | _KIND[of.code]
    columns += [take(numbers, part) for part in setter[2:]]
    rule = _rule_numbers(functions, functions.cie[program], columns, found.registers, table)
    return RowColumns(program, take(start, which), rule), flatnonzero(is_sound)


def _values(of: CfiInstructions, functions: Aligned) -> I64:
    """(i,) offsets in bytes, and numbers of registers that hold others; 0 of instructions without any."""
    alignment = as_int64([cie.data_alignment for cie in functions.cies])[functions.cie]
    factor = _FACTOR[of.code]
    factored = of.last * (factor * alignment[of.program])
    return np.where(factor != 0, factored, np.where(_IS_UNFACTORED[of.code], of.last, 0))


def _row_ends(of: CfiInstructions, functions: Aligned) -> tuple[I64, U64]:
    """Find the instructions that end a row, and (r,) where the row starts: advances, and the ends of programs."""
    alignment = as_uint64([cie.code_alignment & MASK for cie in functions.cies])[functions.cie]
    distance = np.where(
        EFFECT[of.code] == Effect.ADVANCE, of.last.view(np.uint64) * alignment[of.program], np.uint64(0)
    )
    moved = np.cumsum(distance, dtype=np.uint64)  # wraps as addresses do
    after = moved + (functions.start - moved[of.begin])[of.program]
    before = after - distance
    is_end = after > before
    is_end[of.end] = True
    at = flatnonzero(is_end)
    return at, before[at]


def _give_back(of: CfiInstructions, found: _States, setter: I64, program: I64) -> None:
    """Replace, in ``setter`` (p, r), instructions that restore the CIE's rule by those that set it there.

    In the CIE itself, they and what they stand for say ``SAME``.
    """
    restores = take(EFFECT[of.code] == Effect.RESTORE, setter) & (setter > of.middle[program])
    place = flatnonzero(restores)
    if len(place):
        part, row = np.divmod(place, len(program))
        np.put(setter, place, found.at(of.middle)[part, program[row]])


def _rule_numbers(functions: Aligned, cie: I64, columns: list[I64], registers: I64, table: RuleTable) -> I32:
    """(r,) numbers of rules; loops over the distinct rows, and puts rules together from rows never seen before."""
    if not len(cie):
        return np.zeros(0, np.int32)
    first, group = group_rows([cie, *columns])
    of_cie = as_int64([(one.return_register, one.is_signal_frame) for one in functions.cies])
    rows = zeros((len(first), _FIXED + table.register_count))
    rows[:, :2], rows[:, 2:_FIXED] = np.transpose([column[first] for column in columns[:2]]), of_cie[cie[first]]
    for register, numbers in zip(registers.tolist(), columns[2:], strict=True):
        rows[:, _FIXED + register] = numbers[first]
    keys = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel().tolist()
    known = table.by_row
    for number, key in enumerate(keys):
        if key not in known:
            known[key] = table.number(_rule(*rows[number].tolist()))
    return as_int32([known[key] for key in keys])[group]


def _rule(cfa_register: int, cfa_value: int, return_register: int, is_signal: int, *numbers: int) -> Rule:
    saved = tuple([_register_rule(register, number) for register, number in enumerate(numbers) if number & 7])
    return Rule(cfa_register, cfa_value, return_register, bool(is_signal), saved)


@lru_cache(4096)
def _register_rule(register: int, number: int) -> tuple[int, RegisterRule]:
    return register, RegisterRule(RuleKind(number & 7), number >> _KIND_BITS)
