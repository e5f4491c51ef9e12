"""Unwinds samples by one frame, by rules of any kind or by frame pointer, and decides why a chain ends.

A step computes the CFA, the caller's registers, the stack pointer (the CFA, unless a rule restores it), and the program
counter. Nearly all samples step by ``simple_rule_steps`` instead.
"""

import numpy as np

from perf2x.base.binaries.cfi.dwarf_expressions import evaluate
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, RuleColumns, RuleKind, RuleTable
from perf2x.base.columnar import I32, U8, U64, Bools, as_uint64, bincount, falses, flatnonzero, take, trues, unique
from perf2x.stitcher.unwind.register_file import MAX_STACK_DISTANCE, UNFINISHED, RestoredRegister, SampleView
from perf2x.stitcher.unwind.unwound_chains import End


def step_by_rules(view: SampleView, table: RuleTable, rule: I32) -> U8:
    """Unwind the samples of ``view`` by their rules (n,); return (n,) UNFINISHED or an ``End``."""
    columns, frames, rows = table.columns(), view.frames, view.rows
    cfa, is_known = _canonical_frame_address(view, table, columns, rule)
    restored = _restored_registers(view, table, columns, rule, cfa)
    is_exact, is_signal = take(frames.is_exact, rows), take(columns.is_signal_frame, rule)
    # Stacks grow down, so the caller's frame is above. A sampled function has perhaps pushed nothing yet.
    sp = take(frames.registers[view.architecture.stack_pointer], rows)
    is_above = (cfa > sp) | (is_exact & (cfa == sp)) | is_signal
    # the CFA first: a rule may restore the stack pointer from elsewhere
    view.set_register(view.architecture.stack_pointer, cfa)
    for register in restored:
        view.set_restored(register)
    frames.is_exact[rows] = is_signal
    frames.crossed_signal[rows] |= is_signal
    return _set_program_counters(view, columns, rule, cfa, is_known & is_above, is_exact)


def _canonical_frame_address(view: SampleView, table: RuleTable, columns: RuleColumns, rule: I32) -> tuple[U64, Bools]:
    register, value = take(columns.cfa_register, rule), take(columns.cfa_value, rule)
    is_expression = register == CFA_BY_EXPRESSION
    if not is_expression.any():
        base, is_known = view.register_of_each(register)
        return (base + value) & view.word_mask, is_known
    base, is_known = view.register_of_each(np.where(is_expression, 0, register))
    cfa = base + value
    for number in unique(value[is_expression]).tolist():
        samples = flatnonzero(is_expression & (value == np.uint64(number)))
        part = view.part(samples)
        cfa[samples], is_known[samples] = evaluate(table.expressions[number], part, [], len(samples))
    return cfa & view.word_mask, is_known


def _restored_registers(
    view: SampleView, table: RuleTable, columns: RuleColumns, rule: I32, cfa: U64
) -> list[RestoredRegister]:
    """One entry for each register and kind of rule; registers that the function left unchanged are left out."""
    used_rules = flatnonzero(bincount(rule, len(columns.cfa_register)))
    restored = []
    for register in view.architecture.registers_to_restore(table.registers_read):
        kinds = flatnonzero(bincount(columns.kind[register, used_rules], len(RuleKind))).tolist()
        for kind in kinds:
            if kind == RuleKind.SAME:
                continue
            samples = slice(None) if len(kinds) == 1 else flatnonzero(take(columns.kind[register], rule) == kind)
            part, value = view.part(samples), take(columns.value[register], rule[samples])
            restored.append(
                RestoredRegister(
                    register, part.rows, *_values(part, table, register, RuleKind(kind), value, cfa[samples])
                )
            )
    return restored


def _values(
    view: SampleView, table: RuleTable, register: int, kind: RuleKind, value: U64, cfa: U64
) -> tuple[U64, Bools]:
    """``value`` (n,) is a distance from the CFA, a register, or the number of an expression."""
    if kind is RuleKind.OFFSET:
        return _load_saved(view, register, cfa + value & view.word_mask)
    if kind is RuleKind.VAL_OFFSET:
        return cfa + value & view.word_mask, trues(len(cfa))
    if kind is RuleKind.REGISTER:
        return view.register_of_each(value.view(np.int64))
    if kind is RuleKind.UNDEFINED:
        return np.zeros(len(cfa), np.uint64), falses(len(cfa))
    return _by_expression(view, table, kind, value, cfa)


def _load_saved(view: SampleView, register: int, address: U64) -> tuple[U64, Bools]:
    """Load the caller's value of a register, which the rule says was saved at ``address`` (n,).

    LLVM's call frame information does not state that an epilogue has restored registers. But in a sampled frame, an
    address below the stack pointer is no longer part of the stack, so the current value is the caller's. The current
    program counter is never the caller's; its address can be below the stack pointer where code runs on another stack
    (OCaml's caml_c_call).
    """
    value, is_copied = view.load(address, 0)
    if is_copied.all() or register == view.architecture.program_counter:
        return value, is_copied
    sp, _ = view.register(view.architecture.stack_pointer)
    current, is_known = view.register(register)
    is_restored = ~is_copied & is_known & view.frames.is_exact[view.rows] & (address < sp)
    return np.where(is_restored, current, value), is_copied | is_restored


