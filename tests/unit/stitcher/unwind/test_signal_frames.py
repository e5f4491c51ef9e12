"""Chains go on behind a signal handler, on the same or on an alternate stack."""

from random import Random

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.unwound_chains import End, UserChains
from tests.support.frame_writer import TEXT, Frame, def_cfa_expression
from tests.support.simulated_program import (
    LOAD_BIAS,
    Function,
    Program,
    stacks_of,
)
from tests.support.unwound_program import unwinder_of


def signalled(arch, text, frames, registers_at, alternate=False) -> tuple[UserChains, list[int]]:
    """A handler entered by a signal: its stack holds the saved registers of a thread in the midst of function 0."""
    program = Program(arch, [Function(False, [], 3), Function(False, [], 1)])
    machine, chain = program.run([0, 0], Random(1))
    interrupted = dict(machine.registers)
    if alternate:
        machine.registers[machine.pointer] = 0x6000_0000
        machine.memory = {}
    machine.registers[machine.pointer] -= 1024
    context = machine.registers[machine.pointer]
    for register, place in registers_at.items():
        machine.memory[context + place] = interrupted[register]
    trampoline = LOAD_BIAS + TEXT + 0x1000
    machine.enter(program.functions[1], trampoline)
    machine.registers[16 if arch == "x86_64" else 32] = program.site(1)
    file = program.file(text=text)
    file.frames += frames
    unwinder, finder = unwinder_of(open_elf(file.bytes()), arch)
    stacks = stacks_of([machine], 1 << 15)
    return unwinder.unwind(stacks, finder), [program.site(1), trampoline, *chain]


X86_CONTEXT = {
    register: 40 + 8 * slot for slot, register in enumerate([8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16])
}


ARM_CONTEXT = {register: 128 + 176 + 8 + 8 * register for register in range(33)}


X86_TRAMPOLINE = bytes.fromhex("48c7c00f0000000f05")


ARM_TRAMPOLINE = bytes.fromhex("681180d2010000d4")


def saved_by_expression() -> Program:
    """Describe __restore_rt like glibc: every register is in the context, the CFA is the saved rsp."""
    program = def_cfa_expression(b"\x77" + bytes([X86_CONTEXT[7] & 0x7F | 0x80, 0x01]) + b"\x06")
    for register, place in X86_CONTEXT.items():
        block = b"\x77" + bytes([place & 0x7F | 0x80, place >> 7])
        program += b"\x10" + bytes([register, len(block)]) + block
    return program


@pytest.mark.parametrize("how", ["x86_64 by code", "x86_64 by entry", "aarch64 by code"])
@pytest.mark.parametrize("alternate", [False, True])
def test_signal_frames_are_unwound(how, alternate) -> None:
    arch = how.split()[0]
    code, context = (X86_TRAMPOLINE, X86_CONTEXT) if arch == "x86_64" else (ARM_TRAMPOLINE, ARM_CONTEXT)
    frames = []
    if how.endswith("entry"):
        code, frames = b"\x90" * 9, [Frame(TEXT + 0xFFF, 16, saved_by_expression(), signal=True)]
    text = b"\x90" * 0x1000 + code + b"\x90" * 64
    result, chain = signalled(arch, text, frames, context, alternate)
    if alternate:  # the interrupted function is known, but its stack was not copied
        assert result.chain.row(0).tolist() == chain[:3]
        assert result.end.tolist() == [End.OTHER_STACK]
    else:
        assert result.chain.row(0).tolist() == chain
        assert result.end.tolist() == [End.COMPLETE]
    # the sampled instruction, the trampoline's first, and the interrupted one; the rest are return addresses
    assert result.is_exact.tolist()[:3] == [True, True, True]
    assert not result.is_exact[3:].any()


def test_a_change_of_stacks_that_is_described_as_a_signal_frame_was_called() -> None:
    """OCaml's caml_start_program: a call ends there, so it and its caller have return addresses."""
    text = b"\x90" * 0xFFB + bytes.fromhex("e810000000") + b"\x90" * 64
    frames = [Frame(TEXT + 0xFF0, 32, saved_by_expression(), signal=True)]
    result, chain = signalled("x86_64", text, frames, X86_CONTEXT)
    assert result.chain.row(0).tolist()[:3] == chain[:3]
    assert result.is_exact.tolist()[:3] == [True, False, False]


def test_a_caller_on_another_stack_that_a_register_keeps_was_not_copied() -> None:
    """OCaml's calls of C: the CFA is in rbx, far from the copied stack; that of a frame pointer would be damage."""
    for register, end in ((3, End.OTHER_STACK), (6, End.BROKEN)):
        frames = [Frame(TEXT, 64, bytes([0x0C, register, 16, 0x90, 1]))]  # DW_CFA_def_cfa, the return address below it
        program = Program("x86_64", [Function(False, [], 1, has_entry=False)])
        machine, chain = program.run([0], Random(1))
        machine.registers[register] = 0x5555_0000_0000
        file = program.file()
        file.frames += frames
        unwinder, finder = unwinder_of(open_elf(file.bytes()), "x86_64")
        result = unwinder.unwind(stacks_of([machine], 1 << 15), finder)
        assert (result.chain.row(0).tolist(), result.end.tolist()) == (chain[:1], [end])
