"""Steps by plain rules: the way out of nearly every function of compiled code, in few numpy calls for many samples.

A rule is plain if the CFA is a register plus a number, and the return address and all restored registers are in the
stack at the CFA plus a number; or if it states that there is no caller. Caller-saved registers are not restored here.
`any_rule_steps.step_by_rules` handles all other rules, and plain ones with anything missing or odd: those samples are
left unchanged here.

The cost of a step depends on the number of numpy calls more than on that of samples, so samples are columns of one
array, and so are rules::

    rule        CFA's row, value    learned    places of the caller's counter, rbp, rbx
    sample      row, depth    counter    known    stack pointer    rbp    rbx    where its stack is
"""

import numpy as np
from msgspec import Struct

from perf2x.base.binaries.cfi.unwind_rules import RuleColumns, RuleKind, RuleTable
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    Bools,
    Frozen,
    arange,
    as_int64,
    as_intp,
    as_uint64,
    falses,
    flatnonzero,
    minus_ones,
    take,
    zeros,
)
from perf2x.stitcher.unwind.architecture import Architecture
from perf2x.stitcher.unwind.register_file import SampleView
from perf2x.stitcher.unwind.unwound_chains import MappingFinder

_WORD = 8
_IN_WORD = np.uint64(_WORD - 1)
_BYTES_OF_WORD = np.uint64(3)
"""Right shift from bytes to words."""
_NOWHERE = np.uint64(1 << 63)
"""Offset from the CFA that no stack dump contains."""

_FRAME, _COUNTER_THERE, _KNOWN, _IMAGE, _MOMENT, _BASE, _ROOM, _FIRST, _STACK, _COUNTER = range(10)
"""Fields of `Lanes.fields`; other registers follow. A visit consists of the first two fields and a copy of the counter.
"""
VISIT = 2
_ROW_AT, _CALLED = np.uint64(32), np.uint64(1)
_NONE = zeros(0)
_DEEPER, _BELOW_ROW = np.uint64(2), np.uint64((1 << 32) - 1)
_OF_CFA, _VALUE, _LEARNED, _PLACES = range(4)
"""Fields of `PlainRules.fields`; the places of registers follow, the program counter's first."""


def frames_of(rows: I64, depth: I64, is_called: Bools) -> U64:
    """Return (n,) the row of a sample, the number of frames below this one, and whether it made a call, packed."""
    frame: U64 = rows.view(np.uint64) << _ROW_AT
    frame |= depth.view(np.uint64) << _CALLED
    frame |= is_called
    return frame


def rows_and_depths(frame: U64) -> tuple[I64, I64, Bools]:
    """Return (n,) the three numbers packed by ``frames_of``."""
    depth = (frame & _BELOW_ROW) >> _CALLED
    return (frame >> _ROW_AT).view(np.int64), depth.view(np.int64), frame & _CALLED != 0


class PlainRules(Frozen):
    """``m`` rules over the ``k`` restored registers, and one more, which is not plain."""

    registers: list[int]
    """(k,) numbers, the program counter first, without the stack pointer"""
    fields: U64
    """(3 + k, m + 1) columns of rules.

    Row of the CFA's register in `Lanes.fields`, number to add, bits of the registers known after a step; then, in two's
    complement, the bytes from the CFA to each saved register. For a register that stays unchanged it is the place of
    the return address; in rules that are not plain it is `_NOWHERE`.
    """
    saved: Bools
    """(k - 1, m + 1) whether the rule restores each register after the program counter"""
    is_plain: Bools
    """(m,) whether the rule leads to a caller"""
    is_outermost: Bools
    """(m + 1,) whether the rule states that there is no caller"""


class PlainRuleTable(Struct):
    """The plain rules of a table, updated on access."""

    _table: RuleTable
    _architecture: Architecture
    _made_of: tuple[RuleColumns, int] | None = None
    _rules: PlainRules | None = None

    def rules(self) -> PlainRules:
        """Return all plain rules so far, for the registers needed so far."""
        columns, needed = self._table.columns(), self._table.needed
        known = self._made_of
        if self._rules is None or known is None or known[0] is not columns or known[1] != needed:
            self._rules, self._made_of = _plain_rules(columns, self._architecture, needed), (columns, needed)
        return self._rules


