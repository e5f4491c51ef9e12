"""One unwind step by rules of any kind, for all samples whose chains have not ended.

::

    frame          known before                      known after
    callee         pc, registers                     rule = rules(pc)
    caller         CFA = register + offset           return address, saved registers from CFA + offsets
                   (or an expression)                stack pointer = CFA

Registers of all samples are one array (register, sample); samples whose chains have ended stay in it unused.
"""

import numpy as np

from perf2x.base.binaries.cfi.dwarf_expressions import evaluate
from perf2x.base.binaries.cfi.unwind_rules import CFA_BY_EXPRESSION, RuleColumns, RuleKind, RuleTable
from perf2x.base.columnar import I32, I64, U8, U64, Bools, as_uint64, bincount, falses, flatnonzero, take, trues, unique
from perf2x.stitcher.unwind.register_file import MAX_STACK_DISTANCE, UNFINISHED, RestoredRegister, SampleView
from perf2x.stitcher.unwind.unwound_chains import End


def step_by_rules(view: SampleView, table: RuleTable, rule: I32) -> U8:
    """Unwind the samples of ``view`` by their rules (n,); return (n,) UNFINISHED or an ``End``."""
    columns, frames, rows = table.columns(), view.frames, view.rows
    cfa, known = _canonical_frame_address(view, table, columns, rule)
    restored = _restore(view, table, columns, rule, cfa)
    exact, signal = take(frames.is_exact, rows), take(columns.is_signal_frame, rule)
    before = take(frames.registers[view.architecture.stack_pointer], rows)
    rises = (cfa > before) | (exact & (cfa == before)) | signal
    view.set_register(view.architecture.stack_pointer, cfa)
    for register in restored:
        view.set(register)
    frames.is_exact[rows] = signal
    frames.crossed_signal[rows] |= signal
    return _set_program_counters(view, columns, rule, cfa, known & rises, exact)


def _canonical_frame_address(view: SampleView, table: RuleTable, columns: RuleColumns, rule: I32) -> tuple[U64, Bools]:
    register, value = take(columns.cfa_register, rule), take(columns.cfa_value, rule)
    by_expression = register == CFA_BY_EXPRESSION
    if not by_expression.any():
        found, known = view.registers_of(register)
        return (found + value) & view.mask, known
    found, known = view.registers_of(np.where(by_expression, 0, register))
    cfa = found + value
    for number in unique(value[by_expression]).tolist():
        which = flatnonzero(by_expression & (value == np.uint64(number)))
        part = view.part(which)
        cfa[which], known[which] = evaluate(table.expressions[number], part, [], len(which))
    return cfa & view.mask, known


def _restore(view: SampleView, table: RuleTable, columns: RuleColumns, rule: I32, cfa: U64) -> list[RestoredRegister]:
    """Return the caller's values of the needed registers that the rules restore.

    Loops over registers and kinds of rule.
    """
    here = flatnonzero(bincount(rule, len(columns.cfa_register)))
    restored = []
    for register in view.architecture.kept(table.needed):
        kinds = flatnonzero(bincount(columns.kind[register, here], len(RuleKind))).tolist()
        for kind in kinds:
            if kind == RuleKind.SAME:
                continue
            which = slice(None) if len(kinds) == 1 else flatnonzero(take(columns.kind[register], rule) == kind)
            part, value = view.part(which), take(columns.value[register], rule[which])
            restored.append(
                RestoredRegister(register, part.rows, *_saved(part, table, register, RuleKind(kind), value, cfa[which]))
            )
    return restored


def _saved(
    view: SampleView, table: RuleTable, register: int, kind: RuleKind, value: U64, cfa: U64
) -> tuple[U64, Bools]:
    """Return (n,) values of the caller's register by one kind of rule, and which are known."""
    if kind is RuleKind.OFFSET:
        return _loaded(view, register, cfa + value & view.mask)
    if kind is RuleKind.VAL_OFFSET:
        return cfa + value & view.mask, trues(len(cfa))
    if kind is RuleKind.REGISTER:
        return view.registers_of(value.view(np.int64))
    if kind is RuleKind.UNDEFINED:
        return np.zeros(len(cfa), np.uint64), falses(len(cfa))
    return _by_expression(view, table, kind, value, cfa)


def _loaded(view: SampleView, register: int, address: U64) -> tuple[U64, Bools]:
    """Return (n,) a register saved at an address, and which are known.

    LLVM's call frame information does not cover restored registers in epilogues. In a sampled frame, a save slot below
    the stack pointer therefore means that the register is already restored. The program counter is an exception: it is
    still this function's own (OCaml's caml_c_call, on the stack of C).
    """
    value, good = view.load(address, 0)
    if good.all() or register == view.architecture.program_counter:
        return value, good
    stack, _ = view.register(view.architecture.stack_pointer)
    restored, known = view.register(register)
    is_restored = ~good & known & view.frames.is_exact[view.rows] & (address < stack)
    return np.where(is_restored, restored, value), good | is_restored


