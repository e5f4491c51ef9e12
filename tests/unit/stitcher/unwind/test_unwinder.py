"""Simulated programs come out as they were called; what is missing or broken ends a chain and says why."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.unwinder import Unwinder
from perf2x.stitcher.unwind.unwound_chains import End, UserMappings
from tests.support.examples import examples
from tests.support.frame_writer import CALLS, TEXT, Frame, FrameFile, def_cfa, def_cfa_expression, offset
from tests.support.simulated_program import (
    CALLEE_SAVED,
    LOAD_BIAS,
    SIGNATURE,
    SITE,
    SIZE,
    STACK_TOP,
    Function,
    Machine,
    Program,
    stacks_of,
)
from tests.support.tiny_elf import TinySection
from tests.support.unwound_program import by_hand, finder_of, unwinder_of, unwound

FUNCTIONS = {
    arch: st.builds(
        Function,
        by_frame_pointer=st.booleans(),
        saved=st.lists(st.sampled_from(CALLEE_SAVED[arch]), unique=True, max_size=5),
        local_words=st.integers(0, 40),
    )
    for arch in CALLEE_SAVED
}


@pytest.mark.parametrize(
    ("arch", "where"),
    [
        ("x86_64", "eh_frame"),
        ("aarch64", "eh_frame without a table"),
        ("x86_64", "debug_frame"),
        pytest.param("aarch64", "eh_frame", marks=pytest.mark.slow),
        pytest.param("x86_64", "eh_frame without a table", marks=pytest.mark.slow),
        pytest.param("aarch64", "debug_frame", marks=pytest.mark.slow),
    ],
)
@settings(deadline=None, max_examples=examples(20))
@given(data=st.data())
def test_simulated_programs_are_unwound_to_their_calls(arch, where, data) -> None:
    program = Program(arch, data.draw(st.lists(FUNCTIONS[arch], min_size=1, max_size=5)))
    calls = st.lists(st.integers(0, len(program.functions) - 1), max_size=12)
    random = Random(data.draw(st.integers(0, 99)))
    signature = SIGNATURE if arch == "aarch64" else 0
    runs = [program.run(data.draw(calls), random, signature) for _ in range(data.draw(st.integers(1, 4)))]
    file = program.file(with_header=where == "eh_frame")
    if where == "debug_frame":
        file.frames, file.debug = [], file.frames
    unwinder, finder = unwinder_of(open_elf(file.bytes()), arch)
    result = unwinder.unwind(stacks_of([machine for machine, _ in runs], 1 << 16), finder)
    assert [row.tolist() for row in result.chain.rows()] == [chain for _, chain in runs]
    assert result.end.tolist() == [End.COMPLETE] * len(runs)
    assert result.guessed.tolist() == [0] * len(runs)
    first = np.zeros(len(result.is_exact), np.bool_)
    first[result.chain.offsets[:-1]] = True
    assert result.is_exact.tolist() == first.tolist()
    assert unwinder.problems() == []


def test_functions_without_an_entry_are_left_by_frame_pointer() -> None:
    program = Program("x86_64", [Function(True, [3], 5, has_entry=False), Function(True, [12], 2)])
    machine, chain = program.run([1, 0, 1, 0], Random(1))
    result = unwound(program, [machine])
    assert result.chain.row(0).tolist() == chain
    assert result.guessed.tolist() == [2]


def test_the_frame_pointer_is_restored_even_if_no_rule_needs_it() -> None:
    """The innermost function has saved it for its caller, which has no entry and is crossed by it."""
    program = Program("x86_64", [Function(True, [], 5, has_entry=False), Function(False, [6], 2)])
    machine, chain = program.run([0, 1], Random(1))
    result = unwound(program, [machine])
    assert result.chain.row(0).tolist() == chain
    assert result.guessed.tolist() == [1]


def test_a_frame_pointer_that_points_nowhere_ends_the_chain() -> None:
    program = Program("x86_64", [Function(False, [], 5, has_entry=False), Function(False, [6], 2)])
    machine, chain = program.run([1, 0], Random(1))
    machine.registers[6] = STACK_TOP - 32  # within the copy, but no return address lies there
    result = unwound(program, [machine])
    assert result.chain.row(0).tolist() == chain[:1]
    assert result.end.tolist() == [End.NO_UNWIND_INFO]


@pytest.mark.parametrize(("inner", "end"), [(1, End.COMPLETE), (0, End.NO_UNWIND_INFO)])
def test_a_return_address_of_0_ends_a_chain_of_frame_pointers_behind_a_call(inner, end) -> None:
    """In the sampled function it is no thread's start: x264's assembly points anywhere with that register."""
    program = Program("aarch64", [Function(True, [], 1, has_entry=False)])
    machine, chain = program.run([0] * (1 + inner), Random(1))
    machine.memory[STACK_TOP - 8] = 0
    result = unwound(program, [machine])
    assert result.chain.row(0).tolist() == chain[: 1 + inner]
    assert result.end.tolist() == [end]


@pytest.mark.parametrize(("is_called", "end"), [(False, End.COMPLETE), (True, End.BROKEN)])
def test_a_register_whose_place_lies_below_the_stack_was_taken_back(is_called, end) -> None:
    """At the RET of a function of LLVM, whose caller needs the frame pointer, but not behind a call."""
    middle, outermost = (LOAD_BIAS + TEXT + SIZE * place + SITE for place in (1, 2))
    frames = [
        Frame(TEXT, SIZE, def_cfa(7, 8) + offset(16, -8)),
        Frame(TEXT + SIZE, SIZE, def_cfa(7, 8) + offset(16, -8) + offset(6, -0x800)),
        Frame(TEXT + 2 * SIZE, SIZE, def_cfa(6, 16) + offset(16, -8)),
    ]
    words = [*([middle] if is_called else []), outermost, 7, 7, 0]
    result = by_hand(frames, words, place=0 if is_called else 1, frame_pointer=len(words) - 2)
    assert result.end.tolist() == [end]
    assert result.chain.row(0).tolist()[-1] == outermost


@pytest.mark.parametrize("wrong", [0x1234, LOAD_BIAS + TEXT + 5, 0])
def test_code_that_leads_to_no_call_is_left_by_frame_pointer(wrong) -> None:
    """pop %rbx; ret, where the word below is no return address: V8's builtins move it, and keep frame pointers."""
    caller = LOAD_BIAS + TEXT + SIZE + SITE
    text = bytearray(CALLS * 0x400)
    text[SITE : SITE + 2] = bytes.fromhex("5bc3")
    frames = [Frame(TEXT + SIZE, SIZE, def_cfa(7, 8) + offset(16, -8))]
    result = by_hand(frames, [7, wrong, caller, 0, 0, 0], frame_pointer=1, text=bytes(text))
    assert result.chain.row(0).tolist()[1:] == [caller]
    assert result.guessed.tolist() == [1] and result.end.tolist() == [End.COMPLETE]
    right = by_hand(frames, [7, caller, caller - 16, 0, 0, 0], frame_pointer=1, text=bytes(text))
    assert right.chain.row(0).tolist()[1:2] == [caller]