def _plain_rules(columns: RuleColumns, architecture: Architecture, needed: int) -> PlainRules:
    """Return all rules so far; ``needed`` are the registers to restore, as in ``Architecture.kept``."""
    counter, pointer = architecture.program_counter, architecture.stack_pointer
    kept = [register for register in architecture.kept(needed) if register != counter]
    others = [register for register in kept if register in architecture.preserved]
    registers, unsaved = [counter, *others], [register for register in kept if register not in others]
    kind, value = columns.kind[registers], columns.value[registers]
    row_of = minus_ones(architecture.register_count + 1)
    row_of[[pointer, *registers]] = range(_STACK, _STACK + 1 + len(registers))
    row = row_of[np.clip(columns.cfa_register, -1, architecture.register_count)]
    saved = (kind == RuleKind.OFFSET) & (value & _IN_WORD == 0)
    is_plain = (row >= 0) & (columns.return_register == counter) & saved[0] & ~columns.is_signal_frame
    is_plain &= (saved | (kind == RuleKind.SAME)).all(axis=0)
    is_plain &= (columns.kind[unsaved] == RuleKind.SAME).all(axis=0) & (architecture.word == _WORD)
    fields = np.full((_PLACES + len(registers), len(row) + 1), _NOWHERE, np.uint64)
    fields[_OF_CFA], fields[_VALUE] = _STACK, 0
    which = flatnonzero(is_plain)
    bits = np.uint64(1) << as_uint64([registers]).T
    learned = np.bitwise_or.reduce(np.where(saved, bits, np.uint64(0))) | np.uint64(1 << pointer)
    fields[:_PLACES, which] = row[which], columns.cfa_value[which], learned[which]
    fields[_PLACES:, which] = np.where(saved, value, value[0])[:, which]
    is_outermost = columns.kind[columns.return_register, arange(len(row))] == RuleKind.UNDEFINED
    is_outermost = np.append(is_outermost & ~columns.is_signal_frame, False)
    saved = np.append(saved[1:], falses((len(others), 1)), axis=1)
    return PlainRules(registers, fields, saved, is_plain, is_outermost)


