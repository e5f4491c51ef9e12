"""Steps by plain rules: the way out of nearly every function of compiled code, in few calls for many samples.

A rule is plain when the CFA is a register and a number, and the return address and every register that is restored lie
in the stack at the CFA and a number. `whole_steps.step_by_rules` takes all others, and plain ones of which anything is
missing or odd: there a sample is left as it was.

A step costs by the call, so samples lie side by side in the columns of one array, and so do rules::

    rule        CFA's row, value    learned    places of the caller's counter, rbp, rbx
    sample      row    counter      known      stack pointer    rbp    rbx    where its stack is
"""

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, U64, Bools, as_intp, flatnonzero, take
from perf2x.binaries.cfi.unwind_rules import RuleColumns, RuleKind, RuleTable
from perf2x.stitcher.unwind.architecture import Architecture
from perf2x.stitcher.unwind.register_file import SampleView
from perf2x.stitcher.unwind.unwound_chains import MappingFinder

WORD = 8
_IN_WORD = np.uint64(WORD - 1)
_BYTES_OF_WORD = np.uint64(3)
"""Right shift from bytes to words."""
_NOWHERE = np.uint64(1 << 63)
"""Place, as of the CFA, that no copied stack has."""

_ROW, _COUNTER_THERE, _CALLED, _KNOWN, _IMAGE, _MOMENT, _BASE, _ROOM, _FIRST, _STACK, _COUNTER = range(11)
"""Fields of `Lanes.fields`; other registers follow. A visit is the first three, the counter copied."""
VISIT = 3
_OF_CFA, _VALUE, _LEARNED, _PLACES = range(4)
"""Fields of `PlainRules.fields`; the places of registers follow, those of the program counter first."""


class PlainRules(Struct, frozen=True):
    """``m`` rules over the ``k`` registers that are restored, and one more that is not plain."""

    registers: list[int]
    """(k,) numbers, the program counter first; the stack pointer is none of them"""
    fields: U64
    """(3 + k, m + 1) row of the CFA's register in `Lanes.fields`, number to add, bits of the registers that are known
    after a step; bytes from the CFA to each saved register, two's complement, the return address's for one that stays
    as it is, `_NOWHERE` in rules that are not plain"""
    saved: Bools
    """(k - 1, m + 1) whether the rule names a place, of those behind the program counter"""
    is_plain: Bools
    """(m,)"""


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


def plain_rules(columns: RuleColumns, architecture: Architecture, needed: int) -> PlainRules:
    """All rules so far; ``needed`` are the registers to restore, as in ``Architecture.kept``."""
    counter, pointer = architecture.program_counter, architecture.stack_pointer
    others = [register for register in architecture.kept(needed) if register not in (counter, pointer)]
    registers = [counter, *others]
    kind, value = columns.kind[registers], columns.value[registers]
    row_of = np.full(architecture.register_count + 1, -1, np.int64)
    row_of[[pointer, *registers]] = range(_STACK, _STACK + 1 + len(registers))
    row = row_of[np.clip(columns.cfa_register, -1, architecture.register_count)]
    saved = (kind == RuleKind.OFFSET) & (value & _IN_WORD == 0)
    is_plain = (row >= 0) & (columns.return_register == counter) & saved[0] & ~columns.is_signal_frame
    is_plain &= (saved | (kind == RuleKind.SAME)).all(axis=0)
    is_plain &= (columns.kind[pointer] == RuleKind.SAME) & (architecture.word == WORD)
    fields = np.full((_PLACES + len(registers), len(row) + 1), _NOWHERE, np.uint64)
    fields[_OF_CFA], fields[_VALUE] = _STACK, 0
    which = flatnonzero(is_plain)
    bits = np.uint64(1) << np.array([registers], np.uint64).T
    learned = np.bitwise_or.reduce(np.where(saved, bits, np.uint64(0))) | np.uint64(1 << pointer)
    fields[:_PLACES, which] = row[which], columns.cfa_value[which], learned[which]
    fields[_PLACES:, which] = np.where(saved, value, value[0])[:, which]
    return PlainRules(registers, fields, np.append(saved[1:], np.zeros((len(others), 1), np.bool_), axis=1), is_plain)