@pytest.mark.parametrize("word", [2**64 - 1, 7, 0])
def test_a_word_between_the_frame_pointer_and_the_return_address(word) -> None:
    """OpenJDK's method_entry_barrier pushes a cookie, which is no address, before it saves the frame pointer."""
    caller = LOAD_BIAS + TEXT + SIZE + SITE
    frames = [Frame(TEXT + SIZE, SIZE, def_cfa(7, 8) + offset(16, -8))]
    result = by_hand(frames, [7, 0, word, caller, 0, 0, 0], frame_pointer=1)
    assert result.chain.row(0).tolist()[1:] == [caller]
    other = by_hand(frames, [7, 0, word, LOAD_BIAS + TEXT + 5, 0, 0, 0], frame_pointer=1)
    assert other.chain.lengths.tolist() == [1] and other.end.tolist() == [End.NO_UNWIND_INFO]


def test_an_address_of_the_function_itself_is_no_caller() -> None:
    """OCaml's caml_c_call has changed to the stack of C, below which its rule does not look."""
    frames = [Frame(TEXT, SIZE, def_cfa(6, 16) + offset(16, -0x800))]
    result = by_hand(frames, [7, 0, 7, 7], frame_pointer=0)
    assert result.chain.lengths.tolist() == [1] and result.end.tolist() != [End.COMPLETE]