class Lanes(Frozen):
    """``n`` samples of a batch during plain steps; until `put_back`, the batch's own registers are out of date."""

    batch: SampleView
    registers: list[int]
    """As in `PlainRules`."""
    fields: U64
    """(10 + k − 1, n)"""

    @classmethod
    def of(cls, view: SampleView, finder: MappingFinder, rules: PlainRules) -> "Lanes":
        """Return the samples of a view."""
        frames, memory, rows, pointer = view.frames, view.memory, view.rows, view.architecture.stack_pointer
        stack, stack_is_known = view.register(pointer)
        kept = [take(frames.registers[register], rows) for register in rules.registers]
        room = np.where(stack_is_known, memory.count[rows] << _BYTES_OF_WORD, np.uint64(0))
        columns = (
            frames_of(rows, frames.depth[rows], ~frames.is_exact[rows]), kept[0], frames.known[rows],
            finder.image[rows], finder.moment[rows], memory.base[rows], room, memory.start[rows], stack, *kept,
        )  # fmt: skip
        return cls(view, rules.registers, as_uint64([as_uint64(column) for column in columns]))

    def __len__(self) -> int:
        return len(self.fields[0])

    @property
    def rows(self) -> I64:
        """(n,) their rows in the batch."""
        return rows_and_depths(self.fields[_FRAME])[0]

    @property
    def depth(self) -> I64:
        """(n,) the number of frames that each sample has left."""
        return rows_and_depths(self.fields[_FRAME])[1]

    @property
    def place(self) -> tuple[I64, I64, U64]:
        """(n,) process images, moments, and the addresses to look up."""
        fields = self.fields
        address = fields[_COUNTER] - (fields[_FRAME] & _CALLED)
        return fields[_IMAGE].view(np.int64), fields[_MOMENT].view(np.int64), address

    def some(self, which: I64 | Bools) -> "Lanes":
        """Return some of the samples."""
        return Lanes(self.batch, self.registers, self.fields[:, which])

    def with_others(self, others: list["Lanes"]) -> "Lanes":
        """Return these samples, then others of the same batch."""
        fields = [self.fields, *(other.fields for other in others)]
        return Lanes(self.batch, self.registers, np.concatenate(fields, axis=1))

    def put_back(self) -> SampleView:
        """Write the registers back to the batch, and return its view."""
        frames, (rows, depth, is_called) = self.batch.frames, rows_and_depths(self.fields[_FRAME])
        frames.registers[self.batch.architecture.stack_pointer, rows] = self.fields[_STACK]
        for register, value in zip(self.registers, self.fields[_COUNTER:], strict=True):
            frames.registers[register, rows] = value
        frames.known[rows], frames.depth[rows], frames.is_exact[rows] = self.fields[_KNOWN], depth, ~is_called
        return SampleView(frames, self.batch.memory, self.batch.architecture, rows)

    def step(self, rules: PlainRules, rule: I32 | I64, cached: Bools) -> tuple[U64, "Lanes", I64, I64]:
        """Step samples whose rules (n,) are ``cached`` and plain.

        Returns (2, n) visits of those that stepped, ``frames_of`` and addresses; those that continue; the rows of those
        without a caller; and the indices of samples that did not step. If all did, these lanes are invalid.
        """
        rule = as_intp(rule)
        fields, of_rule = self.fields, take(rules.fields, rule, "clip", 1)
        cfa, good = self._canonical_frame_address(of_rule)
        good &= cached
        offset, learned = cfa - fields[_BASE], of_rule[_LEARNED]
        places = of_rule[_PLACES:] + offset
        for place in places:
            good &= place < fields[_ROOM]
        if np.bitwise_or.reduce(offset) & _IN_WORD:
            good &= offset & _IN_WORD == 0
        fields[_COUNTER_THERE] = fields[_COUNTER]
        ended = left = _NONE
        if np.count_nonzero(good) < len(good):
            left, which = flatnonzero(~good), flatnonzero(good)
            is_last = cached[left] & take(rules.is_outermost, rule[left], "clip")
            left, last = left[~is_last], left[is_last]
            visits = np.concatenate([fields[:VISIT, which], fields[:VISIT, last]], axis=1)
            ended = rows_and_depths(fields[_FRAME, last])[0]
            fields, places = take(fields, which, axis=1), take(places, which, axis=1)
            cfa, rule, learned = take(cfa, which), take(rule, which), take(learned, which)
        else:
            visits = fields[:VISIT].copy()
        places >>= _BYTES_OF_WORD
        places += fields[_FIRST]
        value = take(self.batch.memory.words, places.view(np.int64), "clip")
        value[0] &= np.uint64(self.batch.architecture.address_mask)
        np.copyto(fields[_COUNTER + 1 :], value[1:], where=take(rules.saved, rule, "clip", 1))
        fields[_COUNTER], fields[_STACK] = value[0], cfa
        fields[_KNOWN] |= learned
        fields[_FRAME] |= _CALLED
        fields[_FRAME] += _DEEPER
        going = Lanes(self.batch, self.registers, fields)
        if np.count_nonzero(value[0]) == len(cfa):
            return visits, going, ended, left
        is_last = value[0] == 0
        return visits, going.some(~is_last), np.append(ended, going.rows[is_last]), left

    def _canonical_frame_address(self, of_rule: U64) -> tuple[U64, Bools]:
        """Return (n,) CFAs, and which are known and in the possible range of a caller's frame."""
        fields, stack = self.fields, self.fields[_STACK]
        cfa, least = stack + of_rule[_VALUE], stack + (fields[_FRAME] & _CALLED)
        good = cfa >= least
        others = flatnonzero(of_rule[_OF_CFA] != _STACK)
        if len(others):
            row = as_int64(of_rule[_OF_CFA, others])
            cfa[others] = found = fields[row, others] + of_rule[_VALUE, others]
            register = as_uint64(self.registers)[row - _COUNTER]
            is_known = fields[_KNOWN, others] >> register & np.uint64(1) != 0
            good[others] = is_known & (found >= least[others])
        return cfa, good