class Lanes(Struct, frozen=True):
    """``n`` samples of a batch that take plain steps; the batch's registers are as old as `of`, until `put_back`."""

    batch: SampleView
    registers: list[int]
    """As in `PlainRules`."""
    fields: U64
    """(11 + k − 1, n)"""

    @classmethod
    def of(cls, view: SampleView, finder: MappingFinder, rules: PlainRules) -> "Lanes":
        """The samples of a view."""
        frames, memory, rows, pointer = view.frames, view.memory, view.rows, view.architecture.stack_pointer
        stack, stack_is_known = view.register(pointer)
        kept = [take(frames.registers[register], rows) for register in rules.registers]
        room = np.where(stack_is_known, memory.count[rows] << _BYTES_OF_WORD, np.uint64(0))
        columns = (
            rows, kept[0], ~frames.is_exact[rows], frames.known[rows], finder.image[rows], finder.moment[rows],
            memory.base[rows], room, memory.start[rows], stack, *kept,
        )  # fmt: skip
        return cls(view, rules.registers, np.array([column.astype(np.uint64) for column in columns], np.uint64))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows(self) -> I64:
        """(n,) their rows in the batch."""
        rows: I64 = self.fields[_ROW].view(np.int64)
        return rows

    @property
    def place(self) -> tuple[I64, I64, U64]:
        """(n,) process images, moments, and the addresses to look up."""
        fields = self.fields
        return fields[_IMAGE].view(np.int64), fields[_MOMENT].view(np.int64), fields[_COUNTER] - fields[_CALLED]

    def some(self, which: I64 | Bools) -> "Lanes":
        """Some of the samples."""
        return Lanes(self.batch, self.registers, self.fields[:, which])

    def with_others(self, others: list["Lanes"]) -> "Lanes":
        """These samples, then others of the same batch."""
        fields = [self.fields, *(other.fields for other in others)]
        return Lanes(self.batch, self.registers, np.concatenate(fields, axis=1))

    def put_back(self) -> SampleView:
        """The samples, whose registers are the batch's again."""
        frames, rows = self.batch.frames, self.rows
        frames.registers[self.batch.architecture.stack_pointer, rows] = self.fields[_STACK]
        for register, value in zip(self.registers, self.fields[_COUNTER:], strict=True):
            frames.registers[register, rows] = value
        frames.known[rows] = self.fields[_KNOWN]
        frames.is_exact[rows] = self.fields[_CALLED] == 0
        return SampleView(frames, self.batch.memory, self.batch.architecture, rows)

    def step(self, rules: PlainRules, rule: I32 | I64, held: Bools) -> tuple[U64, "Lanes", I64, I64]:
        """Take the step of samples whose rules (n,) are ``held`` and plain.

        Returns (3, n) visits of those that took it: rows, addresses, and 1 for a return address; those that go on; the
        rows of those whose caller is none; and which of these samples did not take it. If all do, these lanes are gone.
        """
        rule = as_intp(rule)
        fields, of_rule = self.fields, rules.fields.take(rule, axis=1, mode="clip")
        cfa, good = self._canonical_frame_address(of_rule)
        good &= held
        offset = cfa - fields[_BASE]
        places = of_rule[_PLACES:] + offset
        good &= (places < fields[_ROOM]).all(axis=0)
        if np.bitwise_or.reduce(offset) & _IN_WORD:
            good &= offset & _IN_WORD == 0
        left = flatnonzero(~good)
        if len(left):
            which = good.nonzero()[0]
            fields, cfa, rule = fields.take(which, axis=1), cfa.take(which), rule.take(which)
            places, of_rule = places.take(which, axis=1), of_rule.take(which, axis=1)
        places >>= _BYTES_OF_WORD
        places += fields[_FIRST]
        value = self.batch.memory.words.take(as_intp(places.view(np.int64)), mode="clip")
        value[0] &= np.uint64(self.batch.architecture.address_mask)
        fields[_COUNTER_THERE] = fields[_COUNTER]
        visits = fields[:VISIT].copy()
        np.copyto(fields[_COUNTER + 1 :], value[1:], where=rules.saved.take(rule, axis=1, mode="clip"))
        fields[_COUNTER], fields[_STACK], fields[_CALLED] = value[0], cfa, 1
        fields[_KNOWN] |= of_rule[_LEARNED]
        going = Lanes(self.batch, self.registers, fields)
        if value[0].all():
            return visits, going, left[:0], left
        is_last = value[0] == 0
        return visits, going.some(~is_last), going.rows[is_last], left

    def _canonical_frame_address(self, of_rule: U64) -> tuple[U64, Bools]:
        """(n,) CFAs, and which are known and lie where a caller's frame can."""
        fields, stack = self.fields, self.fields[_STACK]
        cfa = stack + of_rule[_VALUE]
        good = cfa >= stack + fields[_CALLED]
        others = (of_rule[_OF_CFA] != _STACK).nonzero()[0]
        if len(others):
            row = of_rule[_OF_CFA, others].astype(np.int64)
            cfa[others] = found = fields[row, others] + of_rule[_VALUE, others]
            register = np.array(self.registers, np.uint64)[row - _COUNTER]
            is_known = fields[_KNOWN, others] >> register & np.uint64(1) != 0
            good[others] = is_known & (found >= stack[others] + fields[_CALLED, others])
        return cfa, good