@pytest.mark.parametrize(
    ("address", "end"),
    [
        (0, End.COMPLETE),
        (0x1234, End.NOT_MAPPED),
    ],
)
def test_a_return_address_outside_code_is_left_out(address, end) -> None:
    program = Program("x86_64", [Function(False, [], 1)])
    machine, chain = program.run([0, 0], Random(1))
    machine.memory[STACK_TOP - 8] = address
    result = unwound(program, [machine])
    assert result.chain.row(0).tolist() == chain[:2]
    assert result.end.tolist() == [end]


def test_a_stack_that_does_not_rise_is_broken() -> None:
    """A hostile entry whose CFA is rsp − 8 + 8: the same frame again and again."""
    file = FrameFile([Frame(TEXT, SIZE, def_cfa(7, 0) + offset(16, 0))])
    unwinder, finder = unwinder_of(open_elf(file.bytes()), "x86_64")
    machine = Machine("x86_64", Random(1))
    machine.push(LOAD_BIAS + TEXT + SITE)
    machine.registers[16] = LOAD_BIAS + TEXT + SITE
    result = unwinder.unwind(stacks_of([machine], 4096), finder)
    assert len(result.chain.row(0)) == 2
    assert result.end.tolist() == [End.BROKEN]


@pytest.mark.parametrize(("code", "operand"), [(b"\x14", b"\x02"), (b"\x15", b"\x02")])
def test_a_register_that_was_a_distance_from_the_frame(code, operand) -> None:
    """DW_CFA_val_offset: the caller's rbp is the CFA − 16 itself, nothing is loaded."""
    caller, outermost = (LOAD_BIAS + TEXT + SIZE * place + SITE for place in (1, 2))
    frames = [
        Frame(TEXT, SIZE, def_cfa(7, 8) + offset(16, -8) + code + b"\x06" + operand),
        Frame(TEXT + SIZE, SIZE, def_cfa(6, 40) + offset(16, -8)),
        Frame(TEXT + 2 * SIZE, SIZE, def_cfa(7, 8) + b"\x07\x10"),
    ]
    result = by_hand(frames, [caller, 1, 1, outermost, 1, 1, 1])
    assert result.chain.row(0).tolist() == [LOAD_BIAS + TEXT + SITE, caller, outermost]
    assert result.end.tolist() == [End.COMPLETE]


def test_samples_with_different_rules_take_a_step_together() -> None:
    """One CFA is a register and an offset, the others are expressions: rsp + 16 and rsp + 24."""
    outermost = LOAD_BIAS + TEXT + 3 * SIZE + SITE
    frames = [
        Frame(TEXT, SIZE, def_cfa(7, 8) + offset(16, -8)),
        Frame(TEXT + SIZE, SIZE, def_cfa_expression(b"\x77\x10") + offset(16, -8)),
        Frame(TEXT + 2 * SIZE, SIZE, def_cfa_expression(b"\x77\x18") + offset(16, -8)),
        Frame(TEXT + 3 * SIZE, SIZE, def_cfa(7, 8) + b"\x07\x10"),
    ]
    machines = []
    for place in range(3):
        machine = Machine("x86_64", Random(1))
        for word in reversed([*[1] * place, outermost, 1, 1, 1]):
            machine.push(word)
        machine.registers[16] = LOAD_BIAS + TEXT + SIZE * place + SITE
        machines.append(machine)
    unwinder, finder = unwinder_of(open_elf(FrameFile(frames).bytes()), "x86_64")
    result = unwinder.unwind(stacks_of(machines, 48), finder)
    assert [row.tolist() for row in result.chain.rows()] == [[m.registers[16], outermost] for m in machines]
    assert result.end.tolist() == [End.COMPLETE] * 3


