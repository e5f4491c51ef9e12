"""Unwinds many samples by one frame in few numpy calls, if their rules are simple, as in nearly all compiled code.

A rule is *simple* if all of these hold; in practice only rules of x86-64 are:

- the CFA is a register plus a number;
- the return address was saved at the CFA plus a multiple of 8;
- every other register is unchanged or was saved in the same way;
- it is not the rule of a signal frame.

A rule is *outermost* if it states that there is no caller. `any_rule_steps.step_by_rules` takes all other steps.

The cost of a step depends on the number of numpy calls more than on that of samples. So the states of all samples are
the columns of one uint64 array, and a step computes whole rows (fields). Rules are the columns of another array::

    field of SampleStates                                      field of SimpleRules
    _CHAIN_SLOT    frame's position in the chains, packed      _CFA_FIELD    field that holds the CFA's register
    _FRAME_PC      program counter before the last step        _CFA_OFFSET   number to add to this register
    _KNOWN         bit r: register r is known                  _RESTORED     bit r: register r is known after the step
    _IMAGE         process image of the sample                 _SAVED_AT     offset from the CFA: return address
    _SEQUENCE      sequence number of the sample               …             the same for each further register
    _DUMP_START    address of the dump's first byte
    _DUMP_SIZE     bytes in the dump
    _FIRST_WORD    index of the dump in StackMemory.words
    _SP            stack pointer
    _PC            program counter
    …              further registers: rbp, and callee-saved ones that some rule reads
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
_ALIGNMENT_MASK = np.uint64(_WORD - 1)
_WORD_SHIFT = np.uint64(3)
# Offset from the CFA that leads to no byte of any stack dump.
_OUTSIDE_DUMP = np.uint64(1 << 63)

# Fields of `SampleStates`; the further registers follow _PC.
_CHAIN_SLOT, _FRAME_PC, _KNOWN, _IMAGE, _SEQUENCE, _DUMP_START, _DUMP_SIZE, _FIRST_WORD, _SP, _PC = range(10)
ENTRY_FIELDS = 2  # a chain entry is the first two fields of a state
# A chain slot is row << 32 | depth << 1 | is_return; see pack_chain_slots.
_ROW_SHIFT, _DEPTH_SHIFT, _RETURN_FLAG, _ONE_DEEPER, _LOW_HALF = map(np.uint64, (32, 1, 1, 2, (1 << 32) - 1))
_NO_ROWS = zeros(0)
# Fields of `SimpleRules`; from _SAVED_AT on, one per register, the program counter first.
_CFA_FIELD, _CFA_OFFSET, _RESTORED, _SAVED_AT = range(4)


def pack_chain_slots(rows: I64, depth: I64, is_return: Bools) -> U64:
    """Pack row, depth and kind of address of each frame into one word; all shapes (n,).

    ``depth`` is 0 for the sampled frame, and less than 2³¹. ``is_return``: the address is a return address.
    """
    slot: U64 = rows.view(np.uint64) << _ROW_SHIFT
    slot |= depth.view(np.uint64) << _DEPTH_SHIFT
    slot |= is_return
    return slot


def unpack_chain_slots(slot: U64) -> tuple[I64, I64, Bools]:
    """Return the three arguments of ``pack_chain_slots``, (n,) each."""
    depth = (slot & _LOW_HALF) >> _DEPTH_SHIFT
    return (slot >> _ROW_SHIFT).view(np.int64), depth.view(np.int64), slot & _RETURN_FLAG != 0


class SimpleRules(Frozen):
    """All ``m`` rules of a table; ``k`` registers are restored.

    Columns are rules by their numbers in the table. A dummy rule follows in arrays of m + 1 columns, so that columns
    can be taken while the table has no rules.
    """

    registers: list[int]
    """(k,) DWARF numbers: the program counter, then callee-saved registers.

    The stack pointer is not among them, because the caller's is the CFA.
    """
    fields: U64
    """(3 + k, m + 1) the fields listed in the module's docstring; offsets are in two's complement.

    A register that a rule leaves unchanged has the offset of the return address, so that there is a word to load; a
    step ignores this word. In rules that are not simple, all offsets are `_OUTSIDE_DUMP`.
    """
    is_restored: Bools
    """(k - 1, m + 1) whether each rule restores each of ``registers[1:]``."""
    is_simple: Bools
    """(m,)"""
    is_outermost: Bools
    """(m + 1,)"""


class SimpleRuleTable(Struct):
    """The `SimpleRules` of a rule table, computed again when the table has grown."""

    _table: RuleTable
    _architecture: Architecture
    _computed_from: tuple[RuleColumns, int] | None = None
    _rules: SimpleRules | None = None

    def rules(self) -> SimpleRules:
        """Return all rules so far."""
        columns, needed = self._table.columns(), self._table.registers_read
        source = self._computed_from
        if self._rules is None or source is None or source[0] is not columns or source[1] != needed:
            self._rules, self._computed_from = _simple_rules(columns, self._architecture, needed), (columns, needed)
        return self._rules


def _simple_rules(columns: RuleColumns, architecture: Architecture, needed: int) -> SimpleRules:
    """Convert the rules of a table; bit r of ``needed`` is set if some rule reads register r."""
    pc, sp = architecture.program_counter, architecture.stack_pointer
    to_restore = [register for register in architecture.registers_to_restore(needed) if register != pc]
    callee_saved = [register for register in to_restore if register in architecture.callee_saved]
    registers, unrestored = [pc, *callee_saved], [register for register in to_restore if register not in callee_saved]
    kind, offset = columns.kind[registers], columns.value[registers]
    # The field of each register in SampleStates, −1 for others. The last element, −1, stands for CFAs by expression
    # (cfa_register −1) and for unknown registers.
    field_of_register = minus_ones(architecture.register_count + 1)
    field_of_register[[sp, *registers]] = range(_SP, _SP + 1 + len(registers))
    cfa_field = field_of_register[np.clip(columns.cfa_register, -1, architecture.register_count)]
    # Only callee-saved registers may be restored from the dump.
    is_restored = (kind == RuleKind.OFFSET) & (offset & _ALIGNMENT_MASK == 0)
    is_simple = (cfa_field >= 0) & (columns.return_register == pc) & is_restored[0] & ~columns.is_signal_frame
    is_simple &= (is_restored | (kind == RuleKind.SAME)).all(axis=0)
    is_simple &= (columns.kind[unrestored] == RuleKind.SAME).all(axis=0) & (architecture.word_size == _WORD)
    fields = np.full((_SAVED_AT + len(registers), len(cfa_field) + 1), _OUTSIDE_DUMP, np.uint64)
    fields[_CFA_FIELD], fields[_CFA_OFFSET] = _SP, 0
    simple = flatnonzero(is_simple)
    bits = np.uint64(1) << as_uint64([registers]).T
    restored = np.bitwise_or.reduce(np.where(is_restored, bits, np.uint64(0))) | np.uint64(1 << sp)
    fields[:_SAVED_AT, simple] = cfa_field[simple], columns.cfa_value[simple], restored[simple]
    fields[_SAVED_AT:, simple] = np.where(is_restored, offset, offset[0])[:, simple]
    is_outermost = columns.kind[columns.return_register, arange(len(cfa_field))] == RuleKind.UNDEFINED
    is_outermost = np.append(is_outermost & ~columns.is_signal_frame, False)
    is_restored = np.append(is_restored[1:], falses((len(callee_saved), 1)), axis=1)
    return SimpleRules(registers, fields, is_restored, is_simple, is_outermost)


class SampleStates(Frozen):
    """The frames to which ``n`` samples of a batch are unwound so far, during simple steps.

    The batch's `RegisterFile` is out of date until `put_back`.
    """

    batch: SampleView
    registers: list[int]
    """As in `SimpleRules`."""
    fields: U64
    """(9 + k, n) the fields listed in the module's docstring."""

    @classmethod
    def of(cls, view: SampleView, finder: MappingFinder, rules: SimpleRules) -> "SampleStates":
        """Copy the states of a view.

        A sample with an unknown stack pointer gets a dump of 0 bytes, so that it takes no simple step.
        """
        frames, memory, rows = view.frames, view.memory, view.rows
        sp, sp_is_known = view.register(view.architecture.stack_pointer)
        registers = [take(frames.registers[register], rows) for register in rules.registers]
        dump_size = np.where(sp_is_known, memory.word_count[rows] << _WORD_SHIFT, np.uint64(0))
        fields = (
            pack_chain_slots(rows, frames.depth[rows], ~frames.is_exact[rows]), registers[0], frames.known_bits[rows],
            finder.image[rows], finder.sequence[rows], memory.dump_start[rows], dump_size, memory.first_word[rows],
            sp, *registers,
        )  # fmt: skip
        return cls(view, rules.registers, as_uint64([as_uint64(field) for field in fields]))

    def __len__(self) -> int:
        return len(self.fields[0])

    @property
    def rows(self) -> I64:
        """(n,) each sample's row in the batch."""
        return unpack_chain_slots(self.fields[_CHAIN_SLOT])[0]

    @property
    def depth(self) -> I64:
        """(n,) number of frames unwound so far."""
        return unpack_chain_slots(self.fields[_CHAIN_SLOT])[1]

    @property
    def lookup_keys(self) -> tuple[I64, I64, U64]:
        """Process images, sequence numbers and lookup addresses; shapes (n,)."""
        fields = self.fields
        address = fields[_PC] - (fields[_CHAIN_SLOT] & _RETURN_FLAG)
        return fields[_IMAGE].view(np.int64), fields[_SEQUENCE].view(np.int64), address

    def select(self, samples: I64 | Bools) -> "SampleStates":
        """Return copies of some of the states, by index or mask."""
        return SampleStates(self.batch, self.registers, self.fields[:, samples])

    def with_others(self, others: list["SampleStates"]) -> "SampleStates":
        """Append states of other samples of the same batch."""
        fields = [self.fields, *(other.fields for other in others)]
        return SampleStates(self.batch, self.registers, np.concatenate(fields, axis=1))

    def put_back(self) -> SampleView:
        """Write the states to the batch's registers."""
        frames, (rows, depth, is_return) = self.batch.frames, unpack_chain_slots(self.fields[_CHAIN_SLOT])
        frames.registers[self.batch.architecture.stack_pointer, rows] = self.fields[_SP]
        for register, value in zip(self.registers, self.fields[_PC:], strict=True):
            frames.registers[register, rows] = value
        frames.known_bits[rows], frames.depth[rows], frames.is_exact[rows] = self.fields[_KNOWN], depth, ~is_return
        return SampleView(frames, self.batch.memory, self.batch.architecture, rows)

    def step(self, rules: SimpleRules, rule: I32 | I64, has_rule: Bools) -> tuple[U64, "SampleStates", I64, I64]:
        """Step to the callers of all samples whose rules are known, and simple or outermost.

        ``rule`` (n,) are numbers of rules, meaningless where ``has_rule`` (n,) is False. Returns

        - the chain entries of the frames that were left, (2, stepped samples): chain slots and addresses;
        - the states of samples that have a caller;
        - the rows in the batch of samples that have none: the rule is outermost, or the return address is 0;
        - the indices of samples that did not step. Their states are unchanged; this object's others become invalid.
        """
        rule = as_intp(rule)
        # "clip": where has_rule is False, numbers may be out of range
        fields, rule_fields = self.fields, take(rules.fields, rule, "clip", 1)
        cfa, can_step = self._canonical_frame_address(rule_fields)
        can_step &= has_rule
        cfa_in_dump, restored = cfa - fields[_DUMP_START], rule_fields[_RESTORED]
        # (k, n) where each register is saved, in bytes from the dump's start
        saved_at = rule_fields[_SAVED_AT:] + cfa_in_dump
        for offset in saved_at:
            can_step &= offset < fields[_DUMP_SIZE]
        if np.bitwise_or.reduce(cfa_in_dump) & _ALIGNMENT_MASK:
            can_step &= cfa_in_dump & _ALIGNMENT_MASK == 0
        fields[_FRAME_PC] = fields[_PC]
        ended = unstepped = _NO_ROWS
        if np.count_nonzero(can_step) < len(can_step):
            unstepped, stepping = flatnonzero(~can_step), flatnonzero(can_step)
            is_last = has_rule[unstepped] & take(rules.is_outermost, rule[unstepped], "clip")
            unstepped, last = unstepped[~is_last], unstepped[is_last]
            entries = np.concatenate([fields[:ENTRY_FIELDS, stepping], fields[:ENTRY_FIELDS, last]], axis=1)
            ended = unpack_chain_slots(fields[_CHAIN_SLOT, last])[0]
            fields, saved_at = take(fields, stepping, axis=1), take(saved_at, stepping, axis=1)
            cfa, rule, restored = take(cfa, stepping), take(rule, stepping), take(restored, stepping)
        else:
            entries = fields[:ENTRY_FIELDS].copy()
        saved_at >>= _WORD_SHIFT
        saved_at += fields[_FIRST_WORD]  # now indices in StackMemory.words
        value = take(self.batch.memory.words, saved_at.view(np.int64), "clip")
        value[0] &= np.uint64(self.batch.architecture.address_mask)
        np.copyto(fields[_PC + 1 :], value[1:], where=take(rules.is_restored, rule, "clip", 1))
        fields[_PC], fields[_SP] = value[0], cfa
        fields[_KNOWN] |= restored
        fields[_CHAIN_SLOT] |= _RETURN_FLAG
        fields[_CHAIN_SLOT] += _ONE_DEEPER
        callers = SampleStates(self.batch, self.registers, fields)
        if np.count_nonzero(value[0]) == len(cfa):
            return entries, callers, ended, unstepped
        is_last = value[0] == 0
        return entries, callers.select(~is_last), np.append(ended, callers.rows[is_last]), unstepped

    def _canonical_frame_address(self, rule_fields: U64) -> tuple[U64, Bools]:
        """Return (n,) CFAs, and whether each is known and possible.

        A possible CFA is above the stack pointer. In a sampled frame it may be equal, if nothing is on the stack yet.
        """
        fields, sp = self.fields, self.fields[_SP]
        cfa, lowest_cfa = sp + rule_fields[_CFA_OFFSET], sp + (fields[_CHAIN_SLOT] & _RETURN_FLAG)
        is_good = cfa >= lowest_cfa
        # few CFAs are relative to a register other than the stack pointer
        others = flatnonzero(rule_fields[_CFA_FIELD] != _SP)
        if len(others):
            field = as_int64(rule_fields[_CFA_FIELD, others])
            cfa[others] = other_cfa = fields[field, others] + rule_fields[_CFA_OFFSET, others]
            register = as_uint64(self.registers)[field - _PC]
            is_known = fields[_KNOWN, others] >> register & np.uint64(1) != 0
            is_good[others] = is_known & (other_cfa >= lowest_cfa[others])
        return cfa, is_good
