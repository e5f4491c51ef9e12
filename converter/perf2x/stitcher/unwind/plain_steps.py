"""Steps by plain rules: the way out of nearly every function of compiled code, in a third of the calls.

A rule is plain when the CFA is a register and a number, and the return address and every register that is restored lie
in the stack at the CFA and a number. `steps.step_by_rules` takes all others, and plain ones of which anything is
missing or odd: there a sample is left as it was.
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, U8, U64, Bools, flatnonzero, take
from perf2x.binaries.cfi.unwind_rules import RuleColumns, RuleKind, RuleTable
from perf2x.stitcher.unwind.architecture import Architecture
from perf2x.stitcher.unwind.register_file import UNFINISHED, SampleView
from perf2x.stitcher.unwind.unwound_chains import End

NOT_TAKEN = 254
"""In a column of ends: the step is still to be taken."""
WORD = 8
_IN_WORD = np.uint64(WORD - 1)
_BYTES_OF_WORD = np.uint64(3)
"""Right shift from bytes to words."""


class SavedRegister(Struct, frozen=True):
    """Places of one register, by rule."""

    register: int
    is_saved: Bools
    """(m,) whether the rule names a place"""
    offset: U64
    """(m,) bytes from the CFA, two's complement"""


class PlainRules(Struct, frozen=True):
    """``m`` rules over the registers that are restored; columns mean something where ``is_plain``."""

    is_plain: Bools
    cfa_register: I64
    cfa_value: U64
    return_offset: U64
    """(m,) bytes from the CFA to the return address, two's complement"""
    saved: tuple[SavedRegister, ...]
    """Of every restored register that some plain rule saves."""
    learned: U64
    """(m,) bit r: register r is known after a step by the rule, whatever it was before"""


class PlainRuleTable:
    """The plain rules of a table, up to date whenever they are asked for."""

    def __init__(self, table: RuleTable, architecture: Architecture) -> None:
        self._table, self._architecture = table, architecture
        self._made_of: tuple[RuleColumns, int] | None = None
        self._rules: PlainRules | None = None

    def rules(self) -> PlainRules:
        """All plain rules so far, for the registers that are needed so far."""
        columns, needed = self._table.columns(), self._table.needed
        known = self._made_of
        if self._rules is None or known is None or known[0] is not columns or known[1] != needed:
            self._rules, self._made_of = plain_rules(columns, self._architecture, needed), (columns, needed)
        return self._rules


class _Read(Struct, frozen=True):
    """Values of one register that were found in the stack."""

    register: int
    which: I64
    value: U64


class _Entered(Struct, frozen=True):
    """Values in the callers of ``n`` samples."""

    cfa: U64
    address: U64
    known: U64
    """(n,) as in `RegisterFile`"""
    reads: list[_Read]


def plain_rules(columns: RuleColumns, architecture: Architecture, needed: int) -> PlainRules:
    """Columns of all rules so far; ``needed`` are the registers to restore, as in ``Architecture.kept``."""
    counter, pointer = architecture.program_counter, architecture.stack_pointer
    others = [register for register in architecture.kept(needed) if register not in (counter, pointer)]
    kind, value = columns.kind, columns.value
    is_plain = (columns.cfa_register >= 0) & (columns.cfa_register < architecture.register_count)
    is_plain &= (columns.return_register == counter) & (kind[counter] == RuleKind.OFFSET) & ~columns.is_signal_frame
    is_plain &= (kind[pointer] == RuleKind.SAME) & (value[counter] & _IN_WORD == 0) & (architecture.word == WORD)
    for register in others:
        is_aligned = (kind[register] == RuleKind.OFFSET) & (value[register] & _IN_WORD == 0)
        is_plain &= is_aligned | (kind[register] == RuleKind.SAME)
    saved = [SavedRegister(one, is_plain & (kind[one] == RuleKind.OFFSET), value[one]) for one in others]
    found = tuple(one for one in saved if one.is_saved.any())
    learned = np.full(len(is_plain), 1 << pointer | 1 << counter, np.uint64)
    for one in found:
        learned |= one.is_saved.astype(np.uint64) << np.uint64(one.register)
    return PlainRules(is_plain, columns.cfa_register, columns.cfa_value, value[counter], found, learned)


def step_plainly(view: SampleView, rules: PlainRules, rule: I32, known: Bools, exact: Bools) -> U8:
    """Take the step of samples whose rules are ``known`` and plain; returns (n,) UNFINISHED, COMPLETE or NOT_TAKEN.

    ``exact`` is ``is_exact`` of the samples. What is read is kept apart until it is known which samples have all of it.
    """
    memory, rows = view.memory, view.rows
    if not len(memory.words) or not len(rules.is_plain):
        return np.full(len(rows), NOT_TAKEN, np.uint8)
    before = take(view.frames.known, rows, mode="clip")
    cfa, good = _canonical_frame_address(view, rules, rule, before, exact)
    good &= known
    offset = cfa - take(memory.base, rows, mode="clip")
    good &= offset & _IN_WORD == 0
    first, count = take(memory.start, rows, mode="clip"), take(memory.count, rows, mode="clip")
    word = offset + take(rules.return_offset, rule, mode="clip") >> _BYTES_OF_WORD
    good &= word < count
    address = take(memory.words, first + word.view(np.int64), mode="clip")
    address &= np.uint64(view.architecture.address_mask)
    reads = []
    for one in rules.saved:
        which = flatnonzero(take(one.is_saved, rule, mode="clip"))
        if len(which):
            word = take(offset, which) + take(one.offset, take(rule, which), mode="clip") >> _BYTES_OF_WORD
            good[which[word >= take(count, which)]] = False
            value = take(memory.words, take(first, which) + word.view(np.int64), mode="clip")
            reads.append(_Read(one.register, which, value))
    before |= take(rules.learned, rule, mode="clip")
    _store(view, good, _Entered(cfa, address, before, reads))
    end = np.full(len(rows), NOT_TAKEN, np.uint8)
    end[good] = UNFINISHED
    end[good & (address == 0)] = End.COMPLETE
    return end


def _canonical_frame_address(
    view: SampleView, rules: PlainRules, rule: I32, known: U64, exact: Bools
) -> tuple[U64, Bools]:
    """(n,) CFAs, and which are known and lie where a caller's frame can."""
    registers, rows = view.frames.registers, view.rows
    register = take(rules.cfa_register, rule, mode="clip")
    place = register * registers.shape[1]
    place += rows
    cfa = take(registers.ravel(), place, mode="clip") + take(rules.cfa_value, rule, mode="clip")
    good = take(rules.is_plain, rule, mode="clip")
    good &= known >> register.view(np.uint64) & np.uint64(1) != 0
    stack = take(registers[view.architecture.stack_pointer], rows, mode="clip")
    good &= (cfa > stack) | exact & (cfa == stack)
    return cfa, good


def _store(view: SampleView, good: Bools, new: _Entered) -> None:
    """Enter the callers of the samples that are ``good``."""
    architecture, registers, rows, whole = view.architecture, view.frames.registers, view.rows, bool(good.all())
    for read in new.reads:
        held = slice(None) if whole else take(good, read.which)
        registers[read.register][rows[read.which[held]]] = read.value[held]
    held = slice(None) if whole else good
    rows = rows[held]
    registers[architecture.stack_pointer][rows] = new.cfa[held]
    registers[architecture.program_counter][rows] = new.address[held]
    view.frames.known[rows] = new.known[held]
    view.frames.is_exact[rows] = False