def test_depth_is_limited() -> None:
    program = Program("x86_64", [Function(False, [], 0)])
    machine, chain = program.run([0] * 50, Random(1))
    result = unwound(program, [machine], max_depth=7)
    assert result.chain.row(0).tolist() == chain[:7]
    assert result.end.tolist() == [End.TOO_DEEP]


def test_a_register_that_was_not_recorded() -> None:
    program = Program("x86_64", [Function(True, [], 3)])
    machine, chain = program.run([0], Random(1))
    stacks = stacks_of([machine], 4096)
    without_rbp = [column for column in range(stacks.regs.shape[1]) if column != 6]
    stacks = replace(stacks, mask=stacks.mask & ~(1 << 6), regs=stacks.regs[:, without_rbp])
    unwinder, finder = unwinder_of(open_elf(program.file().bytes()), "x86_64")
    result = unwinder.unwind(stacks, finder)
    assert result.chain.row(0).tolist() == chain[:1]
    assert result.end.tolist() == [End.REGISTERS_MISSING]


def test_recorded_registers_without_a_stack_pointer_give_no_chain() -> None:
    """The flags alone, bit 9 of perf's registers of x86."""
    program = Program("x86_64", [Function(True, [], 3)])
    stacks = stacks_of([program.run([0], Random(1))[0]], 4096)
    unwinder, finder = unwinder_of(open_elf(program.file().bytes()), "x86_64")
    result = unwinder.unwind(replace(stacks, mask=1 << 9, regs=stacks.regs[:, :1]), finder)
    assert (result.chain.row(0).tolist(), result.end.tolist()) == ([], [End.NO_REGISTERS])


def test_a_return_address_that_is_kept_in_a_register_of_the_caller() -> None:
    """DW_CFA_register: r12 holds it, which the innermost function has saved; nobody else asks for r12."""
    middle, outermost = (LOAD_BIAS + TEXT + SIZE * place + SITE for place in (1, 2))
    frames = [
        Frame(TEXT, SIZE, def_cfa(7, 24) + offset(16, -8) + offset(12, -16)),
        Frame(TEXT + SIZE, SIZE, def_cfa(7, 8) + b"\x09\x10\x0c"),
        Frame(TEXT + 2 * SIZE, SIZE, def_cfa(7, 8) + b"\x07\x10"),
    ]
    result = by_hand(frames, [1, outermost, middle, 1, 1])
    assert result.chain.row(0).tolist() == [LOAD_BIAS + TEXT + SITE, middle, outermost]
    assert result.end.tolist() == [End.COMPLETE]


def test_samples_without_registers_have_no_chain() -> None:
    program = Program("x86_64", [Function(True, [], 3)])
    runs = [program.run([0], Random(seed)) for seed in range(3)]
    stacks = stacks_of([machine for machine, _ in runs], 4096)
    stacks = replace(stacks, abi=np.array([2, 0, 2], np.uint8))
    unwinder, finder = unwinder_of(open_elf(program.file().bytes()), "x86_64")
    result = unwinder.unwind(stacks, finder)
    assert [row.tolist() for row in result.chain.rows()] == [runs[0][1], [], runs[2][1]]
    assert result.end.tolist() == [End.COMPLETE, End.NO_REGISTERS, End.COMPLETE]


def test_without_objects_the_frame_pointer_is_followed() -> None:
    program = Program("x86_64", [Function(True, [3], 5)])
    machine, chain = program.run([0, 0, 0], Random(1))
    unwinder, finder = unwinder_of(open_elf(program.file().bytes()), "x86_64")
    unwinder.find_object = lambda name, build_id: (None, None)
    result = unwinder.unwind(stacks_of([machine], 4096), finder)
    assert result.chain.row(0).tolist() == chain
    assert result.guessed.tolist() == [3]