def _by_expression(view: SampleView, table: RuleTable, kind: RuleKind, value: U64, cfa: U64) -> tuple[U64, Bools]:
    result, good = np.zeros(len(cfa), np.uint64), falses(len(cfa))
    for number in unique(value).tolist():
        which = flatnonzero(value == np.uint64(number))
        part = view.part(which)
        found, known = evaluate(table.expressions[number], part, [cfa[which]], len(which))
        if kind is RuleKind.EXPRESSION:
            found, read = part.load(found & view.mask, 0)
            known = known & read
        result[which], good[which] = found, known
    return result, good


def _set_program_counters(
    view: SampleView, columns: RuleColumns, rule: I32, cfa: U64, sound: Bools, exact: Bools
) -> U8:
    """Set program counters to the return addresses; return (n,) UNFINISHED or an ``End``."""
    register = take(columns.return_register, rule)
    kind = columns.kind[register, rule]
    address, known = view.registers_of(register)
    address = address & np.uint64(view.architecture.address_mask)
    view.set_register(view.architecture.program_counter, address)
    # only a leaf still has its return address in a register, and never on x86
    in_register = kind == RuleKind.SAME
    sound = sound & ~(in_register & (~exact | (register == view.architecture.program_counter)))
    end = np.full(len(rule), UNFINISHED, np.uint8)
    end[address == 0] = End.COMPLETE
    bad = flatnonzero(~(sound & known))
    if len(bad):
        end[bad] = _end_reasons(view, columns, rule, cfa, sound, bad)
    end[kind == RuleKind.UNDEFINED] = End.COMPLETE
    return end


def _end_reasons(view: SampleView, columns: RuleColumns, rule: I32, cfa: U64, sound: Bools, bad: I64) -> U8:
    """Return the reasons why the samples ``bad`` have no return address.

    Code that keeps its caller's stack pointer in another register has switched to another stack (OCaml's runtime).
    """
    rows, word = view.rows[bad], np.uint64(view.architecture.word)
    register = columns.cfa_register[rule[bad]]
    switched = (register >= 0) & ~np.isin(register, [view.architecture.stack_pointer, view.architecture.frame_pointer])
    switched &= cfa[bad] - view.memory.base[rows] >= np.uint64(MAX_STACK_DISTANCE)
    elsewhere = view.frames.crossed_signal[rows] | (view.memory.count[rows] == 0) | switched
    end = np.where(elsewhere, End.OTHER_STACK, End.BROKEN).astype(np.uint8)
    end[view.memory.is_unread(rows, cfa[bad] - word)] = End.OTHER_STACK
    end[view.memory.is_beyond(rows, cfa[bad] - word)] = End.TRUNCATED
    needed = np.where(register == CFA_BY_EXPRESSION, view.architecture.stack_pointer, register)
    end[view.frames.recorded >> as_uint64(needed) & np.uint64(1) == 0] = End.REGISTERS_MISSING
    return end


def step_by_frame_pointer(view: SampleView, between: int = 0) -> U8:
    """Unwind by the frame pointer, next to which compilers save the caller's frame pointer and the return address.

    Source of truth: elfutils, backends/x86_64_unwind.c and aarch64_unwind.c. Samples that cannot continue stay
    unchanged. Returns (n,) ends; a return address in no mapping is rejected. A return address of 0 is an end only after
    a call: in hand-written code the register may hold anything. There are ``between`` words between the return address
    and the caller's frame pointer.
    """
    frames, rows, word = view.frames, view.rows, np.uint64(view.architecture.word)
    pointer, known = view.register(view.architecture.frame_pointer)
    stack, _ = view.register(view.architecture.stack_pointer)
    caller, _ = view.load(pointer, 0)
    place = pointer + word * np.uint64(1 + between)
    address, read = view.load(place, 0)
    address = address & np.uint64(view.architecture.address_mask)
    plausible = known & (pointer >= stack) & (pointer & (word - np.uint64(1)) == 0)
    end = np.full(len(rows), UNFINISHED, np.uint8)
    end[plausible & ~read & view.memory.is_beyond(rows, place)] = End.TRUNCATED
    lost = (end == UNFINISHED) & ~(plausible & read)
    end[lost] = np.where(view.memory.count[rows[lost]] == 0, End.OTHER_STACK, End.NO_UNWIND_INFO)
    called = ~frames.is_exact[rows]
    end[known & (pointer == 0) & called] = End.COMPLETE
    end[(end == UNFINISHED) & (address == 0)] = End.NO_UNWIND_INFO
    end[plausible & read & (address == 0) & called] = End.COMPLETE
    going = flatnonzero(end == UNFINISHED)
    view.part(going).cross(caller[going], place[going] + word, address[going])
    return end
