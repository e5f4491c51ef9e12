"""Copies that end inside a frame give the inner frames, and say that the stack goes on."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.stitcher.unwind.register_file import StackMemory
from perf2x.stitcher.unwind.unwound_chains import End
from tests.support.examples import examples
from tests.support.frame_writer import TEXT, Frame, FrameFile, def_cfa, offset
from tests.support.simulated_program import (
    LOAD_BIAS,
    SITE,
    SIZE,
    STACK_TOP,
    Function,
    Machine,
    Program,
    stacks_of,
)
from tests.support.unwound_program import by_hand, unwinder_of, unwound


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 60), st.integers(0, 99))
def test_a_short_copy_gives_the_inner_frames_and_is_marked(words, seed) -> None:
    program = Program("x86_64", [Function(False, [3], 5), Function(True, [12], 2)])
    machine, chain = program.run([0, 1] * 4, Random(seed))
    result = unwound(program, [machine], requested=8 * words)
    found = result.chain.row(0).tolist()
    assert found == chain[: len(found)]
    assert result.end.tolist() == [End.TRUNCATED] or found == chain


@pytest.mark.parametrize(
    ("copied", "depth", "end"), [(3, 1, End.TRUNCATED), (4, 2, End.TRUNCATED), (5, 2, End.COMPLETE)]
)
def test_a_copy_is_cut_short_by_the_first_word_that_is_missing(copied, depth, end) -> None:
    """Frames of four words and of one: a copy of three lacks the first return address, one of four the second."""
    middle, outermost = (LOAD_BIAS + TEXT + SIZE * place + SITE for place in (1, 2))
    frames = [
        Frame(TEXT, SIZE, def_cfa(7, 32) + offset(16, -8)),
        Frame(TEXT + SIZE, SIZE, def_cfa(7, 8) + offset(16, -8)),
        Frame(TEXT + 2 * SIZE, SIZE, def_cfa(7, 8) + b"\x07\x10"),
    ]
    result = by_hand(frames, [1, 1, 1, middle, outermost, 1, 1], requested=8 * copied)
    assert result.end.tolist() == [end]
    assert len(result.chain.row(0)) == depth + (end == End.COMPLETE)


def test_a_frame_that_does_not_rise_is_broken_even_at_the_end_of_the_copy() -> None:
    """All words of the frame were copied; none that is missing could mend it."""
    caller = LOAD_BIAS + TEXT + SIZE + SITE
    frames = [
        Frame(TEXT, SIZE, def_cfa(7, 8) + offset(16, -8)),
        Frame(TEXT + SIZE, SIZE, def_cfa(7, 0) + offset(16, -8)),
    ]
    result = by_hand(frames, [caller])
    assert result.end.tolist() == [End.BROKEN]


@pytest.mark.parametrize(
    ("copied", "frame", "end"),
    [
        (1, 600, End.OTHER_STACK),  # the copy ends at the page of 0x7FFF_F000, the frame in the next page
        (1, 512, End.OTHER_STACK),
        (2, 600, End.BROKEN),  # ends within a page: that is the end of all memory there
        (1, 1 << 24, End.BROKEN),  # no stack reaches so far
    ],
)
def test_a_copy_ends_at_a_page_that_is_not_in_memory(copied, frame, end) -> None:
    """A function with a large frame, pages of which nobody has touched yet; 1,024 bytes were requested for."""
    machine = Machine("x86_64", Random(1))
    machine.registers[7] = STACK_TOP - 0x1000 - 8 * copied + 8 * (copied - 1)
    machine.registers[16] = LOAD_BIAS + TEXT + SITE
    frames = [Frame(TEXT, SIZE, def_cfa(7, 8 * frame) + offset(16, -8))]
    unwinder, finder = unwinder_of(open_elf(FrameFile(frames).bytes()), "x86_64")
    stacks = stacks_of([machine], 1024)
    result = unwinder.unwind(replace(stacks, size=stacks.size * 0 + 8 * copied), finder)
    assert result.end.tolist() == [end]


def unread(base: int, count: int, full: bool, address: int) -> bool:
    end = base + 8 * count
    return not full and end % 4096 == 0 and end <= address < base + (1 << 26)


@given(
    st.integers(0, 1 << 20),
    st.sampled_from([0, 1, 511, 512, 600]),
    st.booleans(),
    st.integers(-2, 1 << 27),
)
def test_unread_addresses_are_told_one_by_one(base, count, full, above) -> None:
    base = 4096 * (base + 1) if above % 3 else 8 * (base + 1)
    memory = StackMemory(
        np.zeros(count, np.uint64), np.zeros(1, np.int64), np.array([base], np.uint64), np.array([count], np.uint64),
        np.array([full]),
    )  # fmt: skip
    address = base + 8 * count + above
    found = memory.is_unread(np.zeros(1, np.int64), np.array([address], np.uint64))
    assert found.tolist() == [unread(base, count, full, address)]


@pytest.mark.parametrize(("copied", "end"), [(2, End.TRUNCATED), (3, End.TRUNCATED), (4, End.NO_UNWIND_INFO)])
def test_a_copy_that_ends_between_frame_pointer_and_return_address(copied, end) -> None:
    """The saved frame pointer is the third word, the return address the fourth, which is none."""
    machine = Machine("x86_64", Random(1))
    for word in (0, 0, 7, 7):
        machine.push(word)
    machine.registers[6] = machine.registers[7] + 16
    machine.registers[16] = LOAD_BIAS + TEXT + SITE
    unwinder, finder = unwinder_of(open_elf(FrameFile([Frame(TEXT + SIZE, SIZE)]).bytes()), "x86_64")
    assert unwinder.unwind(stacks_of([machine], 8 * copied), finder).end.tolist() == [end]


@pytest.mark.parametrize("has_entry", [True, False])
def test_a_stack_of_which_nothing_was_copied(has_entry) -> None:
    """Inside execve the stack pointer is the old program's and the memory the new one's."""
    program = Program("x86_64", [Function(True, [3], 5, has_entry)])
    machine, chain = program.run([0], Random(1))
    stacks = stacks_of([machine], 4096)
    unwinder, finder = unwinder_of(open_elf(program.file().bytes()), "x86_64")
    result = unwinder.unwind(replace(stacks, size=stacks.size * 0), finder)
    assert result.chain.row(0).tolist() == chain[:1]
    assert result.end.tolist() == [End.OTHER_STACK]
