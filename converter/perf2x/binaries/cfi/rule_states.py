"""Rules in force at instructions of many call frame programs, all programs at once.

A part of a rule (the CFA's register, its offset, the rule of one register) is what the last instruction that set it
says. Without DW_CFA_restore_state that is a running maximum over the numbers of those instructions. A restored state
begins a new run, whose start points to what held where the state was remembered; chains of such pointers are followed
1, 2, 4, 8 … pointers at a time::

    instruction      0 begin   1 cfa   2 rbx   3 remember   4 cfa   5 restore_state   6 rbx   7 end
    sets the CFA     0         1       1       1            4       5 → 1             5 → 1   5 → 1
    sets rbx         0         0       2       2            2       5 → 2             6       6
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, Bools
from perf2x.base.columnar.unique import argsort_rows, unique
from perf2x.binaries.cfi.instruction_columns import Instructions
from perf2x.binaries.cfi.opcodes import EFFECT, Effect

CFA_REGISTER, CFA_OFFSET = 0, 1
"""The first two parts; one for each register that is set follows."""
_SETS_CFA_REGISTER = (EFFECT == Effect.CFA) | (EFFECT == Effect.CFA_REGISTER)
_SETS_CFA_OFFSET = (EFFECT == Effect.CFA) | (EFFECT == Effect.CFA_OFFSET)
_CHANGES_CFA = _SETS_CFA_REGISTER ^ _SETS_CFA_OFFSET
_SETS_REGISTER = (EFFECT == Effect.SET) | (EFFECT == Effect.RESTORE)
_STATES = (EFFECT == Effect.REMEMBER) | (EFFECT == Effect.RECALL)


class States(Struct, frozen=True):
    """Setters of ``p`` parts at ``i`` instructions."""

    registers: I64
    """(p − 2,) the registers that are set, rising"""
    last: I64
    """(p, i) the last setter in the same run, or else the run's first instruction"""
    run: I64
    """(i,) number of the run that a restored state begins, −1 for other instructions"""
    source: I64
    """(p, runs) the setter in force where a run begins"""

    def at(self, instruction: I64) -> I64:
        """(p, k) the setter of each part after ``instruction`` (k,); the program's first one where nothing set it."""
        found = self.last[:, instruction]
        return _followed(found, self.run, self.source)


def states(of: Instructions, register_count: int) -> tuple[States, Bools]:
    """Find the setters of all parts, and (n,) whether each program is sound: only then its states mean something.

    A state that was never remembered cannot be restored, and a CFA can only be changed once it is defined.
    """
    count = np.uint64(register_count)
    sets = np.flatnonzero(_SETS_REGISTER[of.code] & (of.first < count))
    set_register = of.first[sets].view(np.int64)
    registers = unique(set_register)
    begins = np.flatnonzero(EFFECT[of.code] == Effect.RECALL)
    partner, is_unmatched = _remembered(of, begins)
    last = np.zeros((2 + len(registers), len(of.code)), np.int64)
    last[:, of.begin], last[:, begins] = of.begin, begins
    for part, is_setter in ((CFA_REGISTER, _SETS_CFA_REGISTER), (CFA_OFFSET, _SETS_CFA_OFFSET)):
        rows = np.flatnonzero(is_setter[of.code])
        last[part, rows] = rows
    last[2 + np.searchsorted(registers, set_register), sets] = sets
    np.maximum.accumulate(last, axis=1, out=last)
    run = np.full(len(of.code), -1, np.int64)
    run[begins] = np.arange(len(begins))
    found = States(registers, last, run, _sources(last[:, partner], run))
    is_foreign = _SETS_CFA_REGISTER[of.code] & (of.first >= count)
    bad = np.concatenate([begins[is_unmatched], np.flatnonzero(is_foreign), _undefined_changes(of, found)])
    return found, np.bincount(of.program[bad], minlength=len(of.begin)) == 0


def _remembered(of: Instructions, begins: I64) -> tuple[I64, Bools]:
    """Find the instruction that remembered what each of ``begins`` restores, and whether there is none.

    Brackets match: of those at one depth of a program, each opening one stands right in front of its closing one.
    """
    both = np.flatnonzero(_STATES[of.code])
    step = np.where(EFFECT[of.code[both]] == Effect.REMEMBER, 1, -1)
    depth = np.cumsum(step)
    before = np.searchsorted(both, of.begin[of.program[both]])
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
    number = run[setter]
    part, column = np.nonzero(number >= 0)
    if len(part):
        setter = setter.copy()
        setter[part, column] = source[part, number[part, column]]
    return setter


def _undefined_changes(of: Instructions, found: States) -> I64:
    """Instructions that change a CFA that nothing has defined; the one before each is of the same program."""
    changes = np.flatnonzero(_CHANGES_CFA[of.code])
    setter = found.at(changes - 1)[CFA_REGISTER]
    undefined: I64 = changes[setter == of.begin[of.program[changes]]]
    return undefined
