"""Chains of Go programs end where threads and goroutines start, or where the runtime changed stacks."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.go.pclntab import GoFunctions
from perf2x.stitcher.unwind.go_ends import go_ends, may_be_corrected
from perf2x.stitcher.unwind.unwinder import Unwinder
from perf2x.stitcher.unwind.unwound_chains import End
from tests.support.frame_writer import TEXT, Frame, FrameFile, def_cfa, offset
from tests.support.simulated_program import LOAD_BIAS, SITE, SIZE, Machine, stacks_of
from tests.support.tiny_elf import TinySection
from tests.support.tiny_go import TinyFunction, tiny_go_table
from tests.support.unwound_program import unwinder_of

NAMES = ["main.main", "runtime.goexit", "runtime.systemstack", "runtime.mcall.abi0", "runtime.mallocgc"]
TOLD = {
    "runtime.goexit": End.COMPLETE,
    "runtime.systemstack": End.OTHER_STACK,
    "runtime.mcall.abi0": End.OTHER_STACK,
}


def table_of(names: list[str]) -> bytes:
    """Functions of SIZE bytes, one behind the other from TEXT on."""
    functions = [TinyFunction(name, TEXT + SIZE * at, ((1, SIZE),), ((0, SIZE),)) for at, name in enumerate(names)]
    return tiny_go_table(functions, TEXT + SIZE * len(names), ["main.go"], text=TEXT)


@given(st.lists(st.tuples(st.integers(-1, len(NAMES)), st.sampled_from(list(End))), max_size=12))
def test_ends_are_told_one_by_one(frames) -> None:
    svma = np.array([TEXT + SIZE * place + SITE for place, _ in frames], np.uint64)
    end = np.array([end for _, end in frames], np.uint8)
    expected = [TOLD.get(NAMES[place], one) if 0 <= place < len(NAMES) else one for place, one in frames]
    assert go_ends(GoFunctions(table_of(NAMES), TEXT, "x"), svma, end).tolist() == expected
    settled = (End.COMPLETE, End.TRUNCATED, End.NO_UNWIND_INFO, End.BROKEN, End.NOT_MAPPED)
    assert may_be_corrected(end).tolist() == [one in settled for _, one in frames]


def unwound(outermost: str, word: int, table: bytes | None = None, site: int = SITE) -> tuple[End, int, Unwinder]:
    """main.main, called by ``outermost``, whose return address is ``word``: end and number of frames.

    ``site`` is the offset in ``outermost`` to which the call returns.
    """
    machine = Machine("x86_64", Random(1))
    for value in (7, word, LOAD_BIAS + TEXT + SIZE + site):
        machine.push(value)
    machine.registers[16] = LOAD_BIAS + TEXT + SITE
    frames = [Frame(TEXT + SIZE * at, SIZE, def_cfa(7, 8) + offset(16, -8)) for at in (0, 1)]
    names = table_of(["main.main", outermost, "main.next"]) if table is None else table
    calls = (bytes(14) + b"\xff\xd7") * 0x400  # call *%rdi
    file = FrameFile(frames, text=calls, more=[TinySection(".gopclntab", names, 0x9000, flags=2)])
    unwinder, finder = unwinder_of(open_elf(file.bytes()), "x86_64")
    unwinder.unwind(stacks_of([machine], 16), finder)
    result = unwinder.unwind(stacks_of([machine], 16), finder)  # a second batch
    return End(int(result.end[0])), int(result.chain.lengths[0]), unwinder


@pytest.mark.parametrize("word", [0, 5], ids=["nothing above", "no code above"])
@pytest.mark.parametrize(
    ("outermost", "end"),
    [
        ("runtime.goexit", End.COMPLETE),
        ("runtime.mstart", End.COMPLETE),
        ("runtime.clone", End.COMPLETE),
        ("runtime.systemstack", End.OTHER_STACK),
        ("runtime.asmcgocall", End.OTHER_STACK),
    ],
)
def test_what_lies_above_a_start_or_a_change_of_stacks_is_no_caller(outermost, end, word) -> None:
    assert unwound(outermost, word)[:2] == (end, 2)


@pytest.mark.parametrize(
    ("caller", "frames"), [("runtime.systemstack", 2), ("runtime.mcall.abi0", 2), ("main.init", 3)]
)
def test_an_earlier_calls_address_above_a_change_of_stacks_is_no_caller(caller, frames) -> None:
    """The word is an address behind a call in main.next, which nothing describes."""
    end, length, _ = unwound(caller, LOAD_BIAS + TEXT + 2 * SIZE + SITE)
    assert length == frames and (end is End.OTHER_STACK) is (frames == 2)


@pytest.mark.parametrize("place", [0x10, 0x20, 0x38], ids=["changed", "called", "came back"])
@pytest.mark.parametrize("is_own", [True, False], ids=["on the thread's stack", "on a goroutine's"])
def test_functions_that_run_on_any_stack_are_left_by_frame_pointer(place, is_own) -> None:
    """nanotime1 changes stacks, unless it is on the thread's own, and aligns its pointer: no distance leads on."""
    text = bytearray((bytes(14) + b"\xff\xd7") * 0x400)
    text[8:11], text[0x30:0x33] = bytes.fromhex("4989e4"), bytes.fromhex("4c89e4")
    caller, came_back = LOAD_BIAS + TEXT + SIZE + SITE, place > 0x30
    frames = [Frame(TEXT + SIZE * at, SIZE, def_cfa(7, size) + offset(16, -8)) for at, size in ((0, 24), (1, 8))]
    table = table_of(["runtime.nanotime1.abi0", "runtime.findRunnable"])
    file = FrameFile(frames, text=bytes(text), more=[TinySection(".gopclntab", table, 0x9000, flags=2)])
    machine = Machine("x86_64", Random(1))
    for value in (0, caller, 7, 1, 1, 1):
        machine.push(value)
    machine.registers[6] = machine.registers[7] + 24 if is_own else 0xC000123400
    machine.registers[7] += 16 if came_back else 0
    machine.registers[16] = LOAD_BIAS + TEXT + place
    unwinder, finder = unwinder_of(open_elf(file.bytes()), "x86_64")
    result = unwinder.unwind(stacks_of([machine], 64), finder)
    assert result.chain.row(0).tolist()[1:] == ([caller] if is_own or came_back else [])
    assert result.end.tolist() == [End.COMPLETE if is_own or came_back else End.OTHER_STACK]


def test_a_call_at_the_end_of_a_function_belongs_to_it() -> None:
    assert unwound("runtime.clone", 5, site=SIZE)[:2] == (End.COMPLETE, 2)


def test_other_functions_tell_nothing() -> None:
    assert unwound("main.init", 5)[0] is End.NOT_MAPPED
    assert unwound("main.init", 0)[0] is End.COMPLETE


def test_a_damaged_table_tells_nothing_and_is_reported() -> None:
    end, _, unwinder = unwound("", 5, table_of(["main.main", "runtime.clone"])[:40])
    assert end is End.NOT_MAPPED
    assert len(unwinder.problems()) == 1 and ".gopclntab" in unwinder.problems()[0]