def _by_expression(view: SampleView, table: RuleTable, kind: RuleKind, number: U64, cfa: U64) -> tuple[U64, Bools]:
    values, is_known = np.zeros(len(cfa), np.uint64), falses(len(cfa))
    for expression in unique(number).tolist():
        samples = flatnonzero(number == np.uint64(expression))
        part = view.part(samples)
        result, has_result = evaluate(table.expressions[expression], part, [cfa[samples]], len(samples))
        if kind is RuleKind.EXPRESSION:  # the result is an address
            result, is_copied = part.load(result & view.word_mask, 0)
            has_result = has_result & is_copied
        values[samples], is_known[samples] = result, has_result
    return values, is_known


def _set_program_counters(
    view: SampleView, columns: RuleColumns, rule: I32, cfa: U64, is_good_cfa: Bools, is_exact: Bools
) -> U8:
    """``is_exact`` (n,): the frame that is left had the address of an instruction, not a return address."""
    register = take(columns.return_register, rule)
    kind = columns.kind[register, rule]
    address, is_known = view.register_of_each(register)
    address = address & np.uint64(view.architecture.address_mask)
    view.set_register(view.architecture.program_counter, address)
    # Only a leaf function that was sampled, or interrupted by a signal, has its return address in a register. On x86,
    # no function has: there, the rule's register is the program counter itself.
    in_register = kind == RuleKind.SAME
    is_good = is_good_cfa & ~(in_register & (~is_exact | (register == view.architecture.program_counter)))
    end = np.full(len(rule), UNFINISHED, np.uint8)
    end[address == 0] = End.COMPLETE
    bad = flatnonzero(~(is_good & is_known))
    if len(bad):
        end[bad] = _end_reasons(view.part(bad), columns, rule[bad], cfa[bad])
    end[kind == RuleKind.UNDEFINED] = End.COMPLETE
    return end


def _end_reasons(view: SampleView, columns: RuleColumns, rule: I32, cfa: U64) -> U8:
    """Return (n,) the ``End`` of samples that cannot continue.

    Code that computes the CFA from neither stack pointer nor frame pointer has switched to another stack (OCaml's
    runtime).
    """
    memory, rows, return_slot = view.memory, view.rows, cfa - np.uint64(view.architecture.word_size)
    register = columns.cfa_register[rule]
    has_switched = (register >= 0) & ~np.isin(
        register, [view.architecture.stack_pointer, view.architecture.frame_pointer]
    )
    has_switched &= cfa - memory.dump_start[rows] >= np.uint64(MAX_STACK_DISTANCE)
    is_elsewhere = view.frames.crossed_signal[rows] | (memory.word_count[rows] == 0) | has_switched
    # each reason replaces the ones before
    end = np.where(is_elsewhere, End.OTHER_STACK, End.BROKEN).astype(np.uint8)
    end[memory.is_unread(rows, return_slot)] = End.OTHER_STACK
    end[memory.is_beyond(rows, return_slot)] = End.TRUNCATED
    # assume that expressions read the stack pointer
    cfa_register = np.where(register == CFA_BY_EXPRESSION, view.architecture.stack_pointer, register)
    end[view.frames.recorded_bits >> as_uint64(cfa_register) & np.uint64(1) == 0] = End.REGISTERS_MISSING
    return end


def step_by_frame_pointer(view: SampleView, words_between: int = 0) -> U8:
    """Unwind by the frame pointer; return (n,) UNFINISHED or an ``End``.

    The return address is above the caller's frame pointer, after ``words_between`` other words. Samples that cannot
    continue stay unchanged. A frame pointer or return address of 0 marks the outermost frame only if the frame made a
    call: in hand-written code, the register may hold anything. The return address may lie outside code.

    Source of truth: elfutils, backends/x86_64_unwind.c and aarch64_unwind.c.
    """
    frames, rows, word = view.frames, view.rows, np.uint64(view.architecture.word_size)
    pointer, is_known = view.register(view.architecture.frame_pointer)
    sp, _ = view.register(view.architecture.stack_pointer)
    caller_pointer, _ = view.load(pointer, 0)
    return_slot = pointer + word * np.uint64(1 + words_between)
    address, is_copied = view.load(return_slot, 0)
    address = address & np.uint64(view.architecture.address_mask)
    is_plausible = is_known & (pointer >= sp) & (pointer & (word - np.uint64(1)) == 0)
    end = np.full(len(rows), UNFINISHED, np.uint8)
    end[is_plausible & ~is_copied & view.memory.is_beyond(rows, return_slot)] = End.TRUNCATED
    is_lost = (end == UNFINISHED) & ~(is_plausible & is_copied)
    end[is_lost] = np.where(view.memory.word_count[rows[is_lost]] == 0, End.OTHER_STACK, End.NO_UNWIND_INFO)
    made_call = ~frames.is_exact[rows]
    end[is_known & (pointer == 0) & made_call] = End.COMPLETE
    end[(end == UNFINISHED) & (address == 0)] = End.NO_UNWIND_INFO
    end[is_plausible & is_copied & (address == 0) & made_call] = End.COMPLETE
    continuing = flatnonzero(end == UNFINISHED)
    view.part(continuing).enter_caller(caller_pointer[continuing], return_slot[continuing] + word, address[continuing])
    return end
