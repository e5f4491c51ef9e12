"""Coroutines end at the code that makecontext put above their functions, though nothing describes it."""

import struct
from random import Random

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.unwound_chains import End
from tests.support.frame_writer import TEXT
from tests.support.simulated_program import LOAD_BIAS, SITE, Function, Program, stacks_of
from tests.support.unwound_program import unwinder_of

GLIBC = "4889dc488b3c244885ff7408e80ff6feff4889c7e8a7ccfefff4"
GLIBC_BEFORE_2_30 = "4889dc5f4885ff740ae8000000004889c7eb05f4"
BOOST = "4831ffe849fefffff4"
GLIBC_ARM = "e00313aa40f0ffb5f0ffff17"
START = LOAD_BIAS + TEXT + 0x1000


def coroutine(arch: str, code: bytes) -> tuple[list[int], list[bool], End]:
    """A function that returns to ``code``, in front of which lies padding: chain, exact or not, end."""
    program = Program(arch, [Function(False, [], 3), Function(False, [], 2)])
    machine, chain = program.run([0], Random(1))
    # a frame pointer of 0 would end the chain, too
    machine.memory = {at: START if value == chain[1] else value or 0x1234 for at, value in machine.memory.items()}
    machine.registers[machine.frame] = 0x1234
    text = b"\x90" * 0x1000 + code + b"\x90" * 64
    unwinder, finder = unwinder_of(open_elf(program.file(text=text).bytes()), arch)
    result = unwinder.unwind(stacks_of([machine], 1 << 15), finder)
    return result.chain.row(0).tolist()[1:], result.is_exact.tolist()[1:], End(int(result.end[0]))


@pytest.mark.parametrize(
    ("arch", "code"),
    [("x86_64", GLIBC), ("x86_64", GLIBC_BEFORE_2_30), ("x86_64", BOOST), ("aarch64", GLIBC_ARM)],
)
def test_a_coroutine_is_complete_at_its_start(arch, code) -> None:
    assert coroutine(arch, bytes.fromhex(code)) == ([START], [True], End.COMPLETE)


@pytest.mark.parametrize(
    ("arch", "code"),
    [
        ("x86_64", GLIBC[:6] + "c3" + GLIBC[8:]),
        ("x86_64", "4831ffe849fefffff5"),
        ("aarch64", GLIBC_ARM[:8] + "1f2003d5"),
    ],
)
def test_code_that_only_looks_like_a_start_is_none(arch, code) -> None:
    chain, exact, end = coroutine(arch, bytes.fromhex(code))
    assert (chain, exact, end) == ([START], [False], End.NO_UNWIND_INFO)


@pytest.mark.parametrize(
    ("distance", "kind", "end"), [(0, 2, End.COMPLETE), (4, 2, End.NO_UNWIND_INFO), (0, 3, End.NO_UNWIND_INFO)]
)
def test_a_program_is_complete_at_its_entry_point(distance, kind, end) -> None:
    """The kernel starts a program, or ld.so, at an instruction that often nothing describes.

    What perf inject --jit writes is neither, and its entry point is its one function.
    """
    program = Program("x86_64", [Function(False, [], 3, has_entry=False)])
    machine, _ = program.run([0], Random(1))
    machine.registers[machine.frame] = 0x1234
    data = bytearray(program.file().bytes())
    struct.pack_into("<H", data, 16, kind)  # ET_EXEC or ET_DYN, without PT_DYNAMIC
    struct.pack_into("<Q", data, 24, TEXT + SITE + 4 - distance)  # e_entry
    unwinder, finder = unwinder_of(open_elf(bytes(data)), "x86_64")
    result = unwinder.unwind(stacks_of([machine], 1 << 15), finder)
    assert (result.chain.lengths.tolist(), result.end.tolist()) == ([1], [end])
