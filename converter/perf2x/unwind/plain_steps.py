"""Steps by plain rules: the way out of nearly every function of compiled code, in a third of the calls.

A rule is plain when the CFA is a register and a number, and the return address and every register that is restored lie
in the stack at the CFA and a number. `steps.step_by_rules` takes all others, and plain ones of which anything is
missing or odd: there a sample is left as it was.
"""

import numpy as np
from msgspec import Struct

from perf2x.columnar.arrays import I32, I64, U8, U64, Bools
from perf2x.unwind.architecture import Architecture
from perf2x.unwind.cfi_rules import RuleColumns, RuleKind, RuleTable
from perf2x.unwind.chains import End
from perf2x.unwind.registers import UNFINISHED, RegisterFile, SampleView

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
    return PlainRules(is_plain, columns.cfa_register, columns.cfa_value, value[counter], found)


def step_plainly(view: SampleView, rules: PlainRules, rule: I32, known: Bools) -> U8:
    """Take the step of samples whose rules are ``known`` and plain; returns (n,) UNFINISHED, COMPLETE or NOT_TAKEN.

    What is read is kept apart until it is known which samples have all of it.
    """
    frames, memory, rows = view.frames, view.memory, view.rows
    if not len(memory.words) or not len(rules.is_plain):
        return np.full(len(rows), NOT_TAKEN, np.uint8)
    cfa, good = _canonical_frame_address(view, rules, rule)
    good &= known
    offset = cfa - memory.base.take(rows, mode="clip")
    good &= offset & _IN_WORD == 0
    first, count = memory.start.take(rows, mode="clip"), memory.count.take(rows, mode="clip")
    word = offset + rules.return_offset.take(rule, mode="clip") >> _BYTES_OF_WORD
    good &= word < count
    address = memory.words.take(first + word.view(np.int64), mode="clip")
    address &= np.uint64(view.architecture.address_mask)
    reads = []
    for one in rules.saved:
        which = one.is_saved.take(rule, mode="clip").nonzero()[0]
        if len(which):
            word = offset.take(which) + one.offset.take(rule.take(which), mode="clip") >> _BYTES_OF_WORD
            good[which] &= word < count.take(which)
            value = memory.words.take(first.take(which) + word.view(np.int64), mode="clip")
            reads.append(_Read(one.register, which, value))
    _store(view.architecture, frames, rows, good, cfa, address, reads)
    end = np.full(len(rows), NOT_TAKEN, np.uint8)
    end[good] = UNFINISHED
    end[good & (address == 0)] = End.COMPLETE
    return end


def _canonical_frame_address(view: SampleView, rules: PlainRules, rule: I32) -> tuple[U64, Bools]:
    """(n,) CFAs, and which are known and lie where a caller's frame can."""
    frames, rows = view.frames, view.rows
    register = rules.cfa_register.take(rule, mode="clip")
    place = register * frames.registers.shape[1]
    place += rows
    cfa = frames.registers.ravel().take(place, mode="clip") + rules.cfa_value.take(rule, mode="clip")
    good = rules.is_plain.take(rule, mode="clip")
    good &= frames.known.take(rows, mode="clip") >> register.view(np.uint64) & np.uint64(1) != 0
    before = frames.registers[view.architecture.stack_pointer].take(rows, mode="clip")
    good &= (cfa > before) | frames.is_exact.take(rows, mode="clip") & (cfa == before)
    return cfa, good


def _store(
    architecture: Architecture, frames: RegisterFile, rows: I64, good: Bools, cfa: U64, address: U64, reads: list[_Read]
) -> None:
    """Enter the callers of the samples that are ``good``."""
    bits = np.full(len(rows), 1 << architecture.stack_pointer | 1 << architecture.program_counter, np.uint64)
    for read in reads:
        bits[read.which] |= np.uint64(1 << read.register)
        held = good.take(read.which)
        which = read.which if held.all() else read.which[held]
        frames.registers[read.register, rows.take(which)] = read.value if held.all() else read.value[held]
    if not good.all():
        rows, cfa, address, bits = rows[good], cfa[good], address[good], bits[good]
    frames.registers[architecture.stack_pointer, rows] = cfa
    frames.registers[architecture.program_counter, rows] = address
    frames.known[rows] |= bits
    frames.is_exact[rows] = False