def test_an_unknown_processor_is_not_unwound() -> None:
    program = Program("x86_64", [Function(True, [3], 5)])
    machine, _ = program.run([0], Random(1))
    unwinder, finder = unwinder_of(open_elf(program.file().bytes()), "x86_64")
    unwinder.arch = "riscv64"
    assert unwinder.unwind(stacks_of([machine], 4096), finder).end.tolist() == [End.NO_REGISTERS]


def test_linkage_tables_without_an_entry() -> None:
    """lld describes no .plt: the return address is on top, or below what lazy binding has pushed."""
    program = Program("x86_64", [Function(True, [], 3)])
    for place, pushed in ((16, 0), (27, 1), (0, 1), (6, 2)):
        machine, chain = program.run([0], Random(1))
        machine.push(program.site(0))
        for _ in range(pushed):
            machine.push(7)
        address = LOAD_BIAS + 0x6000 + place
        machine.registers[16] = address
        table = TinySection(".plt", b"\xcc" * 64, 0x6000, flags=6)
        file = program.file(text=b"\x90" * 0x1000, more=[table])
        elf = open_elf(file.bytes())
        load = {segment.address: segment.offset for segment in elf.segments}
        mappings = UserMappings(
            np.array([LOAD_BIAS + TEXT, LOAD_BIAS + 0x6000], np.uint64),
            np.array([load[TEXT], load[0x6000]], np.uint64), ["/bin/program"] * 2, [b""] * 2,
            np.array([True, True]), np.array([False, False]),
        )  # fmt: skip
        unwinder = Unwinder(mappings, lambda name, build_id, elf=elf: (elf, None), "x86_64")
        result = unwinder.unwind(
            stacks_of([machine], 4096),
            finder_of(lambda rows, at: np.where(at >= np.uint64(LOAD_BIAS + 0x6000), np.int32(1), np.int32(0))),
        )
        assert result.chain.row(0).tolist() == [address, program.site(0), *chain[1:]]


def test_guesses_are_counted_once_when_a_rule_asks_for_a_further_register() -> None:
    """The caller's rule needs %rbx, which was not restored: the batch is unwound again."""
    machine = Machine("x86_64", Random(1))
    machine.push(LOAD_BIAS + TEXT + 3 * SITE)
    machine.push(1)
    machine.registers |= {6: machine.registers[7], 16: LOAD_BIAS + TEXT + SITE, 3: STACK_TOP - 16}
    elf = open_elf(FrameFile([Frame(TEXT + 2 * SITE, 64, def_cfa(3, 16))]).bytes())
    unwinder, finder = unwinder_of(elf, "x86_64", is_jit=True)
    result = unwinder.unwind(stacks_of([machine], 4096), finder)
    assert (result.guessed.tolist(), result.guessed_in_jit.tolist(), result.cut_in_jit.tolist()) == ([1], [1], [False])
    assert result.chain.row(0).tolist() == [LOAD_BIAS + TEXT + SITE, LOAD_BIAS + TEXT + 3 * SITE]


@settings(deadline=None)
@given(st.data())
def test_hostile_entries_neither_raise_nor_hang(data) -> None:
    program = Program("x86_64", [Function(True, [3], 2), Function(False, [12], 1)])
    machine, chain = program.run([0, 1] * 3, Random(1))
    image = bytearray(program.file(with_header=data.draw(st.booleans())).bytes())
    begin = image.index(b"zR\0") - 9
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(begin, min(len(image) - 1, begin + 160)))
        image[at] = data.draw(st.integers(0, 255))
    unwinder, finder = unwinder_of(open_elf(bytes(image)), "x86_64", max_depth=64)
    result = unwinder.unwind(stacks_of([machine], 4096), finder)
    assert 1 <= len(result.chain.row(0)) <= 64
    assert result.chain.row(0)[0] == chain[0]
